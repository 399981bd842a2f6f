"""Locations named by a query: `src/x.py:120`, `x.py:120-140`, `x.py#L120`, and files by path as logs print them
(`auth/handler.rs`). Also as answers print them: `src/x.py:120 fn run`, `fn run, src/x.py:120`; and as `file:` URIs.
"""

from typing import Final

import msgspec
from msgspec import Struct, structs

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.protocol.decode import well_formed
from codecompass.protocol.file_uris import without_uris
from codecompass.protocol.kinds import SYMBOL_KINDS
from codecompass.protocol.replies import MatchedLine
from codecompass.protocol.requests import MAX_PATH_LENGTH
from codecompass.query.filters import has_kind, passes
from codecompass.query.search_hits import (
    ENCLOSING_KINDS,
    RankedPlace,
    Signals,
    as_symbol,
    file_place,
    score_above,
    score_in_order,
)
from codecompass.query.source_lines import cut, lines_of
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import FileRow, IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

LINES_AROUND: Final = 3
"""Lines shown before and after the requested ones."""

MAX_ASKED: Final = 60
"""Lines of a range that are shown."""

SHOWN_CHARACTERS: Final = 240

MAX_PLACE_LENGTH: Final = 2 * MAX_PATH_LENGTH
"""Characters of a location with the name of its definition."""

MAX_FILES: Final = 10
"""Files whose paths end in the requested path that are shown."""

_ASKED: Final = lazy.pattern(
    r"(?P<path>\S[^\n]*?)(?::(?P<first>\d{1,7})(?:-(?P<last>\d{1,7}))?(?::\d+)?"
    r"|#L(?P<from>\d{1,7})(?:C\d+)?(?:-L?(?P<to>\d{1,7})(?:C\d+)?)?):?"
)
_KIND_WORD: Final = rf"(?:{'|'.join(SYMBOL_KINDS)})"
_PRINTED: Final = (
    lazy.pattern(rf"(?P<place>\S+)\s+{_KIND_WORD}\s+(?P<name>\S[^\n]*)"),
    lazy.pattern(rf"{_KIND_WORD}\s+(?P<name>\S+), (?P<place>\S+)"),
)
"""Places with the name of their definition: in a list of candidates, and in a graph."""
_CALLED_KINDS: Final[frozenset[SymbolKind]] = frozenset({"fn", "method", "macro"})
_VALUE_KINDS: Final[frozenset[SymbolKind]] = frozenset({"const", "var", "field", "type"})


class AskedLines(Struct, frozen=True):
    """A path, or the end of one, and lines in it (1-based, inclusive)."""

    path: str
    first: int
    last: int
    name: str = ""
    """The name of the definition there, if the text has it."""


def asked_lines(text: str) -> AskedLines | None:
    """Returns the location that the whole text names, None if it names none."""
    text = well_formed(without_uris(text.strip()[:MAX_PLACE_LENGTH])) if len(text) <= MAX_PLACE_LENGTH else ""
    for pattern in _PRINTED:
        printed = pattern.fullmatch(text)
        asked = None if printed is None else _lines_in(printed["place"])
        if printed is not None and asked is not None:
            return structs.replace(asked, name=printed["name"].strip())
    return _lines_in(text)


def _lines_in(text: str) -> AskedLines | None:
    match = _ASKED.fullmatch(text)
    if match is None or len(match["path"]) > MAX_PATH_LENGTH or not any(mark in match["path"] for mark in "./\\"):
        return None
    first = int(match["first"] or match["from"])
    last = int(match["last"] or match["to"] or first)
    return AskedLines(match["path"].replace("\\", "/"), max(1, first), min(max(1, first, last), first + MAX_ASKED - 1))


def places_of_lines(
    snapshot: Snapshot,
    asked: AskedLines,
    root: str,
    where: Filter = Filter(),  # noqa: B008 (frozen)
    kinds: frozenset[SymbolKind] | None = None,
) -> list[RankedPlace]:
    """Returns the definitions around the lines in the matching files, product code first; the bare lines if no definition is
    around them. If all files are shorter, their last line is returned.

    `root` is that of the workspace, for absolute paths.
    """
    files = files_at(snapshot, asked.path, root)
    is_allowed = passes(where)
    files = [file for file in files if is_allowed(file.id, file.language)]
    files = [file for file in files if asked.first <= file.line_count] or files
    files.sort(key=lambda file: (role_of(file.path).rank, len(file.path), file.path))
    return [_place_of_line(snapshot, file, asked, kinds, index) for index, file in enumerate(files)]


