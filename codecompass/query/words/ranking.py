"""Scores candidates: file by file from features of 0..1, then the places inside each file.

A file's score is the weighted sum of: its best chunk's BM25 over the best of all, the mass of its chunks, how much of the
query its path and its stem have, its best definition by name, an exact name. Files that are not product code are scaled down.
The best place of a file has the file's score, each further one a fraction, so that a page shows several files.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.records import SymbolKind
from codecompass.languages.words import split_identifier
from codecompass.query.filters import has_kind
from codecompass.query.search_hits import KIND_WEIGHT, PlaceType, RankedPlace, Signals
from codecompass.query.words.query_words import STOP_WORDS, Coverage, WantedWords, could_name, name_parts
from codecompass.query.words.retrieval import Candidates, ChunkKey, FileCandidate, NamedSymbol, Weights
from codecompass.scan.path_roles import PRODUCT_CODE, PathRole, role_of_file, words_of
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import ChunkHit

SPREAD_DECAY: Final = 0.85
"""Factor by which each further chunk of a file counts less in its mass."""

DIRECTORY_WEIGHT: Final = 0.5
ABOVE_WEIGHT: Final = 0.25
"""Weights of a word of the directory, and of directories above it; a word of the file's stem has 1."""

SECOND_PLACE: Final = 0.4
FURTHER_PLACES: Final = 0.4
"""Factors from a file's best place to its second, and from each further one to the next."""

MAX_PLACES_PER_FILE: Final = 6
MAX_SCORED: Final = 150
"""Files that are scored. More would change no page, and each costs 20 microseconds."""

EXACT_NAME: Final = 10.0
"""The value of an exact name of the query beside BM25 scores of 0..1: a file that defines one is always scored."""

LEADING_DEFINITION: Final = 0.3
"""The score of a definition above which it, and not the best chunk, is a file's first place."""

NO_PHRASES: Final[Mapping[ChunkKey, float]] = {}

MAX_IMPORTERS: Final = 50
"""Imports of a file that are counted; more make no difference."""

TEST_SCALE: Final = 0.3
EXAMPLE_SCALE: Final = 0.5
PROSE_SCALE: Final = 0.3
DATA_SCALE: Final = 0.6
DECLARATIONS_SCALE: Final = 0.5
HEADER_SCALE: Final = 0.8
GENERATED_SCALE: Final = 0.5
VENDORED_SCALE: Final = 0.4

_TEST_WORDS: Final = ("test", "tests", "testing", "spec", "specs", "mock", "mocks", "fixture", "fixtures", "benchmark", "bench")
_EXAMPLE_WORDS: Final = ("example", "examples", "sample", "demo", "docs", "doc", "documentation", "tutorial", "website")
_PROSE_WORDS: Final = ("readme", "changelog", "docs", "documentation", "license", "markdown", "md", "html", "guide")
_DATA_WORDS: Final = ("json", "yaml", "yml", "toml", "xml", "config", "settings", "schema")
_GENERATED_WORDS: Final = ("generated", "protobuf", "pb", "lock")
_DECLARATION_WORDS: Final = ("declaration", "declarations", "declared", "header", "headers", "type", "types", "typings")
_VENDORED_WORDS: Final = ("vendor", "vendored", "dependency", "dependencies")


class _Definition(Struct, frozen=True, gc=False):
    named: NamedSymbol
    value: float
    exact: float
    qualified: float


class _UnscoredPlace(Struct, frozen=True, gc=False):
    type: PlaceType
    line_start: int
    line_end: int
    symbol: SymbolRow | None
    signals: Signals


class _ValuedChunk(Struct, frozen=True, gc=False):
    chunk: ChunkHit
    value: float
    is_quoted: bool


class _FileText(Struct, frozen=True, gc=False):
    """The values of a file's chunks: each, the best, and all together."""

    chunks: tuple[_ValuedChunk, ...]
    best: float
    mass: float


class _FileScore(Struct, frozen=True, gc=False):
    score: float
    scale: float
    path: float
    definitions: tuple[_Definition, ...]
    chunks: tuple[_ValuedChunk, ...]
    path_bm25: float


