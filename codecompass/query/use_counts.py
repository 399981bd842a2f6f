"""How often the definitions of a part of a file are used, for the margin of the page for people.

Each is bound as `find_references` binds it, those whose names are in the fewest files first. A name of very many files is not
bound at all: alone it could take all the time (`ActiveRecord` in Rails is in 1,281 files, and takes half a minute).
"""

from collections.abc import Callable
from typing import Final

from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import UseCount, UseCountsReply
from codecompass.protocol.requests import CountUses
from codecompass.query.metadata import answer_metadata
from codecompass.query.options import no_deadline
from codecompass.query.outline import known_file
from codecompass.query.uses.chosen_symbol import symbols_at
from codecompass.query.uses.found_uses import Uses
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.store.snapshot import Snapshot

MAX_DEFINITIONS: Final = 100
"""Definitions of one answer, the first ones. The 84 of a file of Rails took 1.4 s on two loaded cores (2026-11-26)."""

MAX_FILES: Final = 200
"""Files that may use a name, above which it is not bound. Names within this bound took up to 0.3 s each."""

_WITHOUT_USES: Final = frozenset({"use", "test", "impl", "section", "key"})
"""Kinds that nothing refers to by name."""


def count_uses(
    snapshot: Snapshot, request: CountUses, state: AnswerState, is_expired: Callable[[], bool] = no_deadline
) -> UseCountsReply:
    """Returns the definitions that begin in the lines of the request, with the numbers of their uses as far as time allows; none
    for a language whose uses are not known. Raises FileNotFound."""
    file = known_file(snapshot, request.path, state.workspace)
    rows = snapshot.facts.symbols_in_file(file.id) if file.language in SYMBOL_LANGUAGES else []
    lines = range(request.line_start, request.line_end + 1)
    starts = sorted({row.line_start for row in rows if row.line_start in lines and row.kind not in _WITHOUT_USES})
    symbols = symbols_at(snapshot, rows, starts[:MAX_DEFINITIONS])
    uses = Uses(snapshot, is_expired)
    n_files = {name: uses.n_files(name) for name in {symbol.row.name for symbol in symbols}}
    cheapest = sorted(symbols, key=lambda symbol: n_files[symbol.row.name])
    counts = [_count(uses, symbol, n_files[symbol.row.name], is_expired) for symbol in cheapest]
    return UseCountsReply(
        file_path=file.path,
        counts=tuple(sorted(counts, key=lambda count: count.line)),
        n_left_out=max(0, len(starts) - MAX_DEFINITIONS),
        metadata=answer_metadata(snapshot, state, is_partial=any(each.state != "counted" for each in counts)),
    )


def _count(uses: Uses, symbol: SymbolPlaces, n_files: int, is_expired: Callable[[], bool]) -> UseCount:
    row = symbol.row
    if n_files > MAX_FILES:
        return UseCount(line=row.line_start, name=row.name, state="too_common")
    if is_expired():
        return UseCount(line=row.line_start, name=row.name, state="no_time")
    found = uses.of_symbols([symbol])
    n_possible = sum(use.confidence == "possible" for use in found.uses)
    return UseCount(
        line=row.line_start,
        name=row.name,
        state="at_least" if found.is_cut else "counted",
        uses=len(found.uses) - n_possible,
        possible=n_possible,
    )