def files_at(snapshot: Snapshot, path: str, root: str) -> list[FileRow]:
    """Returns the file with this path, else those whose paths end in it. `root` is that of the workspace, for absolute paths."""
    plain = path.removeprefix(root.rstrip("/") + "/").removeprefix("./").strip("/")
    if not plain:
        return []
    whole = snapshot.facts.file(plain)
    if whole is not None and whole.status == "indexed":
        return [whole]
    ending = [snapshot.facts.file(found) for found in snapshot.paths_ending(plain, MAX_FILES)]
    return [file for file in ending if file is not None]


def lines_shown(snapshot: Snapshot, place: RankedPlace) -> tuple[MatchedLine, ...]:
    """Returns the requested lines of a place and those around them."""
    if not place.asked_first:
        return ()
    first = max(1, place.asked_first - LINES_AROUND)
    lines = lines_of(snapshot, place.file.id, first, place.asked_last + LINES_AROUND)
    return tuple(MatchedLine(line=number, text=cut(line.rstrip(), SHOWN_CHARACTERS)) for number, line in enumerate(lines, first))


def innermost(rows: list[SymbolRow], first: int, last: int, kinds: frozenset[SymbolKind] | None) -> SymbolRow | None:
    """Returns the innermost definition around all of the lines; of several with the same lines the outermost.

    Inside a function it is the function; elsewhere it may be a constant or a field.
    """
    around = [row for row in rows if row.line_start <= first and row.line_end >= last and has_kind(row, kinds)]

    def deepest(wanted: frozenset[SymbolKind]) -> SymbolRow | None:
        return max(
            (row for row in around if row.kind in wanted), key=lambda row: (row.line_start, -row.line_end, -row.id), default=None
        )

    found = deepest(ENCLOSING_KINDS)
    if found is not None and found.kind in _CALLED_KINDS:
        return found
    value = deepest(_VALUE_KINDS)
    # `struct Pair { int a, b; };` on one line: the line is that of the type.
    is_within = value is not None and (found is None or (value.line_start, value.line_end) != (found.line_start, found.line_end))
    return value if is_within else found


def _place_of_line(
    snapshot: Snapshot, file: FileRow, asked: AskedLines, kinds: frozenset[SymbolKind] | None, index: int
) -> RankedPlace:
    end = max(1, file.line_count)
    first, last = min(asked.first, end), min(asked.last, end)
    place = RankedPlace(
        file=IndexedFile(file.id, file.path, file.language, file.line_count),
        type="snippet",
        line_start=first,
        line_end=last,
        score=score_in_order(index),
        signals=Signals(exact=1.0, path=1.0),
        focus=first,
        asked_first=first,
        asked_last=last,
    )
    found = innermost(snapshot.facts.symbols_around(file.id, first, last), first, last, kinds)
    return place if found is None else as_symbol(place, found, first)


MAX_NAMED_FILES: Final = 50


def named_files(snapshot: Snapshot, query: str, where: Filter, limit: int, above: float, root: str = "") -> list[RankedPlace]:
    """Returns the files whose path ends in `query`, product code first, with scores over `above`.

    With a line number after the path, the definition around that line. `root` is that of the workspace, for absolute paths.
    """
    asked = asked_lines(query)
    if asked is not None:
        places = places_of_lines(snapshot, asked, root, where)[:limit]
        return [msgspec.structs.replace(place, score=score_above(above, index)) for index, place in enumerate(places)]
    suffix = query.strip().replace("\\", "/").removeprefix(root.rstrip("/") + "/").removeprefix("./").strip("/")
    if not suffix:
        return []
    files = [snapshot.facts.file(path) for path in snapshot.paths_ending(suffix, MAX_NAMED_FILES)]
    is_allowed = passes(where)
    found = [
        IndexedFile(file.id, file.path, file.language, file.line_count)
        for file in files
        if file is not None and is_allowed(file.id, file.language)
    ]
    found.sort(key=lambda place: (role_of(place.path).rank, len(place.path), place.path))
    return [
        file_place(place, score_above(above, index), Signals(exact=1.0, path=1.0)) for index, place in enumerate(found[:limit])
    ]
