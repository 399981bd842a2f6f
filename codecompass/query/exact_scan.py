"""Literal and regular expression search: finds exactly the lines that match, in linear time. Chunks are scanned in the order of
the answer, so that a scan can stop when the page is full.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
import re2
from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.languages.records import SymbolKind
from codecompass.protocol.decode import SHOWN_VALUE_LENGTH, well_formed
from codecompass.protocol.replies import MatchedLine
from codecompass.protocol.requests import SearchCode
from codecompass.query.excerpts import shortened
from codecompass.query.intent import classify
from codecompass.query.options import QueryOptions
from codecompass.query.regex_terms import literal_terms, regex_terms
from codecompass.query.search_hits import Hit, Hits, RankedPlace, Signals, as_symbol, enclosing_symbol, narrowest
from codecompass.store.facts import FactsReader
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import ChunkCandidates, Passage, Snapshot
from codecompass.store.text_queries import Filter, Narrowing
from codecompass.units import KIB

DEFINITION_LIMIT: Final = 1000

_CALL: Final = re.compile(r"\\?\((?:\\?\))?$")
"""A parenthesis after a name, in a literal or a regular expression."""


class _Match(Struct, frozen=True):
    file_id: int
    lines: tuple[MatchedLine, ...]


def scan(
    snapshot: Snapshot,
    request: SearchCode,
    limit: int,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> Hits:
    """Returns the hits of mode `literal` or `regex`: product code before tests, definitions first, by path and line.

    `total` counts matching lines, up to the limit in `options`. The page does not depend on that limit.

    Raises InvalidInput for a regular expression that RE2 rejects, with its reason.
    """
    query = _scanned_for(request)
    if request.mode == "regex":
        matcher = regex_matcher(query)
        passages = _chunks(snapshot, scan_narrowing(request), where, query)
    else:
        matcher = literal_matcher(query)
        passages = _literal_passages(snapshot, query, scan_narrowing(request), where)
    page = _Page(snapshot, kinds, limit)
    total, warning, is_partial = 0, "", False
    for looked, passage in enumerate(passages):
        # The check takes 1 us, a chunk 5 us, or 15 ms with a pattern that is made to be slow.
        if looked and is_expired():
            warning, is_partial = f"the time was up after {looked} pieces of text; add a path or language filter", True
            break
        text = passage.text.replace("\r\n", "\n") if "\r" in passage.text else passage.text
        found = matcher(text)
        if not found:
            continue
        total += len(found)
        if not page.is_full:
            page.add(_match(passage, text, found))
        if total >= options.max_matched_lines:
            warning, is_partial = f"the scan ended after {total} matching lines; be more specific", True
            break
        if page.is_full and total >= options.counted_lines:
            warning = f"at least {total} lines match; they are not counted further"
            break
    return Hits(
        shown=tuple(page.shown),
        intent=classify(request.query),
        total=total,
        warnings=(warning,) if warning else (),
        is_partial=is_partial,
    )


def scan_narrowing(request: SearchCode) -> Narrowing:
    """Returns the texts that `scan` reads in mode `literal` or `regex`. Pure."""
    query = _scanned_for(request)
    if request.mode == "regex":
        return regex_terms(query)
    if "\n" not in query:
        return literal_terms(query)
    # Its lines may be in two chunks, so its longest line finds the files, and each file is searched whole.
    longest = max(query.split("\n"), key=len)
    return literal_terms(f"\n{longest}\n" if query.strip("\n") != query else longest)


def _scanned_for(request: SearchCode) -> str:
    query = well_formed(request.query)
    return query if request.mode == "regex" else query.replace("\r\n", "\n")


def _match(passage: Passage, text: str, found: Sequence[tuple[int, int, int]]) -> _Match:
    lines = text.split("\n")
    shown = (MatchedLine(line=passage.line_start + line, text=shortened(lines[line], start)) for line, start, _ in found)
    return _Match(passage.file_id, tuple(shown))


def _chunks(snapshot: Snapshot, narrowing: Narrowing, where: Filter, name: str) -> Iterator[Passage]:
    """Yields the candidates, first those with a definition of exactly that name."""
    held = snapshot.text.chunks_holding(narrowing, where)
    # People grep for `getAlias(` and `getAlias\\(` to find `getAlias`.
    bare = _CALL.sub("", name.strip())
    named = snapshot.facts.symbols_named(bare, DEFINITION_LIMIT)
    defined = [row for row in named if row.name == bare and row.kind != "test"]
    return held.passages(in_order(snapshot.facts, held, defined))


def _literal_passages(snapshot: Snapshot, literal: str, narrowing: Narrowing, where: Filter) -> Iterator[Passage]:
    if "\n" not in literal:
        return _chunks(snapshot, narrowing, where, literal)
    held = snapshot.text.chunks_holding(narrowing, where)
    files = dict.fromkeys(held.place(number).file_id for number in in_order(snapshot.facts, held, ()))
    return (Passage(file_id, 1, "".join(part.text for part in snapshot.text.file_chunks(file_id))) for file_id in files)


class _Page:
    """The first hits: one for each definition with matching lines, one for the other matching lines of a chunk."""

    def __init__(self, snapshot: Snapshot, kinds: frozenset[SymbolKind] | None, limit: int) -> None:
        self.shown: list[Hit] = []
        self.is_full = False
        self._snapshot = snapshot
        self._kinds = kinds
        self._limit = limit
        self._by_symbol: dict[int, int] = {}

    def add(self, match: _Match) -> None:
        """Adds the next matches, in the order of the answer. Sets `is_full` at the first hit beyond the limit."""
        for symbol, lines in _by_symbol(self._snapshot, match, self._kinds):
            if symbol is not None and symbol.id in self._by_symbol:
                at = self._by_symbol[symbol.id]
                merged = sorted((*self.shown[at].matched_lines, *lines), key=lambda line: line.line)
                self.shown[at] = msgspec.structs.replace(self.shown[at], matched_lines=tuple(merged))
                continue
            if len(self.shown) == self._limit:
                self.is_full = True
                return
            if symbol is not None:
                self._by_symbol[symbol.id] = len(self.shown)
            file = self._snapshot.facts.indexed_files([match.file_id])[match.file_id]
            place = _place(self._snapshot, file, symbol, lines, len(self.shown))
            self.shown.append(Hit(place=place, matched_lines=tuple(lines)))


def _by_symbol(
    snapshot: Snapshot, match: _Match, kinds: frozenset[SymbolKind] | None
) -> list[tuple[SymbolRow | None, list[MatchedLine]]]:
    """Groups the matching lines by definition, in order; lines outside definitions only if all kinds are requested."""
    around = snapshot.facts.symbols_around(match.file_id, match.lines[0].line, match.lines[-1].line)
    groups: dict[int, tuple[SymbolRow | None, list[MatchedLine]]] = {}
    for line in match.lines:
        symbol = narrowest(around, line.line, (1.0,), kinds)
        if symbol is not None or kinds is None:
            groups.setdefault(0 if symbol is None else symbol.id, (symbol, []))[1].append(line)
    return list(groups.values())


def _place(snapshot: Snapshot, file: IndexedFile, symbol: SymbolRow | None, lines: list[MatchedLine], index: int) -> RankedPlace:
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
    if symbol is not None:
        return as_symbol(place, symbol, first)
    around = snapshot.facts.symbols_around(file.id, first, last)
    return msgspec.structs.replace(place, enclosing=enclosing_symbol(around, first, last))


def in_order(facts: FactsReader, held: ChunkCandidates, definitions: Iterable[SymbolRow]) -> Iterator[int]:
    """Yields the number of every candidate once: product code before tests, chunks with a definition first, by path and line.

    Lazy: for a large tree mostly the beginning is used.
    """
    lines: dict[int, set[int]] = {}
    for row in definitions:
        if row.file_id in held.file_ids:
            lines.setdefault(row.file_id, set()).add(row.line_start)
    first = list(facts.in_order(lines))[::-1]
    for file in facts.in_order(held.file_ids):
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


_TOO_LARGE: Final = "pattern too large"
"""The message of RE2."""

_WHOLE_TEXT_ANCHORS: Final = ("\\A", "\\z", "\\C")

MAX_PATTERN_LENGTH: Final = 4096
"""Characters of a regular expression. RE2 reads 100 `\\pL` in 20 ms (measured 2026-11-22)."""

MAX_PATTERN_STEPS: Final = 10_000
"""Instructions of a compiled pattern. If its automaton becomes too large, a line of 20,000 characters takes 70 ms with 6,000 of
them, 0.7 s with 12,000 and 4 s with 65,000, and cannot be interrupted (measured 2026-11-22)."""

_FEW_STEPS_BYTES: Final = 512 * KIB
"""A memory limit at which RE2 quickly gives up on patterns with many more instructions."""

LineMatch = tuple[int, int, int]
"""A matching line, counted from 0, and start and end of the first match in it, in characters."""

Matcher = Callable[[str], Sequence[LineMatch]]
"""Maps a text with `\\n` line ends to its matching lines, in order."""


def literal_matcher(literal: str) -> Matcher:
    """Returns the case-sensitive matcher of a literal. A literal with line breaks matches at its first line."""
    needle = well_formed(literal).replace("\r\n", "\n")

    def matches(text: str) -> Sequence[LineMatch]:
        at = text.find(needle)
        if at < 0:
            return ()
        found = []
        line = counted = 0
        while at >= 0:
            line += text.count("\n", counted, at)
            counted = at
            line_start = text.rfind("\n", 0, at) + 1
            found.append((line, at - line_start, at - line_start + len(needle)))
            line_end = text.find("\n", at)
            # Continues after the line break: a literal that begins with one would match there again.
            at = text.find(needle, line_end + 1) if line_end >= 0 else -1
        return found

    return matches


def regex_matcher(pattern: str) -> Matcher:
    """Returns the matcher of an RE2 pattern, which is applied to single lines without their line breaks.

    Raises InvalidInput for a pattern that is too large, or that RE2 rejects, with its reason.
    """
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise _too_large(pattern, f"{len(pattern):,} characters", f"{MAX_PATTERN_LENGTH:,} characters")
    pattern = well_formed(pattern)
    steps = _compiled(pattern, pattern, _FEW_STEPS_BYTES).programsize
    if steps > MAX_PATTERN_STEPS:
        raise _too_large(pattern, f"{steps:,} instructions", f"{MAX_PATTERN_STEPS:,} instructions")
    by_line = _compiled(pattern, pattern)
    if any(anchor in pattern for anchor in _WHOLE_TEXT_ANCHORS):
        return _line_by_line(by_line)
    # Searching the whole text is ten times cheaper than each line, but anchors of the text have another meaning there.
    whole = _compiled(f"(?m:{pattern})", pattern)

    def matches(text: str) -> Sequence[LineMatch]:
        data = text.encode()
        found = []
        line, counted, position = 0, 0, 0
        while position < len(data) and (match := whole.search(data, position)) is not None:
            start, end = match.span()
            if start == len(data) and data.endswith(b"\n"):
                break
            line += data.count(b"\n", counted, start)
            counted = start
            line_start = data.rfind(b"\n", 0, start) + 1
            line_end = data.find(b"\n", start)
            line_end = len(data) if line_end < 0 else line_end
            if end > line_end:
                # The match extends beyond the line break: the line may match by itself as well.
                alone = by_line.search(data[line_start:line_end])
                start, end = (-1, -1) if alone is None else (line_start + alone.start(), line_start + alone.end())
            if start >= 0:
                found.append((line, len(_decoded(data[line_start:start])), len(_decoded(data[line_start:end]))))
            position = line_end + 1
        return found

    return matches


def _line_by_line(pattern: "re2._Regexp") -> Matcher:
    def matches(text: str) -> Sequence[LineMatch]:
        lines = text.encode().split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        matches = [(index, line, pattern.search(line)) for index, line in enumerate(lines)]
        return [
            (index, len(_decoded(line[: match.start()])), len(_decoded(line[: match.end()])))
            for index, line, match in matches
            if match is not None
        ]

    return matches


def _too_large(pattern: str, size: str, bound: str) -> InvalidInput:
    return InvalidInput(
        f"query is too large a regular expression: {size}, at most {bound}. Search for a part of it, or with mode literal.",
        field="query",
        value=well_formed(pattern[:SHOWN_VALUE_LENGTH]),
        constraint=f"at most {bound}",
    )


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _compiled(pattern: str, shown: str, max_bytes: int | None = None) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    if max_bytes is not None:
        options.max_mem = max_bytes
    # Without groups only the ends of a match are computed, at a fraction of the cost.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a valid pattern"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        if _TOO_LARGE in text:
            raise _too_large(shown, "too many instructions", f"{MAX_PATTERN_STEPS:,} instructions") from error
        raise InvalidInput(
            f"query is no valid RE2 regular expression: {text}. Correct it (RE2 has no look-around and no back references), "
            "or search with mode literal.",
            field="query",
            value=shown[:SHOWN_VALUE_LENGTH],
            constraint="RE2 regular expression",
        ) from error
