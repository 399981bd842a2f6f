"""Strings of other languages: SQL, GraphQL, CSS and HTML, where the code says which of them a string holds.

It says so by a tag (`gql`, `sql`, `styled.x`), a comment (`/* sql */`, `// language=SQL`, `-- sql` in the string) or the word
that ends a heredoc (`<<~SQL`). What is defined in such a string is defined in the file. A string that begins like a statement of
SQL in capitals (`SELECT ..`) says so too, but defines nothing: schemas of tests and of generated code are in such strings.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.walk.markup import blank
from codecompass.languages.walk.regions import Region, Regions

_LANGUAGES: Final = {
    "css": "css",
    "createglobalstyle": "css",
    "gql": "graphql",
    "graphql": "graphql",
    "html": "html",
    "injectglobal": "css",
    "keyframes": "css",
    "sql": "sql",
    "styled": "css",
}
_WORD: Final = r"(?i:sql|graphql|gql|css|html)"
_TAG: Final = (
    r"(?<![\w$'\"])(?P<tag>gql|graphql|sql|css|html|keyframes|createGlobalStyle|injectGlobal"
    r"|(?P<styled>styled)(?:\.\w++|\([^()\n]{0,100}+\))(?:\.attrs\([^`]{0,300}?\))?)(?:<[^<>`;]{0,200}+>|\(\s*+)?(?=`)"
)
_COMMENT: Final = rf"/\*[ \t]*+(?:language=)?(?P<word>{_WORD})[ \t]*+\*/\s*+(?=[\"'`])"
_INJECTED: Final = rf"(?://|\#|--|/\*)[ \t]*+language=(?P<injected>{_WORD})\b[^\n]*+\n[^\n\"'`]{{0,200}}+(?=[\"'`])"
_INSIDE: Final = (
    r"(?P<quoted>(?=(?:\"\"\"|'''|[\"'`])\s{0,200}+(?:--[ \t]*+(?P<in_sql>(?i:sql))|\#[ \t]*+(?P<in_graphql>(?i:graphql)))\b))"
)
_HEREDOC: Final = rf"<<[<~-]?[ \t]*+[\"']?(?P<heredoc>{_WORD})\b[\"']?[^\n]*+\n"
_OPENING: Final = lazy.pattern("|".join((_TAG, _COMMENT, _INJECTED, _INSIDE, _HEREDOC)))
_STRING: Final = lazy.pattern(
    r"`(?P<template>(?>(?:[^`\\]++|\\.)*))`|\"\"\"(?P<triple>(?>(?:[^\"\\]++|\\.|\"(?!\"\"))*))\"\"\""
    r"|'''(?P<single_triple>(?>(?:[^'\\]++|\\.|'(?!''))*))'''|\"(?P<double>(?>(?:[^\"\\\n]++|\\.)*))\"|'(?P<single>(?>(?:[^'\\\n]++|\\.)*))'",
    re.DOTALL,
)
_INTERPOLATION: Final = lazy.pattern(r"[$#]\{[^{}]*+(?>(?:\{[^{}]*+\}[^{}]*+)*)\}")
_PLACEHOLDER: Final = lazy.pattern(r"%(?:\(\w++\))?[sd]")
_DEFINES: Final = lazy.pattern(r"\bcreate\b", re.IGNORECASE)


_STATEMENT: Final = lazy.pattern(
    r"\b(?:SELECT\s(?=[^\"'`]{0,2000}?\sFROM\s)|INSERT\s{1,9}INTO\s|UPDATE\s(?=[^\"'`]{0,200}?\sSET\s)|DELETE\s{1,9}FROM\s)"
)
_QUOTE: Final = lazy.pattern(r"(?:\"\"\"|'''|[\"'`])\s{0,200}+\Z")
_LOOK_BACK: Final = 203
"""Characters between a statement and the beginning of its string, at most."""


def marked(text: str) -> Iterator[Region]:
    """Yields the marked strings of a text, and those that begin like a statement of SQL."""
    found = list(_marked(text)) if any(mark in text for mark in _MARKS) else []
    if not any(word in text for word in _WORDS):
        return iter(found)
    return iter(sorted((*found, *_statements(text, found)), key=lambda region: region.start))


def _marked(text: str) -> Iterator[Region]:
    at = 0
    while (match := _OPENING.search(text, at)) is not None:
        at = max(match.end(), match.start() + 1)
        if match["heredoc"] is not None:
            word = match["heredoc"]
            closing = re.compile(rf"^[ \t]*+{word}\b", re.MULTILINE).search(text, at)
            start, end = at, len(text) if closing is None else closing.start()
        else:
            string = _STRING.match(text, match.end())
            if string is None:
                continue
            start, end = string.span(string.lastgroup or 0)
            # The mark in a string is not a comment about what follows.
            start = max(start, match.end("in_sql"), match.end("in_graphql"))
            word = match["word"] or match["injected"] or match["in_sql"] or match["in_graphql"] or match["styled"] or match["tag"]
        at = end
        language = _LANGUAGES[word.lower()]
        code = _with_values(text[start:end])
        if language != "sql" or _DEFINES.search(code):
            yield Region(language, start, end, code)
        else:
            yield _query(start, end, code)


def _statements(text: str, marked: Sequence[Region]) -> Iterator[Region]:
    """Yields the strings that begin like a statement and are not in those that are marked."""
    at, others = 0, iter((*marked, Region("", len(text), len(text))))
    other = next(others)
    for match in _STATEMENT.finditer(text):
        while other.end < match.start():
            other = next(others)
        first = max(match.start() - _LOOK_BACK, 0)
        quote = _QUOTE.search(text[first : match.start()])
        if match.start() < at or match.start() >= other.start or quote is None:
            continue
        string = _STRING.match(text, first + quote.start())
        if string is not None:
            start, at = string.span(string.lastgroup or 0)
            yield _query(start, at, _with_values(text[start:at]))


def _query(start: int, end: int, code: str) -> Region:
    """Returns a string of SQL that defines nothing."""
    return Region("sql", start, end, blank(code), _PLACEHOLDER.sub(_instead, code))


def _with_values(code: str) -> str:
    """Returns a string in which names stand for the values that are put into it."""
    return _INTERPOLATION.sub(_instead, code) if "{" in code else code


def _instead(match: re.Match[str]) -> str:
    """Returns what stands for a value that is put into a string: a name, or blanks if it has several lines."""
    return blank(match[0]) if "\n" in match[0] else "_" * len(match[0])


_WORDS: Final = ("SELECT", "INSERT", "UPDATE", "DELETE")
_STATEMENTS: Final = (b"FROM ", b"INSERT INTO ", b" SET ")
"""What all but a few statements hold."""

_COMMENTED: Final = (b"language=", b"/* sql", b"/*sql", b"/* SQL", b"/* GraphQL", b"/* graphql", b"/*GraphQL")
_QUOTED: Final = (b"-- sql", b"--sql", b"#graphql")

TAGGED_STRINGS: Final = Regions(
    holds="marked strings",
    found=marked,
    marks=(
        b"gql`",
        b"gql<",
        b"graphql`",
        b"graphql(",
        b"sql`",
        b"sql<",
        b"css`",
        b"html`",
        b"styled",
        *_COMMENTED,
        b"#graphql",
        *_STATEMENTS,
    ),
)
"""For languages whose templates have tags."""

COMMENTED_STRINGS: Final = Regions(holds="marked strings", found=marked, marks=(b"language=", b"/* sql", b"/* SQL", *_STATEMENTS))
"""For languages whose comments mark strings."""

QUOTED_STRINGS: Final = Regions(holds="marked strings", found=marked, marks=(b"language=", *_QUOTED, *_STATEMENTS))
"""For languages in which the text of a string itself is marked."""

HEREDOCS: Final = Regions(
    holds="marked strings",
    found=marked,
    marks=(b"<<~SQL", b"<<-SQL", b"<<SQL", b"<<'SQL", b'<<"SQL', b"<<~GRAPHQL", b"<<'GRAPHQL", b"<<GRAPHQL", *_STATEMENTS),
)
"""For languages with heredocs."""

_MARKS: Final = tuple(
    dict.fromkeys(
        mark.decode()
        for regions in (TAGGED_STRINGS, COMMENTED_STRINGS, QUOTED_STRINGS, HEREDOCS)
        for mark in regions.marks
        if mark not in _STATEMENTS
    )
)
