"""Questions drawn from an index by a seed."""

import random
from typing import Final

from msgspec import Struct

from codecompass.languages.words import split_identifier
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MIN_WORDS: Final = 4
"""Minimum words of a comment's sentence that serves as a question in natural language."""

LITERAL_CHARACTERS: Final = 24


class Questions(Struct, frozen=True, kw_only=True):
    """The questions. There may be fewer `sentences` than requested, or none, if a repository has few comments. `names` are
    identifiers, `literals` alternately names and pieces of code."""

    names: tuple[str, ...]
    phrases: tuple[str, ...]
    sentences: tuple[str, ...]
    literals: tuple[str, ...]


def questions(snapshot: Snapshot, source: random.Random, count: int) -> Questions:
    """Returns `count` questions of each kind about symbols of `snapshot`, at most one per file."""
    paths = snapshot.facts.paths()
    source.shuffle(paths)
    rows: list[SymbolRow] = []
    sentences: list[str] = []
    for file_id, _ in paths:
        if len(rows) >= count and len(sentences) >= count:
            break
        symbols = [
            row for row in snapshot.facts.symbols_in_file(file_id) if row.kind not in ("use", "impl") and row.name.isidentifier()
        ]
        if not symbols:
            continue
        row = source.choice(symbols)
        if len(rows) < count:
            rows.append(row)
        if len(sentences) < count and len(row.doc.split()) >= MIN_WORDS:
            sentences.append(row.doc.partition(". ")[0][:200])
    return Questions(
        names=tuple(row.name for row in rows),
        phrases=tuple(_phrase(row) for row in rows),
        sentences=tuple(sentences),
        literals=tuple(_literal(row) if number % 2 else row.name for number, row in enumerate(rows)),
    )


def _phrase(row: SymbolRow) -> str:
    """Returns two or three words of the symbol's name and scope, as a person would type them."""
    parts = [part for name in row.qualified_name.replace("::", ".").replace("/", ".").split(".")[-2:] for part in _words(name)]
    return " ".join(parts[-3:]) or row.name


def _literal(row: SymbolRow) -> str:
    """Returns a piece of code as a person would copy it: the beginning of the signature."""
    return row.signature[:LITERAL_CHARACTERS].strip() or row.name


def _words(name: str) -> list[str]:
    return [part.lower() for piece in name.split("_") for part in (split_identifier(piece) or [piece]) if part]
