"""Finds exactly the lines that match, in a fixed order, and makes hits of a page of them: literal and regular expression search,
and texts that stand in the index as they were asked (`verbatim.py`).

Chunks are scanned in the order of the answer, so that a scan can stop when the page is full and the lines are counted. A page is
a slice of that order: with the next offset it goes on exactly where it ended.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.protocol.replies import MatchedLine
from codecompass.protocol.requests import SearchCode
from codecompass.query.excerpts import shortened
from codecompass.query.options import QueryOptions
from codecompass.query.search_hits import Hit, HitPage, Hits, RankedPlace, Signals, as_symbol, enclosing_symbol, narrowest
from codecompass.query.words.intent import classify
from codecompass.query.words.line_matchers import (
    LineMatch,
    Matcher,
    any_case_matcher,
    literal_matcher,
    regex_matcher,
    require_regex,
)
from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import ChunkCandidates, Passage, Snapshot
from codecompass.store.text_queries import Filter, Narrowing

DEFINITION_LIMIT: Final = 1000

NEAR_LINES: Final = 40
"""Matching lines outside of definitions that are further apart are two hits."""

_CALL: Final = lazy.pattern(r"\\?\((?:\\?\))?$")
"""A parenthesis after a name, in a literal or a regular expression."""


class FoundLine(Struct, frozen=True, gc=False):
    """A matching line: its file, its number from 1, and its text as it is shown."""

    file_id: int
    line: int
    text: str


class Scanned(Struct, frozen=True):
    """How many lines a scan has found; with `is_counted` False there may be more."""

    total: int
    is_counted: bool = True
    warning: str = ""
    is_partial: bool = False


class FirstLines(Protocol):
    """Collects the first lines of a scan. `is_full` once it needs no more."""

    is_full: bool

    def add(self, lines: Sequence[FoundLine]) -> None:
        """Adds the next lines, which are of one chunk."""


class Lines:
    """The first lines of a scan: up to `most`, and all of the chunk in which that is reached."""

    def __init__(self, most: int) -> None:
        self.lines: list[FoundLine] = []
        self.is_full = False
        self._most = most

    def add(self, lines: Sequence[FoundLine]) -> None:
        """Adds the next lines."""
        self.lines += lines
        self.is_full = len(self.lines) >= self._most


class _FirstHits:
    """The first hits of a scan: one for each definition with matching lines, one for the other matching lines of a chunk.
    `is_full` is set by the first hit beyond the limit."""

    def __init__(self, snapshot: Snapshot, kinds: frozenset[SymbolKind] | None, limit: int) -> None:
        self.hits: list[Hit] = []
        self.is_full = False
        self._snapshot = snapshot
        self._kinds = kinds
        self._limit = limit
        self._by_symbol: dict[int, int] = {}

    def add(self, lines: Sequence[FoundLine]) -> None:
        """Adds the hits of the next lines, in the order of the answer."""
        for hit in hits_of_lines(self._snapshot, lines, self._kinds, len(self.hits)):
            symbol = hit.place.symbol
            at = None if symbol is None else self._by_symbol.get(symbol.id)
            if at is not None:
                merged = sorted((*self.hits[at].matched_lines, *hit.matched_lines), key=lambda line: line.line)
                self.hits[at] = msgspec.structs.replace(self.hits[at], matched_lines=tuple(merged))
                continue
            if len(self.hits) == self._limit:
                self.is_full = True
                return
            if symbol is not None:
                self._by_symbol[symbol.id] = len(self.hits)
            self.hits.append(hit)


def scan(
    snapshot: Snapshot,
    request: SearchCode,
    page: HitPage,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> Hits:
    """Returns the hits of mode `literal` or `regex`: product code before tests, definitions first, by path and line.

    `total` counts matching lines, up to the limit in `options`. The page, which counts hits, does not depend on that limit.

    Raises InvalidInput for a regular expression that RE2 rejects, with its reason.
    """
    query = _scanned_for(request)
    other_case: _OtherCase | None = None
    if request.mode == "regex":
        matcher = regex_matcher(query)
        passages = candidates_in_order(snapshot, scan_narrowing(request), where, query)
    else:
        matcher = literal_matcher(query)
        narrowing = scan_narrowing(request)
        if kinds is None and _OtherCase.is_known_of(query, narrowing):
            matcher = other_case = _OtherCase(query)
        passages = _literal_passages(snapshot, query, narrowing, where)
    first = _FirstHits(snapshot, kinds, page.end)
    found = scan_passages(snapshot, passages, matcher, first, kinds, options, is_expired)
    shown = first.hits[page.offset :]
    return Hits(
        shown=tuple(shown),
        intent=classify(request.query),
        total=found.total,
        unit="line",
        is_counted=found.is_counted,
        next_offset=page.end if shown and first.is_full else 0,
        warnings=(found.warning,) if found.warning else (),
        is_partial=found.is_partial,
        is_in_other_case=None if other_case is None or found.total or found.is_partial else other_case.is_found,
    )


class _OtherCase:
    """The matcher of a literal that notes whether a text has it in another case, until one has it as it is. So what is suggested
    if nothing has it takes no second scan."""

    def __init__(self, literal: str) -> None:
        self.is_found = False
        self._matches = literal_matcher(literal)
        self._literal = literal
        self._lower = literal.lower()
        self._is_settled = False

    def __call__(self, text: str) -> Sequence[LineMatch]:
        found = self._matches(text)
        if not self._is_settled:
            # Lower case is cheaper than an expression, and has some letters that are no others in another case.
            self.is_found = not found and self._lower in text.lower() and bool(any_case_matcher(self._literal)(text))
            self._is_settled = bool(found) or self.is_found
        return found

    @staticmethod
    def is_known_of(literal: str, narrowing: Narrowing) -> bool:
        """Whether the scan for a literal reads all texts that have it in any case."""
        return literal.isascii() and "\n" not in literal and narrowing == text_terms(literal, has_case=False)


def scan_passages(
    snapshot: Snapshot,
    passages: Iterable[Passage],
    matcher: Matcher,
    first: "FirstLines",
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> Scanned:
    """Adds the matching lines of the passages to `first` until that is full, and returns how many there are. With `kinds` only
    those in definitions of these kinds."""
    total = 0
    for looked, passage in enumerate(passages):
        # The check takes 1 us, a chunk 5 us, or 15 ms with a pattern that is made to be slow.
        if looked and is_expired():
            warning = f"the time was up after {looked} pieces of text; add a path or language filter"
            return Scanned(total, is_counted=False, warning=warning, is_partial=True)
        text = passage.text.replace("\r\n", "\n") if "\r" in passage.text else passage.text
        matches = matcher(text)
        if not matches:
            continue
        if first.is_full and kinds is None:
            # What is only counted is not cut out.
            total += len(matches)
        else:
            found = _found_lines(passage, text, matches)
            if kinds is not None:
                found = _in_kinds(snapshot, found, kinds)
            total += len(found)
            if found and not first.is_full:
                first.add(found)
        if total >= options.max_matched_lines:
            warning = f"the scan ended after {total} matching lines; be more specific"
            return Scanned(total, is_counted=False, warning=warning, is_partial=True)
        if first.is_full and total >= options.counted_lines:
            return Scanned(total, is_counted=False)
    return Scanned(total)


def scan_narrowing(request: SearchCode) -> Narrowing:
    """Returns the texts that `scan` reads in mode `literal` or `regex`. Pure. Raises InvalidInput as `scan` does."""
    query = _scanned_for(request)
    if request.mode == "regex":
        require_regex(query)  # what follows reads valid patterns only
        return regex_terms(query)
    if "\n" not in query:
        return text_terms(query)
    # Its lines may be in two chunks, so its longest line finds the files, and each file is searched whole.
    longest = max(query.split("\n"), key=len)
    return text_terms(f"\n{longest}\n" if query.strip("\n") != query else longest)


def _scanned_for(request: SearchCode) -> str:
    query = request.query
    return query if request.mode == "regex" else query.replace("\r\n", "\n")


def _found_lines(passage: Passage, text: str, matches: Sequence[tuple[int, int, int]]) -> list[FoundLine]:
    lines = text.split("\n")
    return [FoundLine(passage.file_id, passage.line_start + line, shortened(lines[line], start)) for line, start, _ in matches]


def _in_kinds(snapshot: Snapshot, found: Sequence[FoundLine], kinds: frozenset[SymbolKind]) -> list[FoundLine]:
    around = snapshot.facts.symbols_around(found[0].file_id, found[0].line, found[-1].line)
    return [line for line in found if narrowest(around, line.line, (1.0,), kinds) is not None]


def candidates_in_order(snapshot: Snapshot, narrowing: Narrowing, where: Filter, name: str) -> Iterator[Passage]:
    """Yields the candidates, first those with a definition of exactly that name."""
    held = snapshot.text.chunks_holding(narrowing, where)
    # People grep for `getAlias(` and `getAlias\\(` to find `getAlias`.
    bare = _CALL.sub("", name.strip())
    named = snapshot.facts.symbols_named(bare, DEFINITION_LIMIT)
    defined = [row for row in named if row.name == bare and row.kind != "test"]
    return held.passages(in_order(snapshot, held, defined))


def _literal_passages(snapshot: Snapshot, literal: str, narrowing: Narrowing, where: Filter) -> Iterator[Passage]:
    if "\n" not in literal:
        return candidates_in_order(snapshot, narrowing, where, literal)
    held = snapshot.text.chunks_holding(narrowing, where)
    files = dict.fromkeys(held.place(number).file_id for number in in_order(snapshot, held, ()))
    return (Passage(file_id, 1, "".join(part.text for part in snapshot.text.file_chunks(file_id))) for file_id in files)


def hits_of_lines(
    snapshot: Snapshot, lines: Sequence[FoundLine], kinds: frozenset[SymbolKind] | None, before: int = 0
) -> list[Hit]:
    """Returns the hits of a page, in the order of their first lines: one for each definition with matching lines, one for lines
    that are near each other outside of definitions. `before` counts the hits above them, for their scores."""
    groups: dict[tuple[int, int, int], tuple[SymbolRow | None, list[FoundLine]]] = {}
    around: dict[int, Sequence[SymbolRow]] = {}
    last: dict[int, tuple[int, int]] = {}
    for line in lines:
        if line.file_id not in around:
            own = [other.line for other in lines if other.file_id == line.file_id]
            around[line.file_id] = snapshot.facts.symbols_around(line.file_id, min(own), max(own))
        symbol = narrowest(around[line.file_id], line.line, (1.0,), kinds)
        if symbol is not None:
            groups.setdefault((line.file_id, symbol.id, 0), (symbol, []))[1].append(line)
            continue
        previous, number = last.get(line.file_id, (line.line, 0))
        number += abs(line.line - previous) > NEAR_LINES
        last[line.file_id] = (line.line, number)
        groups.setdefault((line.file_id, 0, number), (None, []))[1].append(line)
    files = snapshot.facts.indexed_files(sorted(around))
    return [
        _hit(files[file_id], symbol, sorted(own, key=lambda line: line.line), around[file_id], before + index)
        for index, ((file_id, _, _), (symbol, own)) in enumerate(groups.items())
    ]


def _hit(file: IndexedFile, symbol: SymbolRow | None, lines: Sequence[FoundLine], around: Sequence[SymbolRow], index: int) -> Hit:
    first, last = lines[0].line, lines[-1].line
    place = RankedPlace(
        file=file,
        type="snippet",
        line_start=first,
        line_end=last,
        score=1.0 / (1 + index),
        signals=Signals(),
        focus=first,
    )
    place = (
        as_symbol(place, symbol, first)
        if symbol is not None
        else msgspec.structs.replace(place, enclosing=enclosing_symbol(around, first, last))
    )
    return Hit(place=place, matched_lines=tuple(MatchedLine(line=line.line, text=line.text) for line in lines))


def in_order(snapshot: Snapshot, held: ChunkCandidates, definitions: Iterable[SymbolRow]) -> Iterator[int]:
    """Yields the number of every candidate once: product code before tests, chunks with a definition first, by path and line.

    Lazy: for a large tree mostly the beginning is used.
    """
    lines: dict[int, set[int]] = {}
    for row in definitions:
        if row.file_id in held.file_ids:
            lines.setdefault(row.file_id, set()).add(row.line_start)
    first = list(snapshot.in_order(lines))[::-1]
    for file in snapshot.in_order(held.file_ids):
        while first and first[-1].rank <= file.rank:
            defining = first.pop().file_id
            yield from (number for number in held.of(defining) if _defines(held, number, lines[defining]))
        if (own := lines.get(file.file_id)) is None:
            yield from held.of(file.file_id)
        else:
            yield from (number for number in held.of(file.file_id) if not _defines(held, number, own))


def _defines(held: ChunkCandidates, number: int, lines: Iterable[int]) -> bool:
    place = held.place(number)
    return any(place.line_start <= line <= place.line_end for line in lines)
