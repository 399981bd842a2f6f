"""The definitions of a file that answer a question: which of them is the place of a hit, and which others are named beside it.

BM25 finds chunks, which begin and end anywhere. For the files at the top of a ranking every definition competes by its own
text: the words in its name and its scope, and those in its lines with the comment above, less the lines of definitions inside
a type. What a file's best definition is worth also counts for the file's place among the others.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.language import CLASS_LIKE
from codecompass.languages.records import SymbolKind
from codecompass.languages.words import split_identifier
from codecompass.query.query_words import WantedWords
from codecompass.query.search_hits import RankedPlace
from codecompass.store.index import Snapshot
from codecompass.store.rows import IndexedFile, SymbolRow

MAX_ALSO: Final = 3
"""Definitions that are named beside the place of a hit."""

LEAST_ALSO: Final = 0.25
"""What a definition that is named beside another must be worth, as a share of the other."""

MAX_FILE_CHARACTERS: Final = 200_000
"""Of a longer file the beginning is read."""

LINES_ABOVE: Final = 4
"""Lines above a definition that count as its own: the end of its comment, its attributes."""

MAX_SHOWN_LINES: Final = 120
"""Longer definitions are worse answers: a reader would have to search in them again."""

SATURATION: Final = 0.5
LENGTH_SHARE: Final = 0.2
USUAL_LINES: Final = 20
"""How BM25 counts repeated words (k1), lengths (b), and what it takes for the usual length of a definition."""

REPEATED: Final = 1.0
PRESENT: Final = 0.5
NAMED: Final = 0.5
IN_NAME: Final = 0.25
IN_SCOPE: Final = 0.3
FOUND_BEFORE: Final = 0.25
"""Weights of: words by their number, words that are there, a name of wanted words alone, wanted words in the name, in the name
of what it belongs to, and the share of a place in it that was ranked before."""

LONG: Final = 0.3
"""Factor for definitions of more than MAX_SHOWN_LINES."""

BY_DEFINITION: Final = 4.0
"""How much a file gains by a definition that is the best of all files, in units of its score."""

UNVALUED: Final = 0.3
"""What a file without definitions is worth, where the best definition of all has 1."""

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
_CONTAINERS: Final = CLASS_LIKE | {"module"}


class ValuedDefinition(Struct, frozen=True):
    """A definition, what it is worth for the question, and its line with most of the question."""

    row: SymbolRow
    value: float
    focus: int


class _FileHits(Struct, frozen=True):
    """Where a file has words of the query: lines in order, and for each the words by number with the sum of their matches."""

    lines: tuple[int, ...]
    words: tuple[Mapping[int, float], ...]


def with_best_definitions(
    snapshot: Snapshot, ranked: Sequence[RankedPlace], wanted: WantedWords, n_files: int, is_expired: Callable[[], bool]
) -> list[RankedPlace]:
    """Returns the places with the first `n_files` files in their order after their best definitions have been found.

    Each of these files has its best definition as its first place, and others `also`. Its further places come behind the first
    ones of all these files.
    """
    by_file: dict[int, list[RankedPlace]] = {}
    for place in ranked:
        by_file.setdefault(place.file.id, []).append(place)
    chosen = list(by_file)[:n_files]
    valued: dict[int, list[ValuedDefinition]] = {}
    for file_id in chosen:
        if is_expired():
            return list(ranked)
        valued[file_id] = best_definitions(snapshot, by_file[file_id], wanted)
    most = max((found[0].value for found in valued.values() if found), default=0.0)
    if most <= 0.0:
        return list(ranked)
    first: list[RankedPlace] = []
    further: list[RankedPlace] = []
    for file_id in chosen:
        places, found = by_file[file_id], valued[file_id]
        share = found[0].value / most if found else UNVALUED
        score = places[0].score * (1.0 + BY_DEFINITION * share) / (1.0 + BY_DEFINITION)
        first.append(_first_place(places[0], found, score))
        further += [place for place in places if not found or not _is_same(place, found[0].row)][(0 if found else 1) :]
    first.sort(key=lambda place: -place.score)
    lowest = first[-1].score
    others = further + [place for file_id in list(by_file)[n_files:] for place in by_file[file_id]]
    others.sort(key=lambda place: -place.score)
    highest = others[0].score if others else 1.0
    scale = min(1.0, BEHIND * lowest / highest) if highest > 0.0 else 1.0
    return first + [msgspec.structs.replace(place, score=place.score * scale) for place in others]


def best_definitions(snapshot: Snapshot, places: Sequence[RankedPlace], wanted: WantedWords) -> list[ValuedDefinition]:
    """Returns the definitions of a file that have words of the query, best first. `places` are those of the file, ranked."""
    file = places[0].file
    rows = [row for row in snapshot.facts.symbols_in_file(file.id) if row.kind in _KIND_FACTOR]
    if not rows:
        return []
    hits = _hits(snapshot, file, wanted)
    inside: dict[int, list[SymbolRow]] = {}
    for row in rows:
        if row.parent_id is not None and row.kind not in ("const", "var"):
            inside.setdefault(row.parent_id, []).append(row)
    found = [_valued(row, hits, inside.get(row.id, ()), places, wanted) for row in rows]
    return sorted((each for each in found if each.value > 0.0), key=lambda each: (-each.value, each.row.line_start, each.row.id))


def _hits(snapshot: Snapshot, file: IndexedFile, wanted: WantedWords) -> _FileHits:
    by_line: dict[int, dict[int, float]] = {}
    n_characters = 0
    for chunk in snapshot.text.file_chunks(file.id, 1, max(1, file.line_count)):
        n_characters += len(chunk.text)
        if n_characters > MAX_FILE_CHARACTERS:
            break
        starts = [0, *accumulate(len(line) + 1 for line in chunk.text.split("\n"))]
        for at, matches in wanted.places_in(chunk.text):
            words = by_line.setdefault(chunk.line_start + bisect_right(starts, at) - 1, {})
            for number, match in matches:
                words[number] = words.get(number, 0.0) + match
    lines = tuple(sorted(by_line))
    return _FileHits(lines, tuple(by_line[line] for line in lines))


def _valued(
    row: SymbolRow, hits: _FileHits, inside: Sequence[SymbolRow], places: Sequence[RankedPlace], wanted: WantedWords
) -> ValuedDefinition:
    holes = [(each.line_start, each.line_end) for each in inside] if row.kind in _CONTAINERS else []
    n_lines = row.line_end - row.line_start + 1
    own_lines = max(1, n_lines - sum(last - first + 1 for first, last in holes))
    worth = wanted.worth
    counts: dict[int, float] = {}
    focus, most = 0, 0.0
    for index in range(bisect_left(hits.lines, row.line_start - LINES_ABOVE), bisect_right(hits.lines, row.line_end)):
        line = hits.lines[index]
        if holes and any(first <= line <= last for first, last in holes):
            continue
        here = 0.0
        for number, match in hits.words[index].items():
            counts[number] = counts.get(number, 0.0) + match
            here += worth[number] * min(1.0, match)
        if here > most and line >= row.line_start:
            focus, most = line, here
    in_name = wanted.numbers_of(row.name)
    in_scope = wanted.numbers_of(row.qualified_name.removesuffix(row.name))
    usual = SATURATION * (1.0 - LENGTH_SHARE + LENGTH_SHARE * own_lines / USUAL_LINES)
    recall = sum(worth[number] * match for number, match in in_name.items())
    total = (
        REPEATED * sum(worth[number] * count / (count + usual) for number, count in counts.items())
        + PRESENT * sum(worth[number] * min(1.0, count) for number, count in counts.items())
        + (NAMED * min(1.0, len(in_name) / max(1, len(split_identifier(row.name)))) + IN_NAME) * recall
        + IN_SCOPE * sum(worth[number] * match for number, match in in_scope.items() if number not in in_name)
    ) / (sum(worth) or 1.0)
    value = (total + FOUND_BEFORE * _found_before(row, places)) * _KIND_FACTOR[row.kind]
    if total <= 0.0:
        value = 0.0
    return ValuedDefinition(row, value if n_lines <= MAX_SHOWN_LINES else value * LONG, focus or row.line_start)


def _found_before(row: SymbolRow, places: Sequence[RankedPlace]) -> float:
    """How much of the places that were ranked before a definition has, by their score: 0..1."""
    most = 0.0
    for place in places:
        shared = min(row.line_end, place.line_end) - max(row.line_start, place.line_start) + 1
        if shared > 0:
            most = max(most, shared / (place.line_end - place.line_start + 1) * place.score / places[0].score)
    return most


def _first_place(place: RankedPlace, found: Sequence[ValuedDefinition], score: float) -> RankedPlace:
    """Returns the first place of a file: a function that the question names, else the best definition."""
    if not found:
        return msgspec.structs.replace(place, score=score)
    named = place.symbol if place.signals.exact or place.signals.qualified else None
    if named is not None and named.kind not in _CONTAINERS:
        others = [each for each in found if each.row.id != named.id]
        also = tuple(each.row for each in others[:MAX_ALSO])
        return msgspec.structs.replace(place, score=score, also=also)
    best = found[0]
    also = tuple(each.row for each in found[1 : 1 + MAX_ALSO] if each.value >= LEAST_ALSO * best.value)
    return msgspec.structs.replace(
        place,
        type="symbol",
        line_start=best.row.line_start,
        line_end=best.row.line_end,
        symbol=best.row,
        focus=best.focus,
        score=score,
        also=also,
    )


def _is_same(place: RankedPlace, row: SymbolRow) -> bool:
    """Whether a place shows nothing that a definition does not show."""
    return row.line_start <= place.line_start and place.line_end <= row.line_end
