"""The definitions that the frames of a stack trace lie in.

The paths of a trace were printed elsewhere: absolute, of another checkout, or a bare file name. A file is meant where one
of the two paths ends in the other, or where their last two parts agree, or where the name in the frame is that of the
definition around the line.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codecompass.store.facts import FileRow, SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.path_roles import role_of
from codecompass.store.query.guesses import Frame
from codecompass.store.query.places import enclosing_symbol
from codecompass.store.query.tokens import name_parts

MAX_SAME_NAMED_FILES: Final = 50
"""Files of one name that are compared with a frame's path."""

MAX_FRAMES_SHOWN: Final = 10
SURE_PARTS: Final = 2
"""Last parts of a path that agree by more than chance."""


class FramePlace(Struct, frozen=True):
    """A line in an indexed file that a frame means, and the definition around it, if any."""

    file: FileRow
    line: int
    symbol: SymbolRow | None


def places_of_frames(snapshot: Snapshot, frames: Sequence[Frame]) -> list[FramePlace]:
    """Returns the places in the order of the frames, each definition once; where a frame fits several files equally well,
    all of them, product code first."""
    places: list[FramePlace] = []
    seen: set[tuple[int, int]] = set()
    for frame in frames:
        for place in _places(snapshot, frame):
            key = (place.file.id, place.symbol.line_start if place.symbol else -place.line)
            if key not in seen:
                seen.add(key)
                places.append(place)
        if len(places) >= MAX_FRAMES_SHOWN:
            break
    return places[:MAX_FRAMES_SHOWN]


def symbols_of_frames(snapshot: Snapshot, frames: Sequence[Frame]) -> list[SymbolRow]:
    """Returns the definitions around the places of the frames, in the order of the frames."""
    return [place.symbol for place in places_of_frames(snapshot, frames) if place.symbol is not None]


def _places(snapshot: Snapshot, frame: Frame) -> list[FramePlace]:
    wanted = [part for part in frame.path.lower().split("/") if part not in ("", ".", "..")]
    if not wanted:
        return []
    scored = []
    for path in snapshot.facts.paths_ending(wanted[-1], MAX_SAME_NAMED_FILES):
        own = path.lower().split("/")
        common = _common_tail(wanted, own)
        file = snapshot.facts.file(path)
        if file is None:
            continue
        symbol = _around(snapshot, file, frame)
        agreement = 0 if symbol is None else _agreement(symbol, frame.name)
        if common >= min(len(wanted), len(own), SURE_PARTS) or agreement:
            scored.append(((-agreement, -common), role_of(path).rank, path, FramePlace(file, frame.line, symbol)))
    scored.sort(key=lambda item: item[:3])
    return [place for how_well, _, _, place in scored if how_well == scored[0][0]]


def _around(snapshot: Snapshot, file: FileRow, frame: Frame) -> SymbolRow | None:
    """The definition around the line; where another has the frame's name (the file has changed since), that one."""
    symbol = enclosing_symbol(snapshot.facts.symbols_around(file.id, frame.line, frame.line), frame.line, frame.line)
    name = (name_parts(frame.name) or ("",))[-1]
    if not name or (symbol is not None and symbol.name.lower() == name.lower()):
        return symbol
    named = [row for row in snapshot.facts.symbols_in_file(file.id) if row.name == name]
    return min(named, key=lambda row: abs(row.line_start - frame.line), default=symbol)


def _agreement(symbol: SymbolRow, name: str) -> int:
    """How many of the last parts of the two qualified names are equal."""
    return _common_tail([part.lower() for part in name_parts(name)], [part.lower() for part in name_parts(symbol.qualified_name)])


def _common_tail(one: Sequence[str], other: Sequence[str]) -> int:
    count = 0
    for left, right in zip(reversed(one), reversed(other), strict=False):
        # A path with blanks is read from its last blank on.
        if left != right and not right.endswith(" " + left):
            break
        count += 1
    return count
