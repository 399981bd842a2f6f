"""Patterns and modules that are loaded when they are first used."""

import re

import pytest

from codecompass import lazy


def test_a_pattern_is_compiled_when_it_is_first_used():
    wrong = lazy.pattern("(")

    with pytest.raises(re.error):
        wrong.search("")


@pytest.mark.parametrize("text", ["", "ab", "-abAB-", "a\nb"])
def test_a_pattern_finds_what_the_compiled_one_finds(text: str):
    made, compiled = lazy.pattern("(?P<first>a)(b)?", re.IGNORECASE), re.compile("(?P<first>a)(b)?", re.IGNORECASE)

    assert made.findall(text) == compiled.findall(text)
    assert made.sub("x", text) == compiled.sub("x", text)
    assert made.split(text) == compiled.split(text)
    assert [each.span() for each in made.finditer(text)] == [each.span() for each in compiled.finditer(text)]
    assert (made.pattern, made.flags, made.groups) == (compiled.pattern, compiled.flags, compiled.groups)
    assert dict(made.groupindex) == dict(compiled.groupindex)


def test_a_package_has_what_it_exports_and_nothing_else():
    get = lazy.exports("codecompass.languages.imports", {"paths": ("path_tails",)})

    assert callable(get("path_tails"))
    with pytest.raises(AttributeError, match="has no attribute 'path_heads'"):
        get("path_heads")
