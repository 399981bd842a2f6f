"""Prepares source for parsing: masks literals, blanks what a grammar cannot parse, and resolves `#if` groups of C, C++, C# and
Swift that split a construct or disable code.

The grammars accept `#if` only between whole declarations, statements, fields or enumerators. Where a branch opens a brace that
it does not close, or is inside an expression, the tree is broken up to the end of the file. Of such a group only the first
branch is kept, and the directive lines are blanked. All offsets stay the same: each byte is replaced by a blank.
"""

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from codecompass import lazy

C_LITERALS: Final = lazy.pattern(
    # Each branch begins with a plain character, so that the search can skip to the next of them.
    rb"""//(?:[^\n\\]++|\\\r\n|\\.)*+ | /\*.*?(?:\*/|\Z)
    | R(?:(?<!\wR)|(?<=\b[uUL]R)|(?<=\bu8R))"(?P<tag>[^()\\\s"]{0,16})\(.*?(?:\)(?P=tag)"|\Z)
    | "(?:[^"\\\n]++|\\\r\n|\\.)*+" | '(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)

_BLANKS: Final = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_QUOTES: Final = bytes(byte if byte in b"\r\n" else 0x22 for byte in range(256))


def masked(source: bytes, literals: re.Pattern[bytes] = C_LITERALS) -> bytearray:
    """Returns `source` with each byte of comments as a blank and of other `literals` (strings, characters) as `"`."""
    return bytearray(literals.sub(_mask, source))


def _mask(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] != b"/":
        return text.translate(_QUOTES)
    blanks = text.translate(_BLANKS)
    # In a macro the line continues after the comment.
    for continuation in (b"\\\n", b"\\\r\n"):
        if continuation in text:
            blanks = continuation.join(part.translate(_BLANKS) for part in text.split(continuation))
    return blanks


def blank(text: bytearray, start: int, end: int) -> None:
    """Overwrites `text[start:end]` with blanks, except for line breaks."""
    text[start:end] = text[start:end].translate(_BLANKS)


def blank_matches(text: bytearray, code: bytes, patterns: Iterable[tuple[bytes, re.Pattern[bytes]]]) -> None:
    """Blanks in `text` the first group of each match in `code`. A pattern is tried only if its marker is in the code."""
    for marker, pattern in patterns:
        if marker in code:
            for match in pattern.finditer(code):
                blank(text, match.start(1), match.end(1))


DIRECTIVE: Final = lazy.pattern(rb"^(?:\xef\xbb\xbf)?[ \t]*#[ \t]*(\w*)(?:[^\n\\]++|\\\r\n|\\.)*+", re.MULTILINE | re.DOTALL)
_DISABLED: Final = lazy.pattern(rb"(?:\xef\xbb\xbf)?[ \t]*#[ \t]*(?:el)?if[ \t]+0[ \t\r]*$")
_CONTROL: Final = lazy.pattern(rb"\b(?:if|while|for|switch|else)\b[^;{}]*$")
_ELSE: Final = lazy.pattern(rb"\s*else\b")
_KEPT: Final = frozenset((b"include", b"include_next", b"import"))
_OPENING: Final = frozenset((b"if", b"ifdef", b"ifndef"))
_CONTINUING: Final = frozenset((b"else", b"elif", b"elifdef", b"elifndef", b"elseif"))
_FRAGMENT_STARTS: Final = frozenset((b"&", b"|", b",", b"?", b"+", b"=", b")", b".", b"{", b";"))
_LOOK_BACK: Final = 400
"""Bytes read before a group to find out what it is in; the beginning of a statement is rarely longer."""


class _Branch(Struct):
    directive_start: int
    start: int
    end: int
    is_disabled: bool


def resolve_conditionals(
    text: bytearray, code: bytearray, directives: re.Pattern[bytes] = DIRECTIVE, *, ends_with_line: bool = False
) -> None:
    """Blanks in `text` all directives except `#define` and `#include`, and the branches that would break the tree.

    Does the same to `code` (`text` masked), in which it blanks all directives. Group 1 of `directives` is the name of the
    directive. `ends_with_line`: a line break ends a statement, as in Swift.
    """
    open_groups: list[list[_Branch]] = []
    for match in directives.finditer(bytes(code)):
        word, start, end = match[1], match.start(), match.end()
        # Directives must not count as code when braces and neighbours are examined.
        blank(code, start, end)
        if word == b"define":
            comment = text.find(b"/*", start, end)
            if comment >= 0 and match[0][comment - start :].strip():
                # For the grammars a comment ends a macro; a comment at its end is left alone.
                comment_end = _end_of_comment(text, start, end)
                text[start:end] = match[0]
                blank(text, end, comment_end)
            elif comment < 0:
                _end_empty_macro(text, start, end)
            if _is_in_expression(code, start):
                blank(text, start, end)
            continue
        if word in _KEPT:
            continue
        blank(text, start, _end_of_comment(text, start, end))
        if word in _OPENING:
            open_groups.append([_Branch(start, end, end, _DISABLED.match(match[0]) is not None)])
        elif not open_groups:
            continue
        elif word in _CONTINUING:
            open_groups[-1][-1].end = start
            open_groups[-1].append(_Branch(start, end, end, _DISABLED.match(match[0]) is not None))
        elif word == b"endif":
            branches = open_groups.pop()
            branches[-1].end = start
            on = [branch for branch in branches if not branch.is_disabled]
            if ends_with_line:
                keep = on[:1] if any(_is_fragment(code, branch) for branch in on) else on
            else:
                keep = _branches_to_keep(code, on, branches[0].directive_start, end)
            for branch in branches:
                if branch not in keep:
                    blank(text, branch.start, branch.end)
                    blank(code, branch.start, branch.end)


_EMPTY_MACRO: Final = lazy.pattern(rb"[ \t]*#[ \t]*define[ \t]+\w+([ \t]+\r?)$")


def _end_empty_macro(text: bytearray, start: int, end: int) -> None:
    """Replaces blanks after the name of an empty macro, with which the grammar would take the next line as its value."""
    match = _EMPTY_MACRO.match(text, start, end)
    if match is not None:
        # The grammar needs either a line break right after the name, or a value.
        blanks = match.end(1) - match.start(1)
        text[match.start(1) : match.end(1)] = b"\r" if blanks == 1 else b" 0".ljust(blanks)


def _is_in_expression(code: bytearray, start: int) -> bool:
    """Whether `start` is inside a list of values, where no grammar accepts a directive."""
    before = bytes(code[max(0, start - _LOOK_BACK) : start]).rstrip()
    last = before[-1:]
    return bool(last) and (last in b",(=" or (last == b"{" and before[:-1].rstrip().endswith((b"=", b"]"))))


def _end_of_comment(text: bytearray, start: int, end: int) -> int:
    """Returns where a directive ends, including a comment that begins on its line."""
    if text.rfind(b"/*", start, end) <= text.rfind(b"*/", start, end):
        return end
    close = text.find(b"*/", end)
    return end if close < 0 else close + 2


def _branches_to_keep(code: bytearray, branches: list[_Branch], start: int, end: int) -> list[_Branch]:
    """Returns all branches, or only the first one if they are variants of a part of one construct."""
    first = branches[:1]
    if not any(bytes(code[branch.start : branch.end]).strip() for branch in branches):
        return branches
    if len(branches) < 2 or any(_is_fragment(code, branch) for branch in branches):
        return first
    before = bytes(code[max(0, start - _LOOK_BACK) : start]).rstrip()
    last = before[-1:]
    if last in b",(" and before:
        return branches
    if last not in b";{}" and (last not in b"):>" or (last == b")" and _CONTROL.search(before))):
        return first
    after = bytes(code[end : end + _LOOK_BACK]).lstrip()[:1]
    for branch in branches:
        tail = bytes(code[max(branch.start, branch.end - _LOOK_BACK) : branch.end]).rstrip()
        if tail and tail[-1:] not in b";{}:,)" and (not tail[-1:].isalnum() or after == b"{" or tail.endswith(b"else")):
            return first
        if tail.endswith(b")") and (after == b"{" or _CONTROL.search(tail)):
            return first
    return branches


def _is_fragment(code: bytearray, branch: _Branch) -> bool:
    """Whether a branch can only be a part of the code around it."""
    if _is_unbalanced(code, branch) or _ELSE.match(code, branch.start, branch.end):
        return True
    return bytes(code[branch.start : branch.end]).lstrip()[:1] in _FRAGMENT_STARTS


def _is_unbalanced(code: bytearray, branch: _Branch) -> bool:
    start, end = branch.start, branch.end
    braces = code.count(b"{", start, end) - code.count(b"}", start, end)
    return braces != 0 or code.count(b"(", start, end) != code.count(b")", start, end)
