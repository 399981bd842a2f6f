"""The definitions that a question is about, as answers show them."""

from collections.abc import Sequence
from typing import Final

from codecompass.protocol.replies import DefinitionPlace, ReferenceDefinition
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.store.snapshot import Snapshot

MAX_PLACES: Final = 5
"""Other places of a definition that an answer lists."""


def asked_definition(snapshot: Snapshot, symbol: SymbolPlaces) -> ReferenceDefinition:
    """Returns a symbol with its place, signature and first other places."""
    row, others = symbol.row, symbol.rows[1:]
    return ReferenceDefinition(
        symbol_id=symbol_handle(snapshot, row),
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        kind=row.kind,
        name=row.name,
        qualified_name=row.qualified_name,
        signature=row.signature,
        places=tuple(
            DefinitionPlace(path=other.path, line_start=other.line_start, line_end=other.line_end, signature=other.signature)
            for other in others[:MAX_PLACES]
        ),
        n_places=len(others),
    )


def if_several(snapshot: Snapshot, symbols: Sequence[SymbolPlaces]) -> tuple[ReferenceDefinition, ...]:
    """Returns the symbols if there is more than one; an answer about one symbol shows it in its own way."""
    return tuple(asked_definition(snapshot, symbol) for symbol in symbols) if len(symbols) > 1 else ()