class _Paths:
    """Compares the paths of one search with its query. Each directory is compared once for all its files."""

    def __init__(self, wanted: WantedWords) -> None:
        self._wanted = wanted
        self._directories: dict[str, Mapping[int, float]] = {}

    def coverage(self, path: str) -> Coverage:
        """Returns how much of the query a path has, and how much of its stem is in the query."""
        words = words_of(path)
        around = self._directories.get(words.directory_path)
        if around is None:
            above = self._wanted.matches(words.above, ABOVE_WEIGHT)
            around = self._directories[words.directory_path] = above | self._wanted.matches(words.directory, DIRECTORY_WEIGHT)
        return self._wanted.coverage([(word, 1.0) for word in words.stem], around)


def rank(
    found: Candidates,
    weights: Weights,
    kinds: frozenset[SymbolKind] | None = None,
    phrases: Mapping[ChunkKey, float] = NO_PHRASES,
) -> list[RankedPlace]:
    """Returns the places of the candidates, best first; ties by path and line.

    With `kinds` only definitions of these kinds; `phrases` says how much of a message some chunks contain literally. If there
    are more than MAX_SCORED candidates, only the most promising are scored.
    """
    best_bm25 = max((file.chunks[0].score for file in found.files if file.chunks), default=0.0) or 1.0
    texts = [_file_text(file, best_bm25, found, weights, phrases) for file in found.files]
    best = _FileText((), max((text.best for text in texts), default=0.0), max((text.mass for text in texts), default=0.0))
    paths, scales = _Paths(found.wanted), _Scales(found, weights)
    places: list[RankedPlace] = []
    for candidate, text in (
        _promising(found.files, texts, best, weights) if kinds is None else zip(found.files, texts, strict=True)
    ):
        scored = _score(candidate, text, best, found, weights, paths, scales)
        if scored.score > 0.0:
            places += _places(candidate.file, scored, weights, kinds)
    return _in_order(places)


def _promising(
    files: Sequence[FileCandidate], texts: Sequence[_FileText], best: _FileText, weights: Weights
) -> list[tuple[FileCandidate, _FileText]]:
    """Returns the files with the best prospects before their paths and names are compared, in their order."""
    both = list(zip(files, texts, strict=True))
    if len(both) <= MAX_SCORED:
        return both
    best_path = max(file.path_bm25 for file in files) or 1.0
    best_name = max((symbol.bm25 for file in files for symbol in file.symbols), default=0.0) or 1.0
    prospects = []
    for number, (file, text) in enumerate(both):
        prospect = weights.path * file.path_bm25 / best_path
        if text.best > 0.0:
            prospect += weights.text * text.best / best.best + weights.spread * text.mass / best.mass
        if file.symbols:
            # A symbol without a score was found by its exact name.
            names = [symbol.bm25 / best_name if symbol.bm25 else EXACT_NAME for symbol in file.symbols]
            prospect += weights.definition * max(names)
        prospects.append((-prospect, number))
    return [both[number] for number in sorted(number for _, number in sorted(prospects)[:MAX_SCORED])]


def with_importers(places: list[RankedPlace], counts: Mapping[str, int], weight: float) -> list[RankedPlace]:
    """Returns the places sorted, those in files that others import scaled up by a factor of up to 1 + `weight`."""
    scaled = []
    for place in places:
        count = min(counts.get(place.file.path, 0), MAX_IMPORTERS)
        factor = 1.0 + weight * math.log1p(count) / math.log1p(MAX_IMPORTERS)
        changed = msgspec.structs.replace(place, score=place.score * factor, scale=place.scale * factor) if count else place
        scaled.append(changed)
    return _in_order(scaled)


def _in_order(places: list[RankedPlace]) -> list[RankedPlace]:
    return sorted(places, key=lambda place: (-place.score, place.file.path, place.line_start, place.line_end))


