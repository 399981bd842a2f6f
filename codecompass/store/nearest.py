"""Finds the index that a new one can begin as: among all of the home, the one that holds most of the files that are wanted.

Which repository an index is of does not matter, its content does: a worktree, a clone, a copied directory and a fork of a
repository all hold mostly the same files. A few paths of each index are looked up first; only the best are compared whole.
Nothing is locked here: what is found may be gone when it is used.
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.databases import connect_for_reading
from codecompass.store.epochs import compatibility
from codecompass.store.facts import FactsReader
from codecompass.store.forks import ForkSource
from codecompass.store.index import read_meta
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.parking import parked_epochs

MAX_LAYOUTS: Final = 64
"""Indexes that are looked at, the most recently published first. Each takes about a millisecond."""

SAMPLED_PATHS: Final = 32
LEAST_SAMPLED: Final = 0.5
"""Share of the sampled paths that an index must have to be compared."""

MAX_COMPARED: Final = 8
"""Indexes that are compared whole, about 1 us a file each."""

NEAR_ENOUGH: Final = 0.01
"""Share of the files that differ below which no other index is looked at."""

MAX_DIFFERING: Final = 0.5
"""Share of the files that differ from which an index is no gain: what is removed from it still costs space and time."""

Wanted = Mapping[str, bytes | int]
"""Git's id of the content of each file by its path, or the file's size in bytes where that is unknown."""


class Nearest(Struct, frozen=True):
    """An index to begin as. `n_differing` counts the files that it lacks, has too many, or with another content."""

    source: ForkSource
    n_differing: int


class _Sampled(Struct, frozen=True):
    source: ForkSource
    n_same: int
    n_paths: int
    order: int


def nearest_source(
    home: HomeLayout, wanted: Wanted, *, rules_fingerprint: str, first: Sequence[ProjectLayout] = ()
) -> Nearest | None:
    """Returns the nearest index in `home` to a tree of these files, None where none is near enough.

    Only complete indexes count, of this program's versions and made by the same rules. `first` are looked at before all
    others. Reads, never writes; never raises.
    """
    if not wanted:
        return None
    sources = (source for layout in _layouts(home, first) for source in sources_of(layout))
    return nearest_of(sources, wanted, rules_fingerprint=rules_fingerprint)


def nearest_of(sources: Iterator[ForkSource], wanted: Wanted, *, rules_fingerprint: str) -> Nearest | None:
    """Does what `nearest_source` does, among `sources`, of which earlier ones are preferred."""
    step = max(1, len(wanted) // SAMPLED_PATHS)
    sample = {path: wanted[path] for path in sorted(wanted)[::step]}
    sampled = [found for number, each in enumerate(sources) if (found := _sampled(each, sample, rules_fingerprint, number))]
    likely = [each for each in sampled if each.n_paths >= LEAST_SAMPLED * len(sample)]
    best: Nearest | None = None
    for each in sorted(likely, key=lambda each: (-each.n_same, each.order))[:MAX_COMPARED]:
        n_differing = _n_differing(each.source, wanted)
        if n_differing is not None and (best is None or n_differing < best.n_differing):
            best = Nearest(each.source, n_differing)
            if n_differing <= NEAR_ENOUGH * len(wanted):
                break
    return best if best is not None and best.n_differing <= MAX_DIFFERING * len(wanted) else None


def sources_of(layout: ProjectLayout) -> Iterator[ForkSource]:
    """Yields the epochs of a project that can be forked: the current one and those that are parked."""
    found = compatibility(layout)
    if found.status == "compatible" and found.current is not None:
        yield ForkSource(layout, found.current.epoch)
    for each in parked_epochs(layout):
        if found.current is None or each.epoch != found.current.epoch:
            yield ForkSource(layout, each.epoch)


def other_indexes(home: HomeLayout, layout: ProjectLayout) -> bool:
    """Returns whether a project of `home` other than `layout` has an index."""
    return any(path != layout.root and (path / "CURRENT").exists() for path in _directories(home.root / "projects"))


def _layouts(home: HomeLayout, first: Sequence[ProjectLayout]) -> Iterator[ProjectLayout]:
    yield from first
    given = {layout.root for layout in first}
    found: list[tuple[float, Path]] = []
    for project in _directories(home.root / "projects"):
        for path in (project, *_directories(project / "refs")):
            with suppress(OSError):
                found.append((os.stat(path / "CURRENT").st_mtime, path))
    for _, path in sorted(found, reverse=True)[:MAX_LAYOUTS]:
        if path not in given:
            yield ProjectLayout(path)


def _directories(parent: Path) -> list[Path]:
    with suppress(OSError), os.scandir(parent) as entries:
        return [Path(entry.path) for entry in entries if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
    return []


def _sampled(source: ForkSource, sample: Wanted, rules_fingerprint: str, order: int) -> _Sampled | None:
    marks = ",".join("?" * len(sample))
    with suppress(sqlite3.Error, CodeCompassError, OSError):
        with closing(connect_for_reading(source.layout.facts(source.epoch)).connection) as connection:
            meta = read_meta(FactsReader(connection))
            if meta.completeness != "complete" or meta.rules_fingerprint != rules_fingerprint:
                return None
            rows = connection.execute(f"SELECT path, blob_id, size FROM files WHERE path IN ({marks})", tuple(sample)).fetchall()
        return _Sampled(source, sum(sample[path] in known for path, *known in rows), len(rows), order)
    return None


def _n_differing(source: ForkSource, wanted: Wanted) -> int | None:
    with suppress(sqlite3.Error, OSError):
        with closing(connect_for_reading(source.layout.facts(source.epoch)).connection) as connection:
            known = {path: content for path, *content in connection.execute("SELECT path, blob_id, size FROM files")}
        n_same = sum(path in known and content in known[path] for path, content in wanted.items())
        return len(wanted) - n_same + sum(path not in wanted for path in known)
    return None
