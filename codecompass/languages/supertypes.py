"""Finds where types name their supertypes: `class A(B)`, `class A extends B`, `impl B for A`, embedded fields, `include B`."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Final

from codecompass.languages.lexical_rules import LexicalRules
from codecompass.languages.records import CLASS_LIKE, Symbol

MAX_HEAD: Final = 2_000
"""Characters of the head of a type."""

MAX_HEAD_NAMES: Final = 100
"""Names and brackets that are read in the head of a type."""

# The heads of thousands of types may overlap, so a pattern may have only one long alternative at each position that it tries.
_EXTENDS: Final = re.compile(r"[\w$]++(?:\s++|\s*+<.*?\s)(?:extends|implements|with)\b(?P<bases>[^{;]*+)", re.DOTALL)
_AFTER_COLON: Final = re.compile(
    r"\w++(?:\s*+<[^{;()]*?>)?(?:\s++final)?(?:\s*+\([^{;]*?\))?\s*+:(?!:)(?P<bases>[^{;\n]*(?:[,:]\s*\n[^{;\n]*)*)"
)
_BASES: Final = {
    "c": _AFTER_COLON,
    "csharp": _AFTER_COLON,
    "ecmascript": _EXTENDS,
    "jvm": re.compile(f"{_EXTENDS.pattern}|{_AFTER_COLON.pattern.replace('bases', 'more')}", re.DOTALL),
    "php": _EXTENDS,
    "python": re.compile(r"\w++(?:\[[^\]]*+\])?\s*+\((?P<bases>[^()]*+(?>(?:\([^()]*+\)[^()]*+)*))"),
    "ruby": re.compile(r"[\w:]++\s*+<(?!<)(?P<bases>[^\n;]*+)"),
    "rust": re.compile(r"\w++(?:\s*+<[^{;]*?>)?\s*+:(?!:)(?P<bases>[^{;]*?)(?=\bwhere\b|[{;])"),
    "swift": _AFTER_COLON,
}
"""Match from the name of a type to the supertypes in its head, by family."""

_FLAT_PARAMETERS: Final = r"<(?:[^<>{;=-]++|[-=]>?)*+>"
_NESTED_PARAMETERS: Final = rf"<(?>(?:[^<>{{;=-]++|[-=]>?|{_FLAT_PARAMETERS})*)>"
_IMPL: Final = re.compile(
    rf"[ \t]*+(?:unsafe\s++)?impl\b"
    rf"(?>(?:\s*+<(?>(?:[^<>{{;=-]++|[-=]>?|{_NESTED_PARAMETERS})*)>)?)\s++!?(?P<bases>[^{{;]*?)\sfor\s"
)

_IMPLS: Final = {
    "elixir": re.compile(r"[ \t]*+defimpl\b[ \t(]*+(?P<bases>[\w.]++)"),
    "haskell": re.compile(r"instance\b(?:[^\n=]*+=>)?\s*+(?P<bases>[\w.']++)"),
    "rust": _IMPL,
}
"""Match the head of an implementation of one type for another, by family."""

_MIXINS: Final = {
    "elixir": re.compile(r"^[ \t]*+@behaviour\b[ \t(]*+(?P<bases>[\w.]++)", re.MULTILINE),
    "php": re.compile(r"^[ \t]++use\b(?P<bases>[^;{}()]*+)[;{]", re.MULTILINE),
    "ruby": re.compile(r"^[ \t]*+(?:include|extend|prepend)\b[ \t(]*+(?P<bases>[^\n;#]*+)", re.MULTILINE),
}
"""Match statements in the body of a type that name its supertypes, by family."""


@cache
def _brackets_and_names(name: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(r"[<>\[\](){}]|" + name.pattern)


def supertype_names(rules: LexicalRules, text: str, starts: Sequence[int], symbols: Sequence[Symbol]) -> frozenset[int]:
    """Returns the indexes at which the names of supertypes begin in `text`, whose lines begin at `starts`."""
    clause, impl, mixin = _BASES.get(rules.family), _IMPLS.get(rules.family), _MIXINS.get(rules.family)
    found: set[int] = set()
    for match in mixin.finditer(text) if mixin is not None else ():
        found.update(_names_outside_brackets(rules, text, *match.span("bases")))
    heads: set[tuple[int, bool]] = set()
    for symbol in symbols:
        is_impl = symbol.kind == "impl"
        pattern = impl if is_impl else clause if symbol.kind in CLASS_LIKE else None
        if pattern is not None:
            begin = starts[min(symbol.line_start, len(starts)) - 1]
            limit = begin + MAX_HEAD
            at = begin if is_impl else text.find(symbol.name, begin, limit)
            if at < 0 or (at, is_impl) in heads:
                continue
            heads.add((at, is_impl))
            head = pattern.match(text, at, limit)
            if head is not None:
                for group in ("bases", "more"):
                    if group in head.re.groupindex and head[group] is not None:
                        found.update(_names_outside_brackets(rules, text, *head.span(group)))
        elif rules.family == "go" and symbol.kind == "field":
            written = symbol.signature.lstrip("*").partition("[")[0]
            if written.rpartition(".")[2] == symbol.name:
                begin = starts[min(symbol.line_start, len(starts)) - 1] + len(written) - len(symbol.name)
                found.add(text.find(symbol.name, begin, begin + MAX_HEAD))
    return frozenset(found)


def _names_outside_brackets(rules: LexicalRules, text: str, start: int, end: int) -> list[int]:
    """Returns the indexes at which names outside brackets begin between `start` and `end`; brackets may be unbalanced."""
    found: list[int] = []
    depth = 0
    for match in islice(_brackets_and_names(rules.name).finditer(text, start, end), MAX_HEAD_NAMES):
        character = match[0]
        if character in "<[({":
            depth += 1
        elif character in ">])}":
            depth -= character != ">" or text[match.start() - 1] not in "-="
            if depth < 0:  # `start` is inside the parameters of the type.
                depth, found = 0, []
        elif depth == 0 and character not in rules.keywords and text[match.end()] not in ".:\\=":
            found.append(match.start())
    return found
