"""The definitions of a file that answer a question: which of them is the place of a hit, and which others are named beside it.

BM25 finds chunks, which begin and end anywhere. For the files at the top of a ranking every definition competes by its own
text: the words in its name and its scope, and those in its lines with the comment above, less the lines of definitions inside
a type. What a file's best definition is worth also counts for the file's place among the others.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.language import CLASS_LIKE
from codecompass.languages.records import SymbolKind
from codecompass.languages.words import split_identifier
from codecompass.query.enclosing_definitions import as_symbol
from codecompass.query.query_words import WantedWords
from codecompass.query.retrieval import Candidates
from codecompass.query.search_hits import RankedPlace
from codecompass.store.index import Snapshot
from codecompass.store.rows import DefinitionSpan, IndexedFile

MAX_ALSO: Final = 3
"""Definitions that are named beside the place of a hit."""

LEAST_ALSO: Final = 0.25
"""What a definition that is named beside another must be worth, as a share of the other."""

MAX_CHUNKS: Final = 16
"""Chunks of a file that are read, those with most of the question."""

LINES_ABOVE: Final = 2
"""Lines above a definition that count as its own, the end of its comment, where they belong to no other definition."""

MAX_SHOWN_LINES: Final = 120
"""Longer definitions are worse answers: a reader would have to search in them again."""

SATURATION: Final = 0.8
LENGTH_SHARE: Final = 0.3
USUAL_LINES: Final = 20
"""How BM25 counts repeated words (k1), lengths (b), and what it takes for the usual length of a definition."""

REPEATED: Final = 1.0
PRESENT: Final = 0.5
NAMED: Final = 0.5
IN_SCOPE: Final = 0.3
FOUND_BEFORE: Final = 0.25
"""Weights of: words by their number, words that are there, a name of wanted words, wanted words in the name of what it belongs
to, and the share of a place in it that was ranked before."""

LONG: Final = 0.3
"""Factor for definitions of more than MAX_SHOWN_LINES."""

TEXT_FACTOR: Final = 0.7
"""Factor for the best place of a file, read as text, where it is compared with definitions."""

FEW_WORDS: Final = 3
"""From so many words in a question on, a definition that has only one of them is not the place of a hit."""

BEHIND: Final = 0.9
"""What the best of the further places has of the score of the last first one."""

_KIND_FACTOR: Final[Mapping[SymbolKind, float]] = {
    "fn": 1.0,
    "method": 1.0,
    "macro": 1.0,
    "test": 0.8,
    "class": 0.8,
    "struct": 0.8,
    "enum": 0.8,
    "trait": 0.8,
    "interface": 0.8,
    "type": 0.7,
    "const": 0.6,
    "var": 0.6,
    "module": 0.4,
    "impl": 0.3,
}
"""Factors for what a question in words is answered with; `ranking.KIND_WEIGHT` is about names. Other kinds do not compete."""

_CONTAINERS: Final = CLASS_LIKE | {"module"}
_VALUES: Final = frozenset({"const", "var"})


class ValuedDefinition(Struct, frozen=True):
    """A definition, what it is worth for the question, and its line with most of the question.

    One that `is_weak` has too little of the question to be the place of a hit.
    """

    span: DefinitionSpan
    value: float
    focus: int
    is_weak: bool = False


class _FileHits(Struct, frozen=True):
    """Where a file has words of the query: lines in order, and for each the words by number with the sum of their matches."""

    lines: tuple[int, ...]
    words: tuple[Mapping[int, float], ...]

    def within(self, first: int, last: int) -> range:
        """The indexes of the lines from `first` to `last`."""
        return range(bisect_left(self.lines, first), bisect_right(self.lines, last))


def with_best_definitions(
    snapshot: Snapshot,
    ranked: Sequence[RankedPlace],
    found: Candidates,
    weight: float,
    n_files: int,
    is_expired: Callable[[], bool],
) -> list[RankedPlace]:
    """Returns the places with the first `n_files` files in their order after their best definitions have been found.

    `weight` is what a file gains by the best definition of all. Each of these files has its best definition as its first place,
    and others `also`. Its further places come behind the first ones of all these files.
    """
    by_file: dict[int, list[RankedPlace]] = {}
    for place in ranked:
        by_file.setdefault(place.file.id, []).append(place)
    chosen = list(by_file)[:n_files]
    chunks = _chunks_to_read(found, chosen)
    valued: dict[int, list[ValuedDefinition]] = {}
    plain: dict[int, float] = {}
    for file_id in chosen:
        if is_expired():
            return list(ranked)
        valued[file_id], plain[file_id] = best_definitions(snapshot, by_file[file_id], chunks.get(file_id, ()), found.wanted)
    most = max([best[0].value for best in valued.values() if best] + list(plain.values()), default=0.0)
    if most <= 0.0:
        return list(ranked)
    first: list[RankedPlace] = []
    further: list[RankedPlace] = []
    for file_id in chosen:
        places, best = by_file[file_id], valued[file_id]
        share = (best[0].value if best else plain[file_id]) / most
        score = places[0].score * (1.0 + weight * share) / (1.0 + weight)
        first.append(_first_place(snapshot, places[0], best, plain[file_id], score))
        further += [place for place in places[1:] if not best or not _is_same(place, best[0].span)]
    first.sort(key=lambda place: -place.score)
    lowest = first[-1].score
    others = further + [place for file_id in list(by_file)[n_files:] for place in by_file[file_id]]
    others.sort(key=lambda place: -place.score)
    highest = others[0].score if others else 1.0
    scale = min(1.0, BEHIND * lowest / highest) if highest > 0.0 else 1.0
    return first + [msgspec.structs.replace(place, score=place.score * scale) for place in others]


def _chunks_to_read(found: Candidates, file_ids: Collection[int]) -> dict[int, list[int]]:
    """Returns the first lines of the chunks of files that have most of the query."""
    shares: dict[int, dict[int, float]] = {file_id: {} for file_id in file_ids}
    for candidate in found.files:
        if candidate.file.id in shares:
            shares[candidate.file.id] = {chunk.line_start: 0.0 for chunk in candidate.chunks}
    for (file_id, line_start), share in found.coverage.items():
        if file_id in shares:
            shares[file_id][line_start] = share
    return {file_id: sorted(by_line, key=lambda line: -by_line[line])[:MAX_CHUNKS] for file_id, by_line in shares.items()}


def best_definitions(
    snapshot: Snapshot, places: Sequence[RankedPlace], chunks: Collection[int], wanted: WantedWords
) -> tuple[list[ValuedDefinition], float]:
    """Returns the definitions of a file that have words of the query, best first, and what its best place is worth as text.

    `places` are those of the file, ranked; `chunks` the first lines of those that are read.
    """
    file = places[0].file
    hits = _hits(snapshot, file, chunks, wanted)
    plain = TEXT_FACTOR * _text_value(hits.within(places[0].line_start, places[0].line_end), hits, wanted)
    spans = [span for span in snapshot.facts.spans_in_file(file.id) if span.kind in _KIND_FACTOR]
    inside: dict[int, list[DefinitionSpan]] = {}
    for span in spans:
        if span.parent_id is not None and span.kind not in _VALUES:
            inside.setdefault(span.parent_id, []).append(span)
    found = [
        _valued(span, hits.within(first, span.line_end), hits, inside.get(span.id, ()), places, wanted)
        for span, first in zip(spans, _first_lines(spans), strict=True)
    ]
    found = [each for each in found if each.value > 0.0]
    return sorted(found, key=lambda each: (-each.value, each.span.line_start, each.span.id)), plain


def _first_lines(spans: Sequence[DefinitionSpan]) -> Iterator[int]:
    """Yields the first lines of definitions with their comments. What is above one may be the end or the head of another."""
    ends: list[int] = []
    previous = 0
    for span in spans:
        while ends and ends[-1] < span.line_start:
            previous = ends.pop()
        n_above = 0 if span.kind in _VALUES else LINES_ABOVE
        yield min(span.line_start, max(span.line_start - n_above, previous + 1))
        ends.append(span.line_end)
        previous = span.line_start


def _hits(snapshot: Snapshot, file: IndexedFile, chunks: Collection[int], wanted: WantedWords) -> _FileHits:
    by_line: dict[int, dict[int, float]] = {}
    for chunk in snapshot.text.chunks_at(file.id, chunks):
        starts = [0, *accumulate(len(line) + 1 for line in chunk.text.split("\n"))]
        for at, matches in wanted.places_in(chunk.text):
            words = by_line.setdefault(chunk.line_start + bisect_right(starts, at) - 1, {})
            for number, match in matches:
                words[number] = words.get(number, 0.0) + match
    lines = tuple(sorted(by_line))
    return _FileHits(lines, tuple(by_line[line] for line in lines))


def _valued(
    row: DefinitionSpan,
    own: range,
    hits: _FileHits,
    inside: Sequence[DefinitionSpan],
    places: Sequence[RankedPlace],
    wanted: WantedWords,
) -> ValuedDefinition:
    """Returns what a definition is worth, whose lines are those of the hits with the indexes `own`."""
    nothing = ValuedDefinition(row, 0.0, row.line_start)
    if not own:
        return nothing
    n_lines = own_lines = row.line_end - row.line_start + 1
    elsewhere: set[int] = set()
    if row.kind in _CONTAINERS:
        for each in inside:
            own_lines -= each.line_end - each.line_start + 1
            elsewhere.update(hits.within(each.line_start, each.line_end))
    worth = wanted.worth
    counts: dict[int, float] = {}
    focus, most = row.line_start, 0.0
    for index in own:
        if index in elsewhere:
            continue
        here = 0.0
        for number, match in hits.words[index].items():
            counts[number] = counts.get(number, 0.0) + match
            here += worth[number] * min(1.0, match)
        if here > most and hits.lines[index] >= row.line_start:
            focus, most = hits.lines[index], here
    in_name = wanted.numbers_of(row.name)
    if not counts:
        return nothing
    is_weak = len(worth) >= FEW_WORDS and len({*counts, *in_name}) == 1
    total = _counted(counts, max(1, own_lines), worth)
    if in_name:
        share = min(1.0, len(in_name) / max(1, len(split_identifier(row.name))))
        total += NAMED * share * sum(worth[number] * match for number, match in in_name.items())
    for number, match in wanted.numbers_of(row.qualified_name.removesuffix(row.name)).items():
        if number not in in_name:
            total += IN_SCOPE * worth[number] * match
    value = (total / sum(worth) + FOUND_BEFORE * _found_before(row, places)) * _KIND_FACTOR[row.kind]
    return ValuedDefinition(row, value if n_lines <= MAX_SHOWN_LINES else value * LONG, focus, is_weak)


def _text_value(own: range, hits: _FileHits, wanted: WantedWords) -> float:
    counts: dict[int, float] = {}
    for index in own:
        for number, match in hits.words[index].items():
            counts[number] = counts.get(number, 0.0) + match
    return _counted(counts, len(own), wanted.worth) / (sum(wanted.worth) or 1.0)


def _counted(counts: Mapping[int, float], n_lines: int, worth: Sequence[float]) -> float:
    """Returns the worth of the words in so many lines, as BM25 saturates it."""
    usual = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * n_lines / USUAL_LINES)
    return sum(
        worth[number] * (REPEATED * count / (count + usual) + PRESENT * min(1.0, count)) for number, count in counts.items()
    )


def _found_before(row: DefinitionSpan, places: Sequence[RankedPlace]) -> float:
    """How much of the places that were ranked before a definition has, by their score: 0..1."""
    most = 0.0
    for place in places:
        shared = min(row.line_end, place.line_end) - max(row.line_start, place.line_start) + 1
        if shared > 0:
            most = max(most, shared / (place.line_end - place.line_start + 1) * place.score / places[0].score)
    return most


def _first_place(
    snapshot: Snapshot, place: RankedPlace, found: Sequence[ValuedDefinition], plain: float, score: float
) -> RankedPlace:
    """Returns the first place of a file: a function that the question names, else the best definition."""
    place = msgspec.structs.replace(place, score=score)
    if not found:
        return place
    named = place.symbol if place.signals.exact or place.signals.qualified else None
    is_kept = found[0].is_weak or plain > found[0].value or (named is not None and named.kind not in _CONTAINERS)
    others = [each for each in found if place.symbol is None or each.span.id != place.symbol.id] if is_kept else found[1:]
    also = [each.span.id for each in others[:MAX_ALSO] if is_kept or each.value >= LEAST_ALSO * found[0].value]
    rows = snapshot.facts.symbols_by_id([found[0].span.id, *also])
    place = msgspec.structs.replace(place, also=tuple(rows[row_id] for row_id in also))
    return place if is_kept else as_symbol(place, rows[found[0].span.id], found[0].focus)


def _is_same(place: RankedPlace, row: DefinitionSpan) -> bool:
    """Whether a place shows nothing that a definition does not show."""
    return row.line_start <= place.line_start and place.line_end <= row.line_end
