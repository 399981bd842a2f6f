"""The symbols of one file as they are stored: rows of the facts, and what of them is searched by rank. Pure."""

from collections.abc import Sequence
from typing import Final

from codecompass.store.identity import id_prefix, symbol_id
from codecompass.store.records import Symbol
from codecompass.store.text_writer import SymbolDocument
from codecompass.store.words import split_identifier

INSERT_SYMBOL: Final = "INSERT INTO symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

SEARCHED_KINDS_EXCLUDED: Final = frozenset({"impl", "test", "use"})
"""Kinds that repeat the name of something else, or are sentences about it: looked up by name, but not ranked as a definition of
their own. The titles of tests would be most of what is searched in many a repository."""


def symbol_rows(
    project: str, path: str, file_id: int, first: int, symbols: Sequence[Symbol]
) -> tuple[list[tuple[object, ...]], tuple[SymbolDocument, ...]]:
    """Returns the rows for `INSERT_SYMBOL`, numbered from `first` in the order of `symbols`, and the documents of some."""
    rows: list[tuple[object, ...]] = []
    documents = []
    ordinals: dict[tuple[str, int], int] = {}
    for row_id, symbol in enumerate(symbols, first):
        place = (symbol.name, symbol.line_start)
        ordinal = ordinals[place] = ordinals.get(place, -1) + 1
        parent_name = _scope_name(symbols, symbol)
        rows.append(
            (
                row_id,
                file_id,
                first + symbol.parent if symbol.parent >= 0 else None,
                symbol.name,
                symbol.kind,
                symbol.qualified_name,
                symbol.line_start,
                symbol.line_end,
                ordinal,
                symbol.signature,
                symbol.visibility,
                symbol.doc,
                id_prefix(symbol_id(project, path, symbol.kind, symbol.line_start, symbol.name, ordinal)),
            )
        )
        if symbol.kind not in SEARCHED_KINDS_EXCLUDED:
            words = " ".join((*split_identifier(symbol.name), *split_identifier(parent_name)))
            documents.append(SymbolDocument(row_id, symbol.name, words, symbol.signature, symbol.doc))
    return rows, tuple(documents)


def _scope_name(symbols: Sequence[Symbol], symbol: Symbol) -> str:
    """The name of what a symbol belongs to: what stands in tests belongs to what is around them."""
    parent = symbol.parent
    while parent >= 0 and symbols[parent].kind == "test":
        parent = symbols[parent].parent
    return symbols[parent].name if parent >= 0 else ""
