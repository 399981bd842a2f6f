"""Finds where types name their supertypes: `class A(B)`, `class A extends B`, `impl B for A`, embedded fields, `include B`."""

import re
from collections.abc import Sequence
from functools import cache
from itertools import islice
from typing import Final

from codecompass.languages.records import CLASS_LIKE, Symbol
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.words import word_set

MAX_HEAD: Final = 2_000
"""Characters of the head of a type."""

MAX_HEAD_NAMES: Final = 100
"""Names and brackets that are read in the head of a type."""

MAX_HEAD_TOKENS: Final = 600

# The heads of thousands of types may overlap, so a pattern may have only one long alternative at each position that it tries.
_ARGUMENTS: Final = r"<(?>(?:[^<>=]++|=>?|<(?>(?:[^<>=]++|=>?|<[^<>]*+>)*)>)*)>"
_EXTENDS: Final = re.compile(
    rf"[\w$]++(?>\s*+{_ARGUMENTS}\s*+|\s++|\s*+<.*?\s)(?:extends|implements|with)\b(?P<bases>[^{{;]*+)", re.DOTALL
)
_AFTER_COLON: Final = re.compile(
    r"\w++(?:\s*+<[^{;()]*?>)?(?:\s++final)?(?:\s*+\([^{;]*?\))?\s*+:(?!:)"
    r"(?P<bases>[^{;\n]*+(?>(?:(?:(?:(?<=[,:])|(?<=[,:][ \t\r]))\n|\n[ \t]*+,)[^{;\n]*+)*))"
)
_BASES: Final = {
    "c": _AFTER_COLON,
    "csharp": _AFTER_COLON,
    "ecmascript": _EXTENDS,
    "php": re.compile(r"[\w$]++\s*+(?::\s*+\w++\s++)?(?:extends|implements)\b(?P<bases>[^{;]*+)"),
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
    "elixir": re.compile(r"^[ \t]*+(?:@behaviour|use)\b[ \t(]*+(?P<bases>[\w.]++)", re.MULTILINE),
    "php": re.compile(r"(?:^[ \t]++|\{[ \t]*+)use\b(?P<bases>[^;{}()]*+)[;{]", re.MULTILINE),
    "ruby": re.compile(r"^[ \t]*+(?:include|extend|prepend)\b[ \t(]*+(?P<bases>[^\n;#)]*+)", re.MULTILINE),
    "rust": re.compile(r"^[ \t]*+#\[derive\((?P<bases>[^()\[\]]*+)\)", re.MULTILINE),
}
"""Match statements in the body of a type, or above it, that name its supertypes, by family."""

_EMBEDDED: Final = re.compile(r"(?<=[\n{;])[ \t]*+(?P<bases>[^\W\d][\w.]*+)(?:\[[^]\n]*+\])?[ \t]*+(?=[;}\n])")
"""Matches an interface that another interface of Go embeds."""

_JVM_TOKEN: Final = re.compile(r"<:|>:|=>|->|[\w$]+|[^\s\w$]|\n")
_INTRODUCES: Final = word_set("extends implements with derives :")
_CONTINUES_HEAD: Final = word_set("extends implements with derives : , ( [ { @ constructor private protected internal public")
_ENDS_HEAD: Final = word_set("where permits { ; = } ) ]")


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
        if rules.family == "jvm" and symbol.kind in CLASS_LIKE:
            begin = starts[min(symbol.line_start, len(starts)) - 1]
            at = text.find(symbol.name, begin, begin + MAX_HEAD)
            if at >= 0 and (at, is_impl) not in heads:
                heads.add((at, is_impl))
                found.update(_jvm_bases(text, at + len(symbol.name), begin + MAX_HEAD))
            continue
        if rules.family == "go" and symbol.kind == "interface":
            begin, end = (starts[min(line, len(starts)) - 1] for line in (symbol.line_start, symbol.line_end + 1))
            for match in _EMBEDDED.finditer(text, text.find("{", begin, end) + 1 or end, end):
                found.add(match.start("bases") + match["bases"].rfind(".") + 1)
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
            written = symbol.signature.partition("`")[0].strip(" *").partition("[")[0]
            if written.rpartition(".")[2] == symbol.name:
                begin = starts[min(symbol.line_start, len(starts)) - 1] + len(written) - len(symbol.name)
                found.add(text.find(symbol.name, begin, begin + MAX_HEAD))
    return frozenset(found)


def _jvm_bases(text: str, at: int, limit: int) -> list[int]:
    """Returns the indexes at which the supertypes begin in the head of a type of Java, Kotlin or Scala. Begins after its name."""
    found: list[int] = []
    depth, is_after_intro, is_expected, is_skipped = 0, False, False, False
    previous = ""
    for match in islice(_JVM_TOKEN.finditer(text, at, limit), MAX_HEAD_TOKENS):
        token = match[0]
        if token in "([<":
            depth += 1
        elif token in ")]>" and depth:
            depth -= 1
        elif depth:
            continue
        elif token == "\n":
            following = _JVM_TOKEN.search(text, _after_blanks(text, match.end(), limit), limit)
            ends = following is None or following[0] not in _CONTINUES_HEAD
            if ends and previous not in _INTRODUCES and previous != "," and previous != "constructor":
                break
            continue
        elif token in _ENDS_HEAD:
            break
        elif token in _INTRODUCES or token == ",":
            is_after_intro = is_after_intro or token != ","
            is_expected, is_skipped = is_after_intro, False
        elif token == "by":
            is_skipped = True
        elif is_expected and not is_skipped and _is_base(token, previous) and text[match.end()] != ".":
            found.append(match.start())
            is_expected = False
        previous = token
    return found


def _is_base(token: str, previous: str) -> bool:
    return (token[0].isalpha() or token[0] in "_$") and previous != "@"


def _after_blanks(text: str, at: int, limit: int) -> int:
    while at < limit and text[at : at + 1] in (" ", "\t", "\n", "\r"):
        at += 1
    return at


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
