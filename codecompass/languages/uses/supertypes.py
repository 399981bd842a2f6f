"""Finds where types name their supertypes: `class A(B)`, `class A extends B`, `impl B for A`, embedded fields, `include B`."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Final

from codecompass.languages.records import CLASS_LIKE, Symbol
from codecompass.languages.uses.lexical_rules import LexicalRules

MAX_HEAD: Final = 2_000
"""Characters of the head of a type."""

MAX_HEAD_NAMES: Final = 100
"""Names and brackets that are read in the head of a type."""


@cache
def _brackets_and_names(name: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(r"[<>\[\](){}]|" + name.pattern)


def supertype_names(rules: LexicalRules, text: str, starts: Sequence[int], symbols: Sequence[Symbol]) -> frozenset[int]:
    """Returns the indexes at which the names of supertypes begin in `text`, whose lines begin at `starts`."""
    forms = rules.supertypes
    in_head, embedded, has_embedded_fields = forms.in_head, forms.embedded, forms.has_embedded_fields
    found: set[int] = set()
    for match in forms.statement.finditer(text) if forms.statement is not None else ():
        found.update(_names_outside_brackets(rules, text, *match.span("bases")))
    heads: set[tuple[int, bool]] = set()
    for symbol in symbols:
        is_impl = symbol.kind == "impl"
        if in_head is not None and symbol.kind in CLASS_LIKE:
            begin = starts[min(symbol.line_start, len(starts)) - 1]
            at = text.find(symbol.name, begin, begin + MAX_HEAD)
            if at >= 0 and (at, is_impl) not in heads:
                heads.add((at, is_impl))
                found.update(in_head(text, at + len(symbol.name), begin + MAX_HEAD))
            continue
        if embedded is not None and symbol.kind == "interface":
            begin, end = (starts[min(line, len(starts)) - 1] for line in (symbol.line_start, symbol.line_end + 1))
            for match in embedded.finditer(text, text.find("{", begin, end) + 1 or end, end):
                found.add(match.start("bases") + match["bases"].rfind(".") + 1)
        pattern = forms.implementation if is_impl else forms.head if symbol.kind in CLASS_LIKE else None
        if pattern is not None:
            begin = starts[min(symbol.line_start, len(starts)) - 1]
            limit = begin + MAX_HEAD
            at = begin if is_impl else text.find(symbol.name, begin, limit)
            if at < 0 or (at, is_impl) in heads:
                continue
            heads.add((at, is_impl))
            head = pattern.match(text, at, limit)
            if head is not None:
                found.update(_names_outside_brackets(rules, text, *head.span("bases")))
        elif has_embedded_fields and symbol.kind == "field":
            written = symbol.signature.partition("`")[0].strip(" *").partition("[")[0]
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
        if character == "where" and depth == 0 and character in rules.keywords:
            break
        if character in "<[({":
            depth += 1
        elif character in ">])}":
            depth -= character != ">" or text[match.start() - 1] not in "-="
            if depth < 0:  # `start` is inside the parameters of the type.
                depth, found = 0, []
        elif depth == 0 and character not in rules.keywords and text[match.end()] not in ".:\\=":
            found.append(match.start())
    return found
