r"""Patterns as people type them for other programs, as RE2 expressions: grep's `a\|b`, Perl's `/foo.*bar/i`, `\<word\>`.

A query is a pattern only if it has notation that no name, message or sentence has. Whether it is one is decided by what it finds.
"""

import re
from typing import Final

from codecompass import lazy

_BASIC: Final = lazy.pattern(r"\\[|<>]")
"""Notation that only grep's basic expressions have, in which `|` and `(` stand for themselves."""

_CERTAIN: Final = lazy.pattern(
    r"\.[*+](?!\.)|\\[.sSwWdDbB(\[$^*]|\[\^?[^\]\s]-[^\]\s][^\]]*\]|\[\^[^\]]+\]|\(\?[imsU:]|^\^[\w\s(\[\\]|[\w)\]]\$$|\\[|<>]"
)
_ALTERNATIVES: Final = lazy.pattern(r"(?:^|(?<=\S))\|(?=[^\s|=])")
_DELIMITED: Final = lazy.pattern(r"/(?P<pattern>\S.*\S)/(?P<flags>[imsx]*)")
_GLOB: Final = lazy.pattern(r"[\w.*?/\[\]{},!@+-]*[*][\w.*?/\[\]{},!@+-]*")
_QUOTES: Final = "\"'`"


def patterns_meant(query: str) -> tuple[str, ...]:
    """Returns the RE2 expressions that a query can be in the notation of another program, the likeliest first; none for any other
    text."""
    text = query.strip()
    if "\n" in text:
        return ()
    text = _without_quotes(text)
    delimited = _DELIMITED.fullmatch(text)
    flags = ""
    if delimited is not None and (delimited["flags"] or _CERTAIN.search(delimited["pattern"])):
        text, flags = delimited["pattern"], "(?i)" if "i" in delimited["flags"] else ""
    if _BASIC.search(text):
        # People write `\(` for a parenthesis even where grep takes it as a group.
        return flags + _from_basic(text, _OPERATORS), flags + _from_basic(text, _EDGES)
    if flags or _CERTAIN.search(text) or (_ALTERNATIVES.search(text) and "||" not in text):
        return (flags + text,)
    return ()


def glob_meant(query: str) -> str | None:
    """Returns the glob of file names that a query is, without stray quotes; None for any other text."""
    text = query.strip().strip(_QUOTES)
    if _GLOB.fullmatch(text) is None or not any(character.isalnum() for character in text):
        return None
    return text if "/" in text or text.startswith("*.") or "." in text.rpartition("*")[2] else None


def name_pattern(query: str) -> str | None:
    """Returns the RE2 expression of a name with `*` for any of its letters, as in `get_*_name`; None for any other text."""
    text = query.strip().strip(_QUOTES)
    if "*" not in text or re.fullmatch(r"[\w*]*\w[\w*]*", text) is None:
        return None
    return r"\b" + text.replace("*", r"\w*") + r"\b"


def _without_quotes(text: str) -> str:
    if len(text) > 2 and text[0] == text[-1] and text[0] in _QUOTES:
        return text[1:-1]
    return text


_EDGES: Final = {"|": "|", "<": r"\b", ">": r"\b"}
_OPERATORS: Final = {**_EDGES, "(": "(", ")": ")", "{": "{", "}": "}", "+": "+", "?": "?"}


def _from_basic(text: str, operators: dict[str, str]) -> str:
    """Returns a basic expression of grep as an RE2 expression: there `\\|` is an operator and `|` a character."""
    found = []
    at = 0
    while at < len(text):
        character, following = text[at], text[at + 1 : at + 2]
        if character == "\\" and following:
            found.append(operators.get(following, character + following))
            at += 2
            continue
        found.append("\\" + character if character in "|(){}+?" else character)
        at += 1
    return "".join(found)
