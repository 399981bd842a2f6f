"""`search_code`: retrieves, ranks, fits places to definitions, drops duplicates, shapes the answer, proposes the next call; and
explains why a file has its rank or is not found.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec

from codecompass.languages.records import SymbolKind
from codecompass.protocol.decode import well_formed
from codecompass.protocol.metadata import AnswerState, PathExplanation, Verdict
from codecompass.protocol.replies import NextAction, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.query import retrieval
from codecompass.query.best_definitions import with_best_definitions
from codecompass.query.direct_answers import SEARCHED_PLACES, named_definitions, relation_places
from codecompass.query.exact_names import is_handle, outdated, symbol_of_handle
from codecompass.query.exact_scan import scan
from codecompass.query.excerpts import SEARCHED_LINES, word_pattern
from codecompass.query.file_listing import list_files
from codecompass.query.filters import changed_warnings, filter_warnings, index_filter, passes, symbol_kinds
from codecompass.query.intent import QueryIntent, classify, listed, missing_names, unknown_words, unquoted
from codecompass.query.merging import search_evidence
from codecompass.query.message_search import find_messages, message_places, sought_message
from codecompass.query.metadata import answer_metadata
from codecompass.query.named_locations import asked_lines, named_files
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.path_globs import plain_path, relative_request
from codecompass.query.query_words import QueryWord, query_words
from codecompass.query.ranking import MAX_IMPORTERS, NO_PHRASES, rank, with_importers
from codecompass.query.retrieval import breadth_for, retrieve
from codecompass.query.search_hits import Hit, Hits, RankedPlace, definition_place, fit_to_definition
from codecompass.query.shaping import ResultShape, ranking_reasons, shape
from codecompass.query.traces_and_signatures import frames
from codecompass.store.rows import FileRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

SURE_SCORE: Final = 20.0
"""The score of a definition requested by its `symbol_id`, like that of an exact name in `locate_symbol`."""

OTHERS_BESIDE_A_MESSAGE: Final = 2
"""Places that a text answer shows besides those of a message that was not found literally."""

TIME_WAS_UP: Final = "the time was up before everything was searched; pass a larger timeout_ms, or fewer words"

MOST_EXPECTED: Final = 50
"""Places whose lines are read together; an explanation asks for thousands."""

WEIGHED_FILES: Final = 40
"""Files, the best by their text, whose importers are counted."""


def find(
    snapshot: Snapshot,
    request: SearchCode,
    limit: int,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
    *,
    page: int | None = None,
    root: str = "",
) -> Hits:
    """Returns the first `limit` hits for a request, unshaped, ranked as for a page of `page` (default: `limit`).

    A query that is a `symbol_id` finds only that definition, one that is `path:line` the definitions around the line. `root` is
    that of the workspace, for absolute paths.
    """
    page = page or limit
    if options.changed is not None and not options.changed.lines:
        return Hits(shown=(), intent="path" if request.mode == "files" else classify(well_formed(request.query)), total=0)
    if request.mode == "files":
        return list_files(snapshot, request, limit, options.changed)
    where = index_filter(snapshot, request.language, request.path, options.changed)
    kinds = symbol_kinds(request.kind)
    if request.mode != "auto":
        hits = scan(snapshot, request, limit, where, kinds, options, is_expired)
        if hits.shown:
            return hits
        why = filter_warnings(snapshot, where, request.language, request.path, request.kind)
        return msgspec.structs.replace(hits, warnings=(*hits.warnings, *why))
    text = well_formed(request.query)
    known = symbol_of_handle(snapshot, text)
    if known is not None and (options.changed is None or known.path in options.changed.lines):
        return Hits(shown=(Hit(place=definition_place(known, SURE_SCORE)),), intent="symbol", total=1)
    return _find_by_words(snapshot, request, text, limit, page, where, kinds, options, is_expired, root)


def _find_by_words(
    snapshot: Snapshot,
    request: SearchCode,
    text: str,
    limit: int,
    page: int,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
    root: str,
) -> Hits:
    """Returns the hits of mode `auto`: places ranked by words and meaning, and above them those that answer directly."""
    intent = classify(text)
    query = unquoted(text)
    weights = retrieval.weights_for(intent, options.without_signals)
    breadth = breadth_for(options.n_merged, saves_work=options.saves_work)
    sought = None if "phrase" in options.without_signals else sought_message(snapshot, query, where)
    found = retrieve(
        snapshot,
        query,
        page,
        where,
        weights.inflection,
        lexicon=weights.lexicon > 0.0,
        breadth=breadth,
        later=() if sought is None else (sought.search,),
    )
    messages = [] if sought is None else find_messages(snapshot, sought, is_expired)
    # The rest is quick, and without it there would be no answer at all.
    is_partial = is_expired()
    phrases = {(item.file_id, item.chunk_start): item.share for item in reversed(messages)} if weights.phrase else NO_PHRASES
    ranked = rank(found, weights, kinds, phrases)
    languages = dict(
        itertools.islice({place.file.path: place.file.language for place in ranked}.items(), max(WEIGHED_FILES, page))
    )
    ranked = with_importers(ranked, snapshot.facts.importer_counts(languages, MAX_IMPORTERS), weights.importers)
    unknown = unknown_words(snapshot, query)
    if unknown:
        ranked = []
    if kinds is None and weights.best and not is_partial:
        # A page of several workspaces shows few of each.
        is_short = options.is_for_merging and options.saves_work
        n_files = breadth.compared if is_short else max(breadth.compared, page)
        ranked = with_best_definitions(snapshot, ranked, found, weights, n_files, is_expired)
    meaning_warnings: tuple[str, ...] = ()
    if options.meaning is not None:
        from codecompass.query.semantic_search import with_meaning  # only where search by meaning is on

        ranked, meaning_warnings = with_meaning(snapshot, ranked, options.meaning, where, kinds, found)
    best = _highest(ranked)
    _expect_lines(snapshot, ranked[: max(limit, SEARCHED_PLACES)])
    if kinds is None:
        ranked = _merged(named_definitions(snapshot, query, intent, ranked, where), ranked)
    # The frames of a trace are more precise than the message above them; a single location beside a message is not.
    quoted = message_places(snapshot, messages, kinds, best if len(frames(query)) > 1 else _highest(ranked))
    ranked = _merged(quoted, ranked)
    if kinds is None and where == Filter():
        ranked = relation_places(snapshot, query, _highest(ranked), is_expired) + ranked
    warnings: tuple[str, ...] = ()
    asked = asked_lines(query)
    if (intent == "path" or asked is not None) and kinds is None:
        named = named_files(snapshot, query, where, page, above=_highest(ranked), root=root)
        if intent == "path" and not named:
            warnings = (f"no indexed file has the path {listed((query if asked is None else asked.path,))}",)
        # A requested line is the whole answer.
        ranked = named if named and asked is not None else named + ranked
    if request.limit is None and options.answers == "text" and quoted:
        # A pasted message asks for the line that it comes from; other places with its words can be requested.
        exact = any(item.is_exact and item.is_sure for item in messages)
        limit = min(limit, len(quoted) + (0 if exact else OTHERS_BESIDE_A_MESSAGE))
    shown: list[Hit] = []
    seen: set[tuple[int, int, int]] = set()
    duplicates = 0
    for candidate in ranked:
        if len(shown) == limit:
            break
        if shown and not is_partial and is_expired():
            is_partial = True
            break
        place = candidate if candidate.focus else fit_to_definition(snapshot, candidate, found.wanted, kinds)
        if place is None:
            continue
        key = (place.file.id, place.line_start, place.line_end)
        if key in seen or (candidate not in quoted and _is_around(place, quoted)):
            duplicates += 1
            continue
        seen.add(key)
        shown.append(Hit(place=place))
    word_warnings = _word_warnings(snapshot, request, query, intent, unknown, where, is_empty=not shown)
    return Hits(
        shown=tuple(_each_once(shown)),
        intent=intent,
        total=len(ranked) - duplicates,
        duplicates=duplicates,
        wanted=found.wanted,
        warnings=(*warnings, *word_warnings, *meaning_warnings, *((TIME_WAS_UP,) if is_partial else ())),
        is_partial=is_partial,
    )


def _expect_lines(snapshot: Snapshot, places: Iterable[RankedPlace]) -> None:
    """Announces that the lines of the first places are read next."""
    places = itertools.islice((place for place in places if place.type != "file"), MOST_EXPECTED)
    snapshot.text.expect_lines(
        (place.file.id, place.line_start, min(place.line_end, place.line_start + SEARCHED_LINES - 1)) for place in places
    )


def _highest(ranked: Sequence[RankedPlace]) -> float:
    return ranked[0].score if ranked else 0.0


def _merged(places: list[RankedPlace], ranked: list[RankedPlace]) -> list[RankedPlace]:
    return sorted(places + ranked, key=lambda place: -place.score) if places else ranked


def _each_once(shown: Sequence[Hit]) -> Iterator[Hit]:
    """Yields the hits; definitions in `also` that are hits themselves are dropped there."""
    hits = {(hit.place.file.id, hit.place.line_start) for hit in shown}
    for hit in shown:
        also = tuple(row for row in hit.place.also if (row.file_id, row.line_start) not in hits)
        if len(also) == len(hit.place.also):
            yield hit
        else:
            yield msgspec.structs.replace(hit, place=msgspec.structs.replace(hit.place, also=also))


def _word_warnings(
    snapshot: Snapshot,
    request: SearchCode,
    query: str,
    intent: QueryIntent,
    unknown: tuple[str, ...],
    where: Filter,
    *,
    is_empty: bool,
) -> tuple[str, ...]:
    """Returns the warnings about the words of a query: that none is in the index, or that an identifier is not."""
    if is_empty and is_handle(query):
        return (outdated(query).message,)
    filtered = filter_warnings(snapshot, where, request.language, request.path, request.kind) if is_empty else ()
    if filtered:
        return filtered
    if unknown:
        return (f"no word of the query occurs in the index: {listed(unknown)}",)
    missing = missing_names(snapshot, query) if intent in ("symbol", "natural_language") else ()
    return (f"nowhere in the index: {listed(missing)}",) if missing else ()


def _is_around(place: RankedPlace, quoted: Sequence[RankedPlace]) -> bool:
    """Whether a snippet was found for a line that is already shown as the origin of a message."""
    return place.type == "snippet" and any(
        place.file.id == other.file.id and other.line_start <= place.focus <= other.line_end for other in quoted
    )


ALL: Final = 100_000
"""More places than a search ever finds: it retrieves a few hundred candidates."""


def explain_path(
    snapshot: Snapshot,
    request: SearchCode,
    path: str,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> PathExplanation:
    """Returns why a file has its rank in the search `request`, or is not found.

    `path` is relative to the workspace, or the end of a path if only one indexed file has it.

    Raises InvalidInput for a regular expression that cannot be used.
    """
    file = _file(snapshot, path)
    if file is None:
        return PathExplanation(path=path, verdict="not_indexed")
    path = file.path
    if file.status != "indexed":
        return PathExplanation(path=path, verdict="skipped", skip_reason=file.reason)
    limit = request.limit or options.default_limit
    hits = find(snapshot, request, ALL, options, is_expired, page=limit)
    missing = _missing_words(snapshot, request, file.id)
    rank = next((rank for rank, shown in enumerate(hits.shown, 1) if shown.place.file.id == file.id), None)
    if rank is not None:
        return PathExplanation(
            path=path,
            verdict="shown" if rank <= limit else "below_the_limit",
            rank=rank,
            total=len(hits.shown),
            reason=ranking_reasons(snapshot, hits.shown[:rank], "full", hits.wanted)[-1],
            missing_words=missing,
        )
    verdict: Verdict = "no_match"
    if not _passes(snapshot, request, file.id, options):
        verdict = "filtered_out"
    elif any(word.text not in missing for word in _words(request)):
        verdict = "not_among_the_candidates" if request.kind is None else "filtered_out"
    return PathExplanation(path=path, verdict=verdict, total=len(hits.shown), missing_words=missing)


def _file(snapshot: Snapshot, path: str) -> FileRow | None:
    tail = plain_path(path).strip("/")
    named = snapshot.facts.file(path) or snapshot.facts.file(tail)
    if named is not None or not tail:
        return named
    ending = snapshot.facts.paths_ending(tail, 2)
    return snapshot.facts.file(ending[0]) if len(ending) == 1 else None


def _words(request: SearchCode) -> tuple[QueryWord, ...]:
    return query_words(well_formed(request.query)) if request.mode == "auto" else ()


def _missing_words(snapshot: Snapshot, request: SearchCode, file_id: int) -> tuple[str, ...]:
    only_here = Filter(file_ids=(file_id,))
    return tuple(
        word.text for word in _words(request) if not snapshot.text.search_chunks(retrieval.chunk_query((word,)), 1, only_here)
    )


def _passes(snapshot: Snapshot, request: SearchCode, file_id: int, options: QueryOptions) -> bool:
    where = index_filter(snapshot, request.language, request.path, options.changed)
    return passes(where)(file_id, snapshot.facts.indexed_files([file_id])[file_id].language)


NEAR_MISS_LOOKS: Final = 1_000
"""Chunks that are searched for a suggestion."""

NEAR_MISS_LENGTH: Final = 1_000
"""Longest query, in characters, that is also tried ignoring case: longer ones are pasted, with the correct case."""

_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")


def search_code(
    snapshot: Snapshot,
    request: SearchCode,
    state: AnswerState,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> SearchCodeReply:
    """Returns the answer to `request`. Once `is_expired` returns True, scans end with what they have found.

    Raises InvalidInput for a regular expression that cannot be used; no other text is an error.
    """
    limit = request.limit or options.default_limit
    request = relative_request(request, state.workspace)
    hits = find(snapshot, request, limit, options, is_expired, root=state.workspace)
    _expect_lines(snapshot, (hit.place for hit in hits.shown))
    page = shape(
        snapshot,
        hits.shown,
        ResultShape(
            detail_level=request.detail_level,
            compact=request.compact,
            with_content=request.project_id is not None,
            answers=options.answers,
            pattern=word_pattern(request.query) if options.answers == "text" and request.mode == "auto" else None,
            with_docs=request.docs,
            max_bytes=options.result_bytes(request.limit),
        ),
    )
    level = request.ranking_explain_level or options.ranking_explain_level
    warnings = (*changed_warnings(options.changed, is_empty=not hits.shown), *hits.warnings)
    metadata = answer_metadata(snapshot, state, warnings=warnings, is_truncated=page.is_cut, is_partial=hits.is_partial)
    return SearchCodeReply(
        results=page.results,
        query_intent=hits.intent,
        total_candidates=hits.total,
        suggested_next_actions=_next_actions(snapshot, request, hits, limit, is_expired, is_cut=page.is_cut),
        metadata=msgspec.structs.replace(
            metadata,
            safety_limit_applied=page.is_cut,
            suppressed_duplicate_count=hits.duplicates,
            ranking_reasons=ranking_reasons(snapshot, hits.shown[: len(page.results)], level, hits.wanted),
            why_not=explain_path(snapshot, request, request.why_not, options, is_expired) if request.why_not else None,
        ),
        evidence=search_evidence(snapshot, request.query, hits.shown[: len(page.results)])
        if options.is_for_merging and request.mode == "auto"
        else None,
    )


def _next_actions(
    snapshot: Snapshot, request: SearchCode, hits: Hits, limit: int, is_expired: Callable[[], bool], *, is_cut: bool
) -> tuple[NextAction, ...]:
    if is_cut:
        mode = "" if request.mode == "auto" else request.mode
        return (NextAction(tool="search_code", query=request.query, mode=mode, limit=limit // 2 + 1),)
    if hits.shown or request.mode == "files":
        return ()
    if request.mode != "auto" or request.kind or request.language or request.path:
        return (*_near_miss(snapshot, request, hits, is_expired), NextAction(tool="search_code", query=request.query))
    return (NextAction(tool="search_code", query=request.query, mode="literal"),)


def _near_miss(snapshot: Snapshot, request: SearchCode, hits: Hits, is_expired: Callable[[], bool]) -> tuple[NextAction, ...]:
    """Returns the same literal or pattern, ignoring case, if that finds something."""
    if request.mode in ("auto", "files") or hits.is_partial or "\n" in request.query or len(request.query) > NEAR_MISS_LENGTH:
        return ()
    pattern = "(?i)" + (_SPECIAL.sub(r"\\\g<0>", request.query) if request.mode == "literal" else request.query)
    without_case = msgspec.structs.replace(request, mode="regex", query=pattern)
    looks = itertools.count()
    if not find(
        snapshot, without_case, 1, QueryOptions(max_matched_lines=1), lambda: next(looks) >= NEAR_MISS_LOOKS or is_expired()
    ).shown:
        return ()
    return (NextAction(tool="search_code", query=pattern, mode="regex"),)
