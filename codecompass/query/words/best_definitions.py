"""The definitions of a file that answer a question: which one is the place of a hit, and which others are named beside it.

BM25 finds chunks, which begin and end anywhere. In the files at the top of a ranking all definitions compete by their own text
(`definition_values.py`). The value of a file's best definition also counts for the rank of the file.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.query.search_hits import RankedPlace, as_symbol
from codecompass.query.words.definition_values import (
    CONTAINERS,
    MAX_SHOWN_LINES,
    ValuedFile,
    n_lines,
    prepared_question,
    valued_file,
)
from codecompass.query.words.retrieval import Candidates, Weights
from codecompass.store.rows import DefinitionSpan, SymbolRow
from codecompass.store.snapshot import ChunkHit, Snapshot

MAX_ALSO: Final = 3
"""Definitions named beside the place of a hit."""

LEAST_ALSO: Final = 0.1
"""The least value of a definition named beside another, as a share of the other's."""

MAX_CHUNKS: Final = 16
"""Chunks read of one file: those that cover most of the question."""

SECOND_PLACE: Final = 0.35
"""The score of the best file's second place, which shows its next definition, as a share of the first: a file that is that far
ahead shows more of itself before other files. With a larger share, or with second places for other files too, files that are
right leave the page (measured 2026-11-23)."""

BEHIND: Final = 0.9
"""Highest score of the further places, as a share of the lowest first place's."""


def with_best_definitions(
    snapshot: Snapshot,
    ranked: Sequence[RankedPlace],
    found: Candidates,
    weights: Weights,
    n_files: int,
    is_expired: Callable[[], bool],
) -> list[RankedPlace]:
    """Returns the places, the first `n_files` files reordered by their best definitions.

    Of the `weights`, `best` and `words` count. The first place of each of these files is its best definition, with others in
    `also`; the best file has a second place with the definitions after those. Further places follow after these of all files.
    Returns the places unchanged if the time is up.
    """
    by_file: dict[int, list[RankedPlace]] = {}
    for place in ranked:
        by_file.setdefault(place.file.id, []).append(place)
    chosen = list(by_file)[:n_files]
    chunks = _chunks_to_read(found, chosen)
    question = prepared_question(found)
    spans = snapshot.facts.spans_in_files(chosen, question.kinds)
    valued: dict[int, ValuedFile] = {}
    for file_id in chosen:
        if is_expired():
            return list(ranked)
        texts = [(hit.line_start, snapshot.text.chunk_text(hit)) for hit in chunks[file_id]]
        valued[file_id] = valued_file(by_file[file_id], texts, spans[file_id], question)
    most = max((each.value for each in valued.values()), default=0.0)
    if most <= 0.0:
        return list(ranked)
    shown: list[_Shown] = []
    second: list[_Shown] = []
    further: list[RankedPlace] = []
    for file_id in chosen:
        places, each = by_file[file_id], valued[file_id]
        score = places[0].score + weights.words * each.words * places[0].scale
        score *= (1.0 + weights.best * each.value / most) / (1.0 + weights.best)
        first, *next_ones = _shown_places(msgspec.structs.replace(places[0], score=score), each)
        shown.append(first)
        second += next_ones
        further += [place for place in places[1:] if not each.found or not _is_same(place, each.found[0].span)]
    shown += sorted(second, key=lambda each: -each.place.score)[:1]
    rows = snapshot.facts.symbols_by_id([span.id for each in shown for span in each.spans()])
    definitions = [each.with_rows(rows) for each in shown]
    definitions.sort(key=lambda place: -place.score)
    lowest = definitions[-1].score
    others = further + [place for file_id in list(by_file)[n_files:] for place in by_file[file_id]]
    others.sort(key=lambda place: -place.score)
    highest = others[0].score if others else 1.0
    scale = min(1.0, BEHIND * lowest / highest) if highest > 0.0 else 1.0
    return definitions + [msgspec.structs.replace(place, score=place.score * scale) for place in others]


def _chunks_to_read(found: Candidates, file_ids: Collection[int]) -> dict[int, list[ChunkHit]]:
    """Returns for each file the chunks that cover most of the query, in that order."""
    by_file: dict[int, list[ChunkHit]] = {file_id: [] for file_id in file_ids}
    for hit in found.chunks.values():
        if hit.file_id in by_file:
            by_file[hit.file_id].append(hit)
    for hits in by_file.values():
        hits.sort(key=lambda hit: (-found.coverage.get((hit.file_id, hit.line_start), 0.0), hit.line_start))
    return {file_id: hits[:MAX_CHUNKS] for file_id, hits in by_file.items()}


class _Shown(Struct, frozen=True):
    """The first place of a file, the definition shown in its place if any, and the definitions beside it."""

    place: RankedPlace
    instead: DefinitionSpan | None
    focus: int
    """The line of that definition with most of the question, 0 without one."""
    also: Sequence[DefinitionSpan]

    def spans(self) -> Iterator[DefinitionSpan]:
        """Yields the definitions whose rows are needed."""
        if self.instead is not None:
            yield self.instead
        yield from self.also

    def with_rows(self, rows: Mapping[int, SymbolRow]) -> RankedPlace:
        """Returns the place as an answer shows it."""
        place = msgspec.structs.replace(self.place, also=tuple(rows[span.id] for span in self.also))
        return place if self.instead is None else as_symbol(place, rows[self.instead.id], self.focus)


def _shown_places(place: RankedPlace, valued: ValuedFile) -> Iterator[_Shown]:
    """Yields the first place of a file (the function that the question names, else the best definition), then a second place with
    the definitions after those."""
    found = valued.found
    if valued.section is not None and (not found or valued.plain > found[0].value):
        first, last = valued.section
        place = msgspec.structs.replace(place, type="snippet", line_start=first, line_end=last, symbol=None, focus=0)
    if not found:
        yield _Shown(place, None, 0, ())
        return
    named = place.symbol if place.signals.exact or place.signals.qualified else None
    is_kept = found[0].is_weak or valued.plain > found[0].value or (named is not None and named.kind not in CONTAINERS)
    others = [each for each in found if place.symbol is None or each.span.id != place.symbol.id] if is_kept else found[1:]
    also = [each for each in others[:MAX_ALSO] if is_kept or each.rank >= LEAST_ALSO * found[0].rank]
    shown = None if is_kept else found[0].span
    yield _Shown(place, shown, 0 if shown is None else valued.focus_of(shown), tuple(each.span for each in also))
    rest = [each for each in others[len(also) :] if n_lines(each.span) <= MAX_SHOWN_LINES]
    if is_kept:
        rest = [each for each in rest if not place.line_start <= each.span.line_start <= each.span.line_end <= place.line_end]
    if rest:
        score = SECOND_PLACE * place.score
        shown, further = rest[0].span, tuple(each.span for each in rest[1 : 1 + MAX_ALSO])
        yield _Shown(msgspec.structs.replace(place, score=score), shown, valued.focus_of(shown), further)


def _is_same(place: RankedPlace, row: DefinitionSpan) -> bool:
    """Whether a place lies inside a definition."""
    return row.line_start <= place.line_start and place.line_end <= row.line_end
