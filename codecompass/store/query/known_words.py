"""Which words of a query the index has at all: what keeps a search for made-up words from answering with anything else.

Counts of documents alone are read, 2 us a word. They include what was deleted since the last merge, so that a word may count as
known a little longer than it is there, and never as missing while it is.
"""

import re
from typing import Final

from codecompass.store.index import Snapshot
from codecompass.store.query.tokens import (
    MAX_QUERY_CHARACTERS,
    MAX_QUERY_WORDS,
    STOP_WORDS,
    identifiers,
    inflections,
    is_code_name,
    name_parts,
)
from codecompass.store.words import NAME_MARK, split_identifier

MAX_NAMED: Final = 3
MAX_SHOWN_CHARACTERS: Final = 100
"""Missing words that a warning names, and characters of each."""

_RUN: Final = re.compile(r"\w+")
_FIELDS: Final = ("body", "parts", "path_words", "file_words", "name_words")


def unknown_words(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """Returns the words of a query where the index has none of them; nothing where it has one, or the query has none.

    A name of several words is known where it stands as it is written, or more than half of its words do.
    """
    runs = list(dict.fromkeys(_RUN.findall(query[:MAX_QUERY_CHARACTERS])))[:MAX_QUERY_WORDS]
    words = [run for run in runs if run.lower() not in STOP_WORDS] or runs
    return () if any(_is_known(snapshot, word) for word in words) else tuple(words)


def missing_names(snapshot: Snapshot, query: str) -> tuple[str, ...]:
    """Returns the identifiers of a query that stand nowhere in the index, as far as a word surely is an identifier."""
    parts = dict.fromkeys(part for name in identifiers(query) for part in name_parts(name) if part.isidentifier())
    names = [part for part in parts if part.isascii() and is_code_name(part)]
    return tuple(name for name in names if not _stands(snapshot, name) and not snapshot.facts.symbols_named(name, 1))


def listed(words: tuple[str, ...]) -> str:
    """Returns words as a warning lists them."""
    shown = [word if len(word) <= MAX_SHOWN_CHARACTERS else word[: MAX_SHOWN_CHARACTERS - 1] + "…" for word in words]
    return ", ".join(shown[:MAX_NAMED]) + (", …" if len(shown) > MAX_NAMED else "")


def _is_known(snapshot: Snapshot, word: str) -> bool:
    if _stands(snapshot, word) or any(_has(snapshot, form) for form in inflections(word.lower())):
        return True
    parts = split_identifier(word)
    known = sum(_has(snapshot, part) for part in parts)
    return known > len(parts) / 2


def _stands(snapshot: Snapshot, name: str) -> bool:
    """Whether a name stands in a text as it is written, but for case."""
    if "_" in name:
        return snapshot.text.document_frequency("names", NAME_MARK + name.lower()) > 0
    return _has(snapshot, name.lower())


def _has(snapshot: Snapshot, word: str) -> bool:
    return any(snapshot.text.document_frequency(field, word) for field in _FIELDS)
