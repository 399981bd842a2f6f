"""`locate_symbol`: where a name is defined, or with the kind `use` imported; the definition around a line."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from codecompass.languages.records import DOCUMENT_KINDS, SymbolKind
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import LocateSymbolReply, NextAction
from codecompass.protocol.requests import LocateSymbol
from codecompass.query.filters import changed_warnings, filter_warnings, index_filter, passes, symbol_kinds
from codecompass.query.metadata import answer_metadata, text_only_warnings
from codecompass.query.names.exact_names import (
    NamedDefinition,
    NameMatch,
    find_exactly,
    is_handle,
    outdated,
    symbol_of_handle,
)
from codecompass.query.names.known_names import KnownNames, find_known, known_names
from codecompass.query.names.name_lookup import NAME_MATCH, READING_SCORE, titled
from codecompass.query.names.named_locations import AskedLines, asked_lines, places_of_lines
from codecompass.query.names.named_routes import routes_asked
from codecompass.query.options import TIME_WAS_UP, QueryOptions, no_deadline
from codecompass.query.path_globs import relative_request
from codecompass.query.search_hits import KIND_WEIGHT, Hit, RankedPlace, Signals, definition_place, score_in_order
from codecompass.query.shaping import ResultShape, ranking_reasons, shape
from codecompass.query.source_lines import listed
from codecompass.query.words.query_words import name_parts
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import ImportRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

IMPORT_LIMIT: Final = 2000
ONLY_IMPORTS: Final[frozenset[SymbolKind]] = frozenset({"use"})
ONLY_TESTS: Final[frozenset[SymbolKind]] = frozenset({"test"})
TITLED: Final = DOCUMENT_KINDS | ONLY_TESTS
"""Kinds whose names are found by their words, but are not in the text index."""

SEARCH_INSTEAD_LIMIT: Final = 5

MAX_GUESSES: Final = 3
"""Hits of an answer that has only similar names: more would look like an answer."""

GUESSES: Final[frozenset[NameMatch]] = frozenset({"similar"})
SURE_MATCHES: Final[frozenset[NameMatch]] = frozenset({"exact", "case"})


def locate_symbol(
    snapshot: Snapshot,
    request: LocateSymbol,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> LocateSymbolReply:
    """Returns the definitions that the name may refer to, the most likely first; an empty answer is not an error.

    The name may be a `symbol_id` or a location (`src/x.py:120`). Similar names are marked as such; if there is nothing better,
    only a few are returned, with a warning. `is_expired` is called between the readings of the name.

    Raises SymbolNotFound for a `symbol_id` that no longer refers to anything.
    """
    limit = request.limit or options.default_limit
    request = relative_request(request, state.workspace)
    where = index_filter(snapshot, request.language, request.path, options.changed)
    kinds = symbol_kinds(request.kind)
    # With the time up from the start only the strictest reading is tried.
    late = (lambda: True) if options.is_name_exact else is_expired
    found, notice, warnings = _found(snapshot, request, state.workspace, where, kinds, late)
    changed = options.changed
    if changed is not None:
        hits = _part(found, 0, len(found))
        found = [hit for hit in hits if changed.overlaps(hit.place.file.path, hit.place.line_start, hit.place.line_end)]
        notice = notice if found else ""
        warnings = (*changed_warnings(changed, is_empty=not found), *(warnings if found else ()))
    is_partial = is_expired()
    if is_partial:
        warnings = (*warnings, TIME_WAS_UP)
    matches = found.matches if isinstance(found, KnownNames) else {hit.match for hit in found}
    if SURE_MATCHES.isdisjoint(matches) and (unparsed := text_only_warnings(snapshot)):
        is_partial = True
        warnings = (*warnings, *unparsed)
    shown = _part(found, request.offset, request.offset + limit)
    page = shape(
        snapshot,
        shown,
        ResultShape(
            detail_level=request.detail_level,
            compact=request.compact,
            with_content=request.project_id is not None,
            answers=options.answers,
            with_docs=request.docs,
            max_bytes=options.result_bytes(request.limit),
        ),
    )
    level = request.ranking_explain_level or options.ranking_explain_level
    metadata = answer_metadata(snapshot, state, warnings=warnings, is_truncated=page.is_cut, is_partial=is_partial)
    end = request.offset + len(page.results)
    return LocateSymbolReply(
        notice=notice,
        results=page.results,
        total_candidates=len(found),
        offset=request.offset,
        next_offset=end if page.results and len(found) > end else 0,
        suggested_next_actions=_next_actions(request, end, is_cut=page.is_cut, is_empty=not found),
        metadata=msgspec.structs.replace(
            metadata,
            safety_limit_applied=page.is_cut,
            ranking_reasons=ranking_reasons(snapshot, shown[: len(page.results)], level),
        ),
    )


def _found(
    snapshot: Snapshot,
    request: LocateSymbol,
    root: str,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    is_expired: Callable[[], bool],
) -> tuple[KnownNames | list[Hit], str, tuple[str, ...]]:
    """Returns all hits in order, what must be said before them, and the warnings about them."""
    if kinds == ONLY_IMPORTS:
        imports = _imports(snapshot, request.name, where)
        warnings = () if imports else filter_warnings(snapshot, where, request.language, request.path, request.kind)
        return [Hit(place=place, match="exact") for place in imports], "", warnings
    asked = asked_lines(request.name)
    places = [] if asked is None else places_of_lines(snapshot, asked, root, where, kinds)
    if places:
        return [Hit(place=place, match="exact") for place in places], "", _short_file_warnings(asked, places)
    known = symbol_of_handle(snapshot, request.name)
    if known is not None:
        named = known_names(snapshot, [NamedDefinition(known, "exact")])
    else:
        named = find_known(snapshot, request.name, where, kinds, is_expired)
    if kinds is None and SURE_MATCHES.isdisjoint(named.matches):
        routes = routes_asked(snapshot, request.name, where)
        named = known_names(snapshot, [NamedDefinition(row, "exact") for row in routes]) if routes else named
    if not named and kinds is not None and kinds <= TITLED:
        named = known_names(snapshot, titled(snapshot, request.name, where, kinds))
    if is_handle(request.name) and SURE_MATCHES.isdisjoint(named.matches):
        raise outdated(request.name)
    if named.matches == GUESSES:
        named = known_names(snapshot, named.part(0, MAX_GUESSES))
    return named, *_name_notes(snapshot, request, where, kinds, named.matches)


def _part(found: KnownNames | list[Hit], start: int, stop: int) -> list[Hit]:
    """Returns the hits from `start` to before `stop`, as far as there are any."""
    if not isinstance(found, KnownNames):
        return found[start:stop]
    named = enumerate(found.part(start, stop), start)
    return [Hit(place=_place(each, index), match=NAME_MATCH[each.reading]) for index, each in named]


def _name_notes(
    snapshot: Snapshot, request: LocateSymbol, where: Filter, kinds: frozenset[SymbolKind] | None, matches: frozenset[NameMatch]
) -> tuple[str, tuple[str, ...]]:
    """Returns what is said before the hits if nothing has the name, and the warnings about filters."""
    if matches and matches != GUESSES:
        return "", ()
    name = request.name.strip()
    filtered = () if matches else filter_warnings(snapshot, where, request.language, request.path, request.kind)
    if filtered:
        return "", filtered
    is_filtered = kinds is not None or request.language is not None or request.path is not None
    elsewhere = len(find_exactly(snapshot, name)) if is_filtered else 0
    if elsewhere:
        return "", (f"{elsewhere} of this name are left out by kind, language or path: {listed((name,))}",)
    similar = "; similar:" if matches else "; search_code finds it in all text"
    return f"nothing is named {listed((name,))}{similar}", ()


def _short_file_warnings(asked: AskedLines | None, places: Sequence[RankedPlace]) -> tuple[str, ...]:
    if asked is None or places[0].asked_first == asked.first:
        return ()
    return (f"{places[0].file.path} has {places[0].file.line_count} lines; the last one is shown",)


def _place(named: NamedDefinition, index: int) -> RankedPlace:
    row = named.row
    base = READING_SCORE[named.reading]
    signals = Signals(
        exact=1.0 if named.reading == "exact" else 0.0,
        qualified=1.0 if named.reading == "qualified" else 0.0,
        definition=base,
        kind=KIND_WEIGHT[row.kind],
    )
    # The order is already final; the score only tells how certain each reading of the name is.
    return definition_place(row, score_in_order(index, base), signals)


def _imports(snapshot: Snapshot, name: str, where: Filter) -> list[RankedPlace]:
    """Returns the imports of a name: its last part is what is imported, the parts before it belong to the module."""
    from codecompass.query.outline import import_name

    parts = name_parts(name)
    if not parts:
        return []
    rows = [row for row in snapshot.facts.imports_named(parts[-1], IMPORT_LIMIT) if _is_from(row, parts[:-1])]
    indexed = snapshot.facts.indexed_files([row.file_id for row in rows])
    is_allowed = passes(where)
    rows = [row for row in rows if is_allowed(row.file_id, indexed[row.file_id].language)]
    rows.sort(key=lambda row: (role_of(row.path).rank, row.path, row.line_start))
    return [
        RankedPlace(
            file=indexed[row.file_id],
            type="import",
            line_start=row.line_start,
            line_end=row.line_end,
            score=score_in_order(index),
            signals=Signals(exact=1.0, kind=KIND_WEIGHT["use"]),
            imported=import_name(row, indexed[row.file_id].language),
        )
        for index, row in enumerate(rows)
    ]


def _is_from(row: ImportRow, module: tuple[str, ...]) -> bool:
    spec = name_parts(row.spec)
    return not module or spec[-len(module) :] == module


def _next_actions(request: LocateSymbol, offset: int, *, is_cut: bool, is_empty: bool) -> tuple[NextAction, ...]:
    search = NextAction(tool="search_code", query=request.name, limit=SEARCH_INSTEAD_LIMIT)
    if is_cut:
        return (NextAction(tool="locate_symbol", name=request.name, offset=offset), search)
    return (search,) if is_empty else ()