def role_scale(path: str, role: PathRole, found: Candidates) -> float:
    """Returns the factor for files that are not product code, or have a role that the query asks for.

    It is milder, but not 1, if the query has a word for that kind of file: the source of a test runner is about tests too.
    """
    asked = found.asked.file_factor(path, role) if found.asked.roles else None
    if asked is not None:
        return asked
    wanted = found.wanted
    if role == PRODUCT_CODE:
        return 1.0
    scale = 1.0
    for applies, factor, words in (
        (role.is_test, TEST_SCALE, _TEST_WORDS),
        (role.is_example, EXAMPLE_SCALE, _EXAMPLE_WORDS),
        (role.is_prose, PROSE_SCALE, _PROSE_WORDS),
        (role.is_data, DATA_SCALE, _DATA_WORDS),
        (role.is_generated, GENERATED_SCALE, _GENERATED_WORDS),
        (role.is_vendored, VENDORED_SCALE, _VENDORED_WORDS),
        (role.has_declarations, DECLARATIONS_SCALE, _DECLARATION_WORDS),
        (role.is_header, HEADER_SCALE, _DECLARATION_WORDS),
    ):
        if applies:
            scale *= math.sqrt(factor) if wanted.has_any(words) else factor
    return scale


class _Scales:
    """The factors of files for one search. Those for a role are computed once, if the query asks for none."""

    def __init__(self, found: Candidates, weights: Weights) -> None:
        self._found = found
        self._exponent = weights.role
        self._known: dict[PathRole, float] = {}

    def of(self, file: IndexedFile) -> float:
        """Returns the factor for a file."""
        path, role = file.path, role_of_file(file.path, file.role_rank)
        known = self._known.get(role)
        if known is None:
            known = role_scale(path, role, self._found) ** self._exponent
            if not self._found.asked.roles:
                self._known[role] = known
        return known


def _file_text(
    candidate: FileCandidate, best_bm25: float, found: Candidates, weights: Weights, phrases: Mapping[ChunkKey, float]
) -> _FileText:
    """Values the chunks of a file, best first."""
    valued = []
    coverage, weight = found.coverage, weights.coverage
    for chunk in candidate.chunks:
        place = (chunk.file_id, chunk.line_start)
        value = chunk.score / best_bm25 + weight * coverage.get(place, 0.0)
        phrase = phrases.get(place, 0.0) if phrases else 0.0
        valued.append(_ValuedChunk(chunk, value + weights.phrase * phrase, phrase > 0.0))
    if len(valued) < 2:  # as most files
        value = valued[0].value if valued else 0.0
        return _FileText(tuple(valued), value, value)
    valued.sort(key=lambda item: (-item.value, item.chunk.line_start))
    mass = sum([item.value * SPREAD_DECAY**index for index, item in enumerate(valued)])
    return _FileText(tuple(valued), valued[0].value, mass)


def _score(
    candidate: FileCandidate,
    text: _FileText,
    best: _FileText,
    found: Candidates,
    weights: Weights,
    paths: _Paths,
    scales: "_Scales",
) -> _FileScore:
    path = paths.coverage(candidate.file.path)
    definitions = _definitions(candidate.symbols, found, weights)
    score = weights.path * path.recall + weights.stem * path.precision * path.precision
    if text.best > 0.0:
        score += weights.text * text.best / best.best + weights.spread * text.mass / best.mass
    if definitions:
        score += _definition_score(definitions[0], weights)
    scale = scales.of(candidate.file)
    return _FileScore(score * scale, scale, path.recall, definitions, text.chunks, candidate.path_bm25)


def _definition_score(definition: _Definition, weights: Weights) -> float:
    kind: float = KIND_WEIGHT[definition.named.row.kind] ** weights.kind
    return (
        weights.definition * definition.value
        + weights.exact * definition.exact * kind
        + weights.qualified * definition.qualified * kind
    )


