"""Answers by meaning: which requests ask for them, which places are near to a question, and how they join those found by words.

The ranking by words is always made first; without a vector it is the answer. Places near in meaning are fused with it by rank
(`semantic/fusion.py`), since a BM25 score and a cosine cannot be compared.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.records import SymbolKind
from codecompass.protocol.requests import GetCodeContext, Request, SearchCode
from codecompass.query.filters import has_kind, passes
from codecompass.query.names.exact_names import is_handle
from codecompass.query.names.named_locations import asked_lines
from codecompass.query.search_hits import RankedPlace, Signals
from codecompass.query.words.best_definitions import MAX_ALSO
from codecompass.query.words.intent import classify, unquoted
from codecompass.query.words.ranking import role_scale
from codecompass.query.words.retrieval import Candidates
from codecompass.scan.path_roles import role_of
from codecompass.semantic.fusion import fused, reciprocal
from codecompass.semantic.target import SemanticUnavailable
from codecompass.store.layout import ProjectLayout
from codecompass.store.rows import IndexedFile
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter
from codecompass.store.vectors import NearPlace, VectorsMissing, VectorSpace, VectorsUnusable, vectors_for_reading

NEAREST: Final = 100
"""Texts that are compared further; the best of each file comes first."""

JOINED: Final = 30
"""Places near in meaning, and files of each ranking, that take part in the fusion: ranks further down say nothing."""

WEIGHT_OF_WORDS: Final = 1.0
WEIGHT_OF_MEANING: Final = 0.5
WEIGHT_WHERE_WORDS_FAIL: Final = 1.0
"""Weights of the rankings. Half a weight for a ranking of unknown quality: a good model still changes a page, a bad one hardly
does (measured, see ADR 0025)."""

LEAST_COVERED: Final = 0.3
"""Share of a question's worth that some chunk must have for the ranking by words to be trusted more."""

MAX_QUESTION_CHARACTERS: Final = 2_000
"""Characters of a question that are sent."""

BELOW: Final = 0.99
"""Factor from the score of one place to the next when there are more places than scores by words."""


class QuestionMeaning(Struct, frozen=True, kw_only=True):
    """The vector of a question and what to compare it with, or why there is none."""

    layout: ProjectLayout
    space: VectorSpace
    vector: bytes = b""
    least: float = 0.0
    """Least cosine of an answer."""
    unavailable: str = ""
    """The warning of an answer from words alone, '' if there is a vector."""


class _Near(Struct, frozen=True):
    place: RankedPlace
    value: float


def question_of(request: Request) -> str:
    """Returns the question that a request asks in words, as it is sent; empty for every other request.

    Names, paths, error messages, handles and locations are found literally, and are not sent.
    """
    if not isinstance(request, SearchCode | GetCodeContext):
        return ""
    if isinstance(request, SearchCode) and request.mode != "auto":
        return ""
    text = request.query
    if is_handle(text) or asked_lines(unquoted(text)) is not None or classify(text) != "natural_language":
        return ""
    return unquoted(text)[:MAX_QUESTION_CHARACTERS]


def with_meaning(
    snapshot: Snapshot,
    ranked: list[RankedPlace],
    meaning: QuestionMeaning,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    found: Candidates,
) -> tuple[list[RankedPlace], tuple[str, ...]]:
    """Returns the places, best first, with those near in meaning among them; and a warning if that was not possible.

    The scores are those of the ranking by words, in descending order, assigned by rank.
    """
    if meaning.unavailable:
        return ranked, (meaning.unavailable,)
    try:
        near = _near_places(snapshot, meaning, where, kinds, found)
    except VectorsMissing:
        return ranked, (SemanticUnavailable("no_vectors").warning,)
    except VectorsUnusable as error:
        return ranked, (SemanticUnavailable("store", str(error)).warning,)
    if not near:
        return ranked, ()
    is_covered = not found.coverage or max(found.coverage.values()) >= LEAST_COVERED
    return _joined(ranked, near, WEIGHT_OF_MEANING if is_covered else WEIGHT_WHERE_WORDS_FAIL), ()


def _near_places(
    snapshot: Snapshot,
    meaning: QuestionMeaning,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    words: Candidates,
) -> list[RankedPlace]:
    """Returns the places near to the question, best first; the best of each file before any second one."""
    paths = _paths(snapshot, where)
    stored_kinds = None if kinds is None else kinds | ({"fn"} if "method" in kinds else set())
    with vectors_for_reading(meaning.layout, meaning.space) as vectors:
        found = vectors.nearest(meaning.vector, NEAREST, paths=paths, kinds=stored_kinds)
    near = []
    for each in found:
        place = _place(snapshot, each, kinds) if each.similarity >= meaning.least else None
        if place is not None:
            near.append(_Near(place, each.similarity * role_scale(each.path, role_of(each.path), words)))
    near.sort(key=lambda each: (-each.value, each.place.file.path, each.place.line_start, each.place.line_end))
    first: dict[int, _Near] = {}
    for best in near:
        first.setdefault(best.place.file.id, best)
    further = [other for other in near if first[other.place.file.id] is not other]
    return [one.place for one in (*first.values(), *further)][:JOINED]


