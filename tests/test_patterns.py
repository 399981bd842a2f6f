"""Every regular expression of the program means the same to every interpreter that it supports."""

import re
from functools import cache
from random import Random
from typing import Any

import pytest

from codecompass.scan.wildmatch import translate
from tests.support.patterns import patterns, possessive_texts
from tests.support.plain_patterns import group_name, without_possessives, words
from tests.support.possessive import misread_groups

N_WORDS = 60
GLOBS = (b"a/**/b*c*d", b"**/x?[a-c]*/**/*.py", b"*a*b*c")
"""Patterns of .gitignore files whose translations have every construct that a translation may have."""


@cache
def collected() -> dict[str, re.Pattern[Any]]:
    translated = {f"translation of {glob!r}": re.compile(translate(glob) or b"", re.DOTALL) for glob in GLOBS}
    return patterns() | translated


def test_every_possessive_or_atomic_group_that_is_written_belongs_to_a_pattern_that_is_tested():
    sources = [each.pattern for each in collected().values()]
    texts = [source.decode("latin-1") if isinstance(source, bytes) else source for source in sources]

    assert [(place, text) for place, text in possessive_texts() if not any(text in each for each in texts)] == []


@pytest.mark.invariant("Regular expressions mean the same on every supported interpreter")
def test_no_pattern_has_a_possessive_group_that_old_interpreters_misread():
    misread = {place: problems for place, pattern in collected().items() if (problems := misread_groups(pattern))}

    assert misread == {}


def test_possessive_groups_match_what_an_equal_pattern_without_them_matches():
    random = Random(20261125)
    different = {(pattern.pattern, pattern.flags): (place, pattern) for place, pattern in collected().items()}
    for place, pattern in different.values():
        plain = without_possessives(pattern)
        for word in words(pattern, random, N_WORDS):
            found, expected = pattern.search(word), plain.search(word)
            assert spans(found) == spans(expected, named=True, n_groups=pattern.groups), (place, word)


def spans(found: re.Match[Any] | None, *, named: bool = False, n_groups: int = 0) -> list[tuple[int, int]] | None:
    if found is None:
        return None
    if not named:
        return [found.span(number) for number in range(found.re.groups + 1)]
    return [found.span(), *(found.span(group_name(number)) for number in range(1, n_groups + 1))]


@pytest.mark.parametrize(
    "source",
    [
        r"(?:(?:out|val)\s++)*+(\w++)",
        r"(?:ab\s++)*+(\w++)",
        r"(?:\w+?b)*+(\w+)",
        r"(?:[^<]++|<(?!x))*+(.*)",
        r"(?:,\s*+\w++)*+(.*)",
        r"(?:x(?:\w++,)*+;)?+(.*)",
        r"(?:a(?=b)c)*+(\w+)",
        r"(?:.(?!D))++",
        r"(?:ab?c)++",
        r"(?:(?<!a)b)*+",
        r"(?:(a)|b)*+",
        r"(?:(?>ab)c)*+",
    ],
)
def test_a_group_that_old_interpreters_misread_is_recognised(source: str):
    assert misread_groups(re.compile(source))


@pytest.mark.parametrize(
    "source",
    [r'"(?:[^"\\]++|\\.)*+"', r"(?:\*++[^*/][^*]*+)*+", r"(?>(?:ab\s++)*)", r"(?:(?:out|val)\s\s*+)*+", r"(?:[ab])++", r"\w++"],
)
def test_a_group_that_every_interpreter_reads_alike_is_left_alone(source: str):
    assert misread_groups(re.compile(source)) == []