def _definitions(symbols: Sequence[NamedSymbol], found: Candidates, weights: Weights) -> tuple[_Definition, ...]:
    """Returns the definitions of a file, the best by name first."""
    scored = []
    for named in symbols:
        own = split_identifier(named.row.name)
        words = [(word, 1.0) for word in own if word not in STOP_WORDS] or [(word, 1.0) for word in own]
        coverage = found.wanted.coverage(words)
        value = coverage.precision * coverage.recall * KIND_WEIGHT[named.row.kind] ** weights.kind
        exact, qualified = _name_match(named.row, found)
        scored.append(_Definition(named, value, exact, qualified))
    scored.sort(key=lambda item: (-item.qualified, -item.exact, -item.value, item.named.row.line_start, item.named.row.id))
    return tuple(scored)


def _name_match(row: SymbolRow, found: Candidates) -> tuple[float, float]:
    """Returns whether the query names a symbol (by its name, by its qualified name): 0 or the weight of the name each."""
    names = found.names
    exact = qualified = 0.0
    parts: tuple[str, ...] | None = None
    for name in names:
        if name[-1] != row.name:
            continue
        weight = found.name_weights.get(name, 1.0)
        if could_name(name, len(names)):
            exact = max(exact, weight)
        if len(name) > 1:
            parts = name_parts(row.qualified_name) if parts is None else parts
            if parts[-len(name) :] == name:
                qualified = max(qualified, weight)
    return exact, qualified


def _places(file: IndexedFile, scored: _FileScore, weights: Weights, kinds: frozenset[SymbolKind] | None) -> list[RankedPlace]:
    """Returns the places of a file, best first: a chunk with the requested message, the leading definitions, other chunks."""
    definitions = [item for item in scored.definitions if has_kind(item.named.row, kinds)]
    leading = [item for item in definitions if item.exact or item.qualified]
    if not leading and definitions and weights.definition * definitions[0].value > LEADING_DEFINITION:
        leading = definitions[:1]
    elif not leading and kinds is not None:
        leading = definitions
    chunks = scored.chunks[:MAX_PLACES_PER_FILE]
    unscored = [_chunk_place(item.chunk, scored) for item in chunks[:1] if item.is_quoted]
    unscored += [_definition_place(item, scored) for item in leading[:MAX_PLACES_PER_FILE]]
    for item in chunks:
        first, last = item.chunk.line_start, item.chunk.line_end
        if all(last < part.line_start or first > part.line_end for part in unscored):
            unscored.append(_chunk_place(item.chunk, scored))
    if not unscored and kinds is None:
        signals = Signals(path=round(scored.path, 4), bm25=round(scored.path_bm25, 4))
        unscored.append(_UnscoredPlace("file", 1, max(1, file.line_count), None, signals))
    scale = 1.0
    places = []
    for index, part in enumerate(unscored[:MAX_PLACES_PER_FILE]):
        scale *= 1.0 if index == 0 else (SECOND_PLACE if index == 1 else FURTHER_PLACES) ** weights.diversity
        places.append(
            RankedPlace(
                file=file,
                type=part.type,
                line_start=part.line_start,
                line_end=part.line_end,
                score=scored.score * scale,
                scale=scored.scale,
                signals=part.signals,
                symbol=part.symbol,
            )
        )
    return places


def _chunk_place(chunk: ChunkHit, scored: _FileScore) -> _UnscoredPlace:
    signals = Signals(path=round(scored.path, 4), bm25=round(chunk.score, 4))
    return _UnscoredPlace("snippet", chunk.line_start, chunk.line_end, None, signals)


def _definition_place(item: _Definition, scored: _FileScore) -> _UnscoredPlace:
    row = item.named.row
    around = [
        valued.chunk.score
        for valued in scored.chunks
        if valued.chunk.line_start <= row.line_end and valued.chunk.line_end >= row.line_start
    ]
    signals = Signals(
        exact=item.exact,
        qualified=item.qualified,
        path=round(scored.path, 4),
        definition=round(max(item.value, item.exact), 4),
        kind=KIND_WEIGHT[row.kind],
        bm25=round(max(item.named.bm25, *around), 4) if around else round(item.named.bm25, 4),
    )
    return _UnscoredPlace("symbol", row.line_start, row.line_end, row, signals)