def _paths(snapshot: Snapshot, where: Filter) -> list[str] | None:
    """Returns the paths that pass a filter; None if all do."""
    if where == Filter():
        return None
    files = snapshot.files()
    is_allowed = passes(where)
    return [
        path
        for file_id, path, language in zip(files.ids, files.paths, files.languages, strict=True)
        if is_allowed(file_id, language)
    ]


def _place(snapshot: Snapshot, near: NearPlace, kinds: frozenset[SymbolKind] | None) -> RankedPlace | None:
    """Returns the place in this snapshot; None if the file's content differs in it, or the definition is not of `kinds`."""
    row = snapshot.facts.file(near.path)
    if row is None or row.status != "indexed" or row.content_hash != near.content_hash:
        return None
    symbol = None
    if near.kind:
        around = snapshot.facts.symbols_around(row.id, near.line_start, near.line_start)
        symbol = next(
            (
                each
                for each in around
                if (each.line_start, each.line_end, each.kind) == (near.line_start, near.line_end, near.kind)
                and has_kind(each, kinds)
            ),
            None,
        )
        if symbol is None:
            return None
    return RankedPlace(
        file=IndexedFile(row.id, row.path, row.language, row.line_count),
        type="snippet" if symbol is None else "symbol",
        line_start=near.line_start,
        line_end=near.line_end,
        score=0.0,
        signals=Signals(meaning=round(near.similarity, 4)),
        symbol=symbol,
    )


def _joined(ranked: Sequence[RankedPlace], near: Sequence[RankedPlace], weight: float) -> list[RankedPlace]:
    """Fuses both rankings: first the best place of each file, files by the fusion of their ranks, then all other places.

    Files are fused rather than places: two rankings of places would fill a page with several places of a few files.
    """
    words, meanings = _first_places(ranked), _first_places(near)
    worth_of_words = {file_id: reciprocal(rank, WEIGHT_OF_WORDS) for rank, file_id in enumerate(words, 1)}
    worth_of_meaning = {file_id: reciprocal(rank, weight) for rank, file_id in enumerate(meanings, 1)}
    first: dict[int, RankedPlace] = {}
    for file_id in fused([(list(words), WEIGHT_OF_WORDS), (list(meanings), weight)]):
        if file_id not in words or file_id not in meanings:
            first[file_id] = words[file_id] if file_id in words else meanings[file_id]
        elif worth_of_words[file_id] >= worth_of_meaning[file_id]:
            first[file_id] = _both(words[file_id], meanings[file_id])
        else:
            first[file_id] = _both(meanings[file_id], words[file_id])
    others = [place for place in (*ranked, *near) if place.file.id not in first or not _is_same(place, first[place.file.id])]
    return _with_scores([*first.values(), *others], ranked)


def _first_places(places: Sequence[RankedPlace]) -> dict[int, RankedPlace]:
    """Returns the first place of each of the first JOINED files, in order."""
    first: dict[int, RankedPlace] = {}
    for place in places:
        if len(first) == JOINED:
            break
        first.setdefault(place.file.id, place)
    return first


def _both(place: RankedPlace, other: RankedPlace) -> RankedPlace:
    """Returns the place for a file that both rankings have, with the other one's definition in `also` if it differs."""
    if not _is_same(place, other):
        also = [row for row in (other.symbol, *place.also, *other.also) if row is not None and row != place.symbol]
        return msgspec.structs.replace(place, also=tuple(dict.fromkeys(also))[:MAX_ALSO])
    kept = place if place.symbol is not None or other.symbol is None else other
    best = place if place.signals.bm25 or not place.signals.meaning else other
    signals = msgspec.structs.replace(best.signals, meaning=max(place.signals.meaning, other.signals.meaning))
    return msgspec.structs.replace(kept, also=place.also or other.also, signals=signals, focus=place.focus or other.focus)


def _with_scores(places: Sequence[RankedPlace], ranked: Sequence[RankedPlace]) -> list[RankedPlace]:
    """Assigns the places, in their order, the descending scores of the ranking by words, then ever lower ones."""
    scores = sorted((place.score for place in ranked), reverse=True) or [1.0]
    while len(scores) < len(places):
        scores.append(scores[-1] * BELOW)
    return [msgspec.structs.replace(place, score=score) for place, score in zip(places, scores, strict=False)]


def _is_same(found: RankedPlace, near: RankedPlace) -> bool:
    """Whether two places of a file would show the same: the same definition, or a chunk and what lies mostly in it."""
    if found.file.id != near.file.id or found.type == "import":
        return False
    if found.symbol is not None and near.symbol is not None:
        return found.symbol.id == near.symbol.id
    if found.type == "file":
        return False
    first, last = max(found.line_start, near.line_start), min(found.line_end, near.line_end)
    shorter = min(found.line_end - found.line_start, near.line_end - near.line_start) + 1
    return 2 * (last - first + 1) >= shorter
