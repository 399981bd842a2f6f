"""Literal and regular expression search: exactly the lines that match, in linear time, over candidate chunks.

The text index narrows the candidates where the pattern has whole words in it (see `terms`); each candidate's text is then
searched line by line, as grep does. Only a literal with a line break in it looks at whole files.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.protocol.decode import well_formed
from codecompass.protocol.replies import MatchedLine
from codecompass.protocol.requests import SearchCode
from codecompass.store.facts import FilePlace, SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.narrowing import Narrowing
from codecompass.store.query.excerpts import shortened
from codecompass.store.query.hits import Hits
from codecompass.store.query.intent import classify
from codecompass.store.query.matchers import literal_matcher, regex_matcher
from codecompass.store.query.places import as_symbol, enclosing_symbol, narrowest
from codecompass.store.query.ranking import RankedPlace, Signals
from codecompass.store.query.scan_order import in_order
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shown
from codecompass.store.query.terms import literal_terms, regex_terms
from codecompass.store.records import SymbolKind
from codecompass.store.text import Filter, Passage

DEFINITION_LIMIT: Final = 1000

_CALL: Final = re.compile(r"\\?\((?:\\?\))?$")
"""The end of a name with a parenthesis, as a literal or as a regular expression has it."""


class _Match(Struct, frozen=True):
    file_id: int
    lines: tuple[MatchedLine, ...]


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

    `total` counts matching lines, up to where the settings end the count. The page is the same wherever that is.

    Raises InvalidInput for a regular expression that RE2 refuses, with its reason.
    """
    query = well_formed(request.query)
    if request.mode == "regex":
        matcher = regex_matcher(query)
        passages = _chunks(snapshot, regex_terms(query), where, query)
    else:
        query = query.replace("\r\n", "\n")
        matcher = literal_matcher(query)
        passages = _literal_passages(snapshot, query, where)
    page = _Page(snapshot, kinds, limit)
    total, warning, is_partial = 0, "", False
    for looked, passage in enumerate(passages):
        # A look takes 1 us. A chunk takes 5 us, and 15 ms with a pattern that is made to be slow.
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
        if total >= settings.max_matched_lines:
            warning, is_partial = f"the scan ended after {total} matching lines; be more specific", True
            break
        if page.is_full and total >= settings.counted_lines:
            warning = f"at least {total} lines match; they are not counted further"
            break
    return Hits(
        shown=tuple(page.shown),
        intent=classify(request.query),
        total=total,
        warnings=(warning,) if warning else (),
        is_partial=is_partial,
    )


def _match(passage: Passage, text: str, found: Sequence[tuple[int, int, int]]) -> _Match:
    lines = text.split("\n")
    shown = (MatchedLine(line=passage.line_start + line, text=shortened(lines[line], start)) for line, start, _ in found)
    return _Match(passage.file_id, tuple(shown))


def _chunks(snapshot: Snapshot, narrowing: Narrowing, where: Filter, name: str) -> Iterator[Passage]:
    """The candidates, those first where something of exactly that name is defined."""
    held = snapshot.text.chunks_holding(narrowing, where)
    # `getAlias(` and `getAlias\\(` are what grep is asked for to find `getAlias`.
    bare = _CALL.sub("", name.strip())
    named = snapshot.facts.symbols_named(bare, DEFINITION_LIMIT)
    defined = [row for row in named if row.name == bare and row.kind != "test"]
    return held.passages(in_order(snapshot.facts, held, defined))


def _literal_passages(snapshot: Snapshot, literal: str, where: Filter) -> Iterator[Passage]:
    if "\n" not in literal:
        return _chunks(snapshot, literal_terms(literal), where, literal)
    # Its lines may lie in two chunks, so its longest line finds the files, and each file is looked through whole.
    longest = max(literal.split("\n"), key=len)
    terms = literal_terms(f"\n{longest}\n" if literal.strip("\n") != literal else longest)
    held = snapshot.text.chunks_holding(terms, where)
    files = dict.fromkeys(held.place(number).file_id for number in in_order(snapshot.facts, held, ()))
    return (Passage(file_id, 1, "".join(part.text for part in snapshot.text.file_chunks(file_id))) for file_id in files)


class _Page:
    """The first hits: one for each definition that matching lines lie in, one for the other lines of a piece of text."""

    def __init__(self, snapshot: Snapshot, kinds: frozenset[SymbolKind] | None, limit: int) -> None:
        self.shown: list[Shown] = []
        self.is_full = False
        self._snapshot = snapshot
        self._kinds = kinds
        self._limit = limit
        self._by_symbol: dict[int, int] = {}

    def add(self, match: _Match) -> None:
        """Takes the matches in the order of the answer. It is full with the first hit that has no place any more."""
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
            file = self._snapshot.facts.places_by_id([match.file_id])[match.file_id]
            place = _place(self._snapshot, file, symbol, lines, len(self.shown))
            self.shown.append(Shown(place=place, matched_lines=tuple(lines)))


def _by_symbol(
    snapshot: Snapshot, match: _Match, kinds: frozenset[SymbolKind] | None
) -> list[tuple[SymbolRow | None, list[MatchedLine]]]:
    """The matching lines by the definition that each lies in, in order; those in none only where all kinds are asked for."""
    around = snapshot.facts.symbols_around(match.file_id, match.lines[0].line, match.lines[-1].line)
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
