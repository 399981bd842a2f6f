"""Translates git's glob patterns to regular expressions over bytes.

Translates one pattern; `ignore.py` decides which pattern of which file applies. The semantics are those of git's `wildmatch.c`
with `WM_PATHNAME`, byte for byte: `*` and `?` stop at a slash, `**` between slashes crosses directories, `[...]` has ranges,
escapes and POSIX classes, and an unclosed bracket or a trailing backslash never matches. A general gitignore library was tried
first and differs from git in common patterns (`*` followed by `!foo/`, POSIX classes, a reversed range raises);
tests/scan/test_wildmatch.py compares this module with `git check-ignore`.

Invariant: for any pattern, matching takes time polynomial of low degree in the length of the path, because every wildcard but the
last of its kind is matched inside an atomic group (the earliest match leaves most to the rest).
"""

import re
import string
from typing import Final

_SPECIAL: Final = frozenset(b"*?[\\")
_SLASH: Final = ord("/")
_STAR: Final = ord("*")
_BACKSLASH: Final = ord("\\")

_ALL_BYTES: Final = frozenset(range(1, 256))

_SEGMENT_STAR: Final = b"[^/]*"
_DIRECTORIES: Final = b"(?:.*?/)??"
_DIRECTORIES_AT_LEAST_ONE: Final = b"(?:.*?/)"


def _ascii(characters: str) -> frozenset[int]:
    return frozenset(characters.encode("ascii"))


_CLASSES: Final = {
    b"alnum": _ascii(string.ascii_letters + string.digits),
    b"alpha": _ascii(string.ascii_letters),
    b"blank": _ascii(" \t"),
    b"cntrl": frozenset([*range(32), 127]),
    b"digit": _ascii(string.digits),
    b"graph": frozenset(range(33, 127)),
    b"lower": _ascii(string.ascii_lowercase),
    b"print": frozenset(range(32, 127)),
    b"punct": _ascii(string.punctuation),
    b"space": _ascii(string.whitespace),
    b"upper": _ascii(string.ascii_uppercase),
    b"xdigit": _ascii(string.hexdigits),
}


def literal_length(pattern: bytes) -> int:
    """Returns the length of the literal prefix of `pattern` in bytes."""
    return next((index for index, byte in enumerate(pattern) if byte in _SPECIAL), len(pattern))


def translate(pattern: bytes) -> bytes | None:
    """Returns the source of a bytes regular expression for `fullmatch` with `re.DOTALL`; None if `pattern` matches nothing.

    The expression has no capturing groups, so that several can be joined in one alternation.
    """
    # Git compares the literal prefix first and passes only the rest to its matcher, which therefore treats a `**` right after it
    # as the start of a path: `foo**/bar` matches `foobar`.
    start = literal_length(pattern)
    tokens = _tokens(pattern[start:])
    if tokens is None:
        return None
    return re.escape(pattern[:start]) + _join(tokens)


def _join(tokens: list[bytes]) -> bytes:
    runs: list[tuple[bytes, list[bytes]]] = [(b"", [])]
    for token in tokens:
        if token in (_DIRECTORIES, _DIRECTORIES_AT_LEAST_ONE):
            runs.append((token, []))
        else:
            runs[-1][1].append(token)

    parts = [b"(?>" + directories + _join_run(run) + b")" for directories, run in runs[:-1]]
    directories, run = runs[-1]
    parts.append(directories + _join_run(run))
    return b"".join(parts)


def _join_run(tokens: list[bytes]) -> bytes:
    pieces: list[list[bytes]] = [[]]
    for token in tokens:
        if token == _SEGMENT_STAR:
            pieces.append([])
        else:
            pieces[-1].append(token)

    joined = [b"".join(piece) for piece in pieces]
    if len(joined) == 1:
        return joined[0]
    between = [b"(?>[^/]*?" + piece + b")" for piece in joined[1:-1]]
    return joined[0] + b"".join(between) + _SEGMENT_STAR + joined[-1]


def _tokens(pattern: bytes) -> list[bytes] | None:
    tokens: list[bytes] = []
    at, end = 0, len(pattern)
    while at < end:
        byte = pattern[at]
        if byte == _STAR:
            token, at = _stars(pattern, at)
            # A repeated `**/` or `*` changes nothing.
            if token not in (_DIRECTORIES, _SEGMENT_STAR) or tokens[-1:] != [token]:
                tokens.append(token)
        elif byte == ord("?"):
            tokens.append(b"[^/]")
            at += 1
        elif byte == ord("["):
            bracket = _bracket(pattern, at + 1)
            if bracket is None:
                return None
            members, at = bracket
            tokens.append(_set(members))
        else:
            if byte == _BACKSLASH:
                at += 1
                if at == end:
                    return None
            tokens.append(re.escape(pattern[at : at + 1]))
            at += 1
    return tokens


def _stars(pattern: bytes, start: int) -> tuple[bytes, int]:
    at = start
    while pattern[at : at + 1] == b"*":
        at += 1
    is_double = at - start > 1 and (start == 0 or pattern[start - 1] == _SLASH)
    rest = pattern[at : at + 2]
    if not is_double:
        return _SEGMENT_STAR, at
    if not rest:
        return b".*", at
    if rest[:1] == b"/":
        return _DIRECTORIES, at + 1
    if rest == b"\\/":
        return _DIRECTORIES_AT_LEAST_ONE, at + 2
    return _SEGMENT_STAR, at


def _bracket(pattern: bytes, at: int) -> tuple[frozenset[int], int] | None:
    """Returns the bytes that a bracket expression matches and the offset after it; `at` is the offset after the opening bracket.

    None if it is never closed or names an unknown class."""
    end = len(pattern)
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    members: set[int] = set()
    previous = 0
    is_first = True
    while True:
        if at >= end:
            return None
        byte = pattern[at]
        if byte == ord("]") and not is_first:
            break
        is_first = False
        if byte == _BACKSLASH:
            at += 1
            if at >= end:
                return None
            byte = pattern[at]
            members.add(byte)
        elif byte == ord("-") and previous and at + 1 < end and pattern[at + 1] != ord("]"):
            at += 1
            if pattern[at] == _BACKSLASH:
                at += 1
                if at >= end:
                    return None
            members.update(range(previous, pattern[at] + 1))
            byte = 0
        elif pattern[at : at + 2] == b"[:":
            close = pattern.find(b"]", at + 2)
            if close < 0:
                return None
            if close > at + 2 and pattern[close - 1] == ord(":"):
                named = _CLASSES.get(pattern[at + 2 : close - 1])
                if named is None:
                    return None
                members |= named
                at = close
                byte = 0
            else:
                members.add(byte)
        else:
            members.add(byte)
        previous = byte
        at += 1
    matched = _ALL_BYTES - members if is_negated else members
    return frozenset(matched - {_SLASH}), at + 1


def _set(members: frozenset[int]) -> bytes:
    if not members:
        return b"(?!)"
    others = _ALL_BYTES - members
    is_shorter_negated = len(others) < len(members)
    named = others if is_shorter_negated else members
    return (b"[^" if is_shorter_negated else b"[") + b"".join(b"\\x%02x" % byte for byte in sorted(named)) + b"]"
