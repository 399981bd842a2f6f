"""Why a file stands where it stands among the answers to a search, or why it is not there at all.

For people and tests that ask after a file that they expected. It searches without a limit, so it takes longer than a search.
"""

from typing import Final, Literal

from msgspec import Struct

from codecompass.protocol.decode import well_formed
from codecompass.protocol.metadata import RankingReason
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.filters import index_filter
from codecompass.store.query.search import find
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import ranking_reasons
from codecompass.store.query.tokens import QueryWord, query_words
from codecompass.store.text import Filter

Verdict = Literal["shown", "below_the_limit", "not_among_the_candidates", "no_match", "filtered_out", "skipped", "not_indexed"]

ALL: Final = 100_000
"""More places than a search ever has: it fetches a few hundred candidates."""


class Explanation(Struct, frozen=True, kw_only=True):
    """The verdict on one file, and what it rests on.

    `rank` counts from 1 over all places of the search; `reason` has the factors of the file's best place. `missing_words` are
    those of the query that stand neither in the file's text nor in its path; `skip_reason` says why it was not indexed.
    """

    path: str
    verdict: Verdict
    rank: int | None = None
    total: int = 0
    reason: RankingReason | None = None
    missing_words: tuple[str, ...] = ()
    skip_reason: str = ""


def explain_path(
    snapshot: Snapshot,
    request: SearchCode,
    path: str,
    settings: QuerySettings = QuerySettings(),  # noqa: B008 (frozen)
) -> Explanation:
    """Returns what became of the file `path` (relative, as indexed) in the search `request`.

    Raises InvalidInput for a regular expression that cannot be used.
    """
    file = snapshot.facts.file(path)
    if file is None:
        return Explanation(path=path, verdict="not_indexed")
    if file.status != "indexed":
        return Explanation(path=path, verdict="skipped", skip_reason=file.reason)
    limit = request.limit or settings.default_limit
    hits = find(snapshot, request, ALL, settings, page=limit)
    missing = _missing_words(snapshot, request, file.id)
    rank = next((rank for rank, shown in enumerate(hits.shown, 1) if shown.place.place.id == file.id), None)
    if rank is not None:
        return Explanation(
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
    return Explanation(path=path, verdict=verdict, total=len(hits.shown), missing_words=missing)


def _words(request: SearchCode) -> tuple[QueryWord, ...]:
    return query_words(well_formed(request.query)) if request.mode == "auto" else ()


def _missing_words(snapshot: Snapshot, request: SearchCode, file_id: int) -> tuple[str, ...]:
    only_here = Filter(file_ids=(file_id,))
    return tuple(
        word.text for word in _words(request) if not snapshot.text.search_chunks(plan.chunk_query((word,)), 1, only_here)
    )


def _passes(snapshot: Snapshot, request: SearchCode, file_id: int) -> bool:
    where = index_filter(snapshot.facts, request.language, request.path)
    if where.file_ids is not None and file_id not in where.file_ids:
        return False
    place = snapshot.facts.places_by_id([file_id])[file_id]
    return not where.languages or place.language in where.languages
