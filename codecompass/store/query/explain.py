"""Why a file stands where it stands among the answers to a search, or why it is not there at all.

For people and tests that ask after a file that they expected. It searches without a limit, so it takes longer than a search.
"""

from collections.abc import Callable
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.protocol.metadata import PathExplanation, Verdict
from codecompass.protocol.requests import SearchCode
from codecompass.store.facts import FileRow
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.filters import index_filter
from codecompass.store.query.finding import find
from codecompass.store.query.hits import never
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import ranking_reasons
from codecompass.store.query.tokens import QueryWord, query_words
from codecompass.store.text import Filter

ALL: Final = 100_000
"""More places than a search ever has: it fetches a few hundred candidates."""


def explain_path(
    snapshot: Snapshot,
    request: SearchCode,
    path: str,
    settings: QuerySettings = QuerySettings(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = never,
) -> PathExplanation:
    """Returns what became of a file in the search `request`.

    `path` is relative to the workspace; its end will do where only one indexed file has it.

    Raises InvalidInput for a regular expression that cannot be used.
    """
    file = _file(snapshot, path)
    if file is None:
        return PathExplanation(path=path, verdict="not_indexed")
    path = file.path
    if file.status != "indexed":
        return PathExplanation(path=path, verdict="skipped", skip_reason=file.reason)
    limit = request.limit or settings.default_limit
    hits = find(snapshot, request, ALL, settings, is_expired, page=limit)
    missing = _missing_words(snapshot, request, file.id)
    rank = next((rank for rank, shown in enumerate(hits.shown, 1) if shown.place.place.id == file.id), None)
    if rank is not None:
        return PathExplanation(
            path=path,
            verdict="shown" if rank <= limit else "below_the_limit",
            rank=rank,
            total=len(hits.shown),
            reason=ranking_reasons(hits.shown[:rank], "full")[-1],
            missing_words=missing,
        )
    verdict: Verdict = "no_match"
    if not _passes(snapshot, request, file.id):
        verdict = "filtered_out"
    elif any(word.text not in missing for word in _words(request)):
        verdict = "not_among_the_candidates" if request.kind is None else "filtered_out"
    return PathExplanation(path=path, verdict=verdict, total=len(hits.shown), missing_words=missing)


def _file(snapshot: Snapshot, path: str) -> FileRow | None:
    tail = well_formed(path).strip().replace("\\", "/").removeprefix("./").strip("/")
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
        word.text for word in _words(request) if not snapshot.text.search_chunks(plan.chunk_query((word,)), 1, only_here)
    )


def _passes(snapshot: Snapshot, request: SearchCode, file_id: int) -> bool:
    where = index_filter(snapshot, request.language, request.path)
    if where.file_ids is not None and file_id not in where.file_ids:
        return False
    place = snapshot.facts.places_by_id([file_id])[file_id]
    return not where.languages or place.language in where.languages
