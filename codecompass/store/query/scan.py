"""Literal and regular expression search: exactly the lines that match, in linear time, over candidate chunks.

The text index narrows the candidates where the pattern has whole words in it (see `terms`); each candidate's text is then
searched line by line, as grep does. Only a literal with a line break in it looks at whole files.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.protocol.decode import well_formed
from codecompass.protocol.replies import MatchedLine
from codecompass.protocol.requests import SearchCode
from codecompass.store.facts import FilePlace, SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.query.hits import Hits
from codecompass.store.query.intent import classify
from codecompass.store.query.matchers import literal_matcher, regex_matcher
from codecompass.store.query.paths import PathReader
from codecompass.store.query.places import as_symbol, enclosing_symbol, narrowest
from codecompass.store.query.ranking import RankedPlace, Signals
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shown
from codecompass.store.query.terms import literal_terms, regex_terms
from codecompass.store.records import SymbolKind
from codecompass.store.text import ChunkHit, Filter

SHOWN_LINE_CHARACTERS: Final = 200
LEAD_CHARACTERS: Final = 60
"""Of a long line: what is shown of it, and how much of that stands before the match."""

DEFINITION_LIMIT: Final = 1000

_Blocks = Iterator[tuple[ChunkHit, str]]


class _Match(Struct, frozen=True):
    chunk: ChunkHit
    lines: tuple[MatchedLine, ...]


class _Scanned(Struct, frozen=True):
    matches: tuple[_Match, ...]
    warnings: tuple[str, ...]


def scan(
    snapshot: Snapshot,
    request: SearchCode,
    limit: int,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    settings: QuerySettings,
    is_expired: Callable[[], bool],
) -> Hits:
    """Returns the hits of mode `literal` or `regex`: product code before tests, definitions first, by path and line.

    `total` counts matching lines.

    Raises InvalidInput for a regular expression that RE2 refuses, with its reason.
    """
    query = well_formed(request.query)
    if request.mode == "regex":
        matcher = regex_matcher(query)
        blocks = snapshot.text.chunks_holding(regex_terms(query), where)
    else:
        matcher = literal_matcher(query)
        blocks = _literal_blocks(snapshot, query.replace("\r\n", "\n"), where)
    scanned = _scan(blocks, matcher, settings.max_matched_lines, is_expired)
    places = snapshot.facts.places_by_id([match.chunk.file_id for match in scanned.matches])
    defined = {
        (row.file_id, row.line_start)
        for row in snapshot.facts.symbols_named(query.strip(), DEFINITION_LIMIT)
        if row.name == query.strip()
    }
    paths = PathReader()
    ranked = sorted(scanned.matches, key=lambda match: _order(match, places, defined, paths))
    shown = _page(snapshot, ranked, places, kinds, limit)
    return Hits(
        shown=tuple(shown),
        intent=classify(request.query),
        total=sum(len(match.lines) for match in ranked),
        warnings=scanned.warnings,
        is_partial=bool(scanned.warnings),
    )


def _scan(
    blocks: _Blocks,
    matcher: Callable[[str], Iterator[tuple[int, int, int]]],
    max_lines: int,
    is_expired: Callable[[], bool],
) -> _Scanned:
    matches: list[_Match] = []
    line_count = 0
    for index, (chunk, text) in enumerate(blocks):
        # A look takes 1 us. A chunk takes 50 us, and 15 ms with a pattern that is made to be slow.
        if index and is_expired():
            return _Scanned(tuple(matches), (f"the time was up after {index} pieces of text; add a path or language filter",))
        text = text.replace("\r\n", "\n") if "\r" in text else text
        found = list(matcher(text))
        if not found:
            continue
        lines = text.split("\n")
        matches.append(
            _Match(
                chunk,
                tuple(MatchedLine(line=chunk.line_start + line, text=_shown(lines[line], start)) for line, start, _ in found),
            )
        )
        line_count += len(found)
        if line_count >= max_lines:
            return _Scanned(tuple(matches), (f"the scan ended after {line_count} matching lines; be more specific",))
    return _Scanned(tuple(matches), ())


def _literal_blocks(snapshot: Snapshot, literal: str, where: Filter) -> _Blocks:
    if "\n" not in literal.strip("\n") and "\n" not in literal:
        yield from snapshot.text.chunks_holding(literal_terms(literal), where)
        return
    # Its lines may lie in two chunks, so its longest line finds the files, and each file is looked through whole.
    longest = max(literal.split("\n"), key=len)
    terms = literal_terms(f"\n{longest}\n" if literal.strip("\n") != literal else longest)
    seen: set[int] = set()
    for chunk, _ in snapshot.text.chunks_holding(terms, where):
        if chunk.file_id not in seen:
            seen.add(chunk.file_id)
            chunks = snapshot.text.file_chunks(chunk.file_id)
            whole = ChunkHit(chunk.file_id, 1, chunks[-1].line_end, 0.0)
            yield whole, "".join(part.text for part in chunks)


def _order(
    match: _Match, places: Mapping[int, FilePlace], defined: set[tuple[int, int]], paths: PathReader
) -> tuple[int, bool, str, int]:
    path = places[match.chunk.file_id].path
    is_definition = any((match.chunk.file_id, line.line) in defined for line in match.lines)
    return paths.role(path).rank, not is_definition, path, match.chunk.line_start


def _page(
    snapshot: Snapshot,
    ranked: list[_Match],
    places: Mapping[int, FilePlace],
    kinds: frozenset[SymbolKind] | None,
    limit: int,
) -> list[Shown]:
    """The first hits: one for each definition that matching lines lie in, one for the other lines of a chunk."""
    shown: list[Shown] = []
    by_symbol: dict[int, int] = {}
    for match in ranked:
        for symbol, lines in _by_symbol(snapshot, match, kinds):
            if symbol is not None and symbol.id in by_symbol:
                at = by_symbol[symbol.id]
                merged = sorted((*shown[at].matched_lines, *lines), key=lambda line: line.line)
                shown[at] = msgspec.structs.replace(shown[at], matched_lines=tuple(merged))
                continue
            if len(shown) == limit:
                return shown
            if symbol is not None:
                by_symbol[symbol.id] = len(shown)
            place = _place(snapshot, places[match.chunk.file_id], symbol, lines, len(shown))
            shown.append(Shown(place=place, matched_lines=tuple(lines)))
    return shown


def _by_symbol(
    snapshot: Snapshot, match: _Match, kinds: frozenset[SymbolKind] | None
) -> list[tuple[SymbolRow | None, list[MatchedLine]]]:
    """The matching lines by the definition that each lies in, in order; those in none only where all kinds are asked for."""
    around = snapshot.facts.symbols_around(match.chunk.file_id, match.lines[0].line, match.lines[-1].line)
    groups: dict[int, tuple[SymbolRow | None, list[MatchedLine]]] = {}
    for line in match.lines:
        symbol = narrowest(around, line.line, (1.0,), kinds)
        if symbol is not None or kinds is None:
            groups.setdefault(0 if symbol is None else symbol.id, (symbol, []))[1].append(line)
    return list(groups.values())


def _place(snapshot: Snapshot, file: FilePlace, symbol: SymbolRow | None, lines: list[MatchedLine], index: int) -> RankedPlace:
    first, last = lines[0].line, lines[-1].line
    place = RankedPlace(
        place=file,
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


def _shown(line: str, start: int) -> str:
    """A line as it is shown: whole, or the part around the match."""
    if len(line) <= SHOWN_LINE_CHARACTERS:
        return line.rstrip()
    first = max(0, start - LEAD_CHARACTERS)
    cut = line[first : first + SHOWN_LINE_CHARACTERS].rstrip()
    return ("…" if first else "") + cut + ("…" if first + SHOWN_LINE_CHARACTERS < len(line) else "")
