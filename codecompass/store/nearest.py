"""Finds the best index to fork for a new one: the one in the home that holds most of the wanted files.

Only the content of an index matters, not its repository: a worktree, a clone, a copied directory and a fork of a repository all
hold mostly the same files. A sample of paths is looked up in each index first; only the best are compared completely. Nothing is
locked here: an index may be gone by the time it is used.

Git's index and objects in a tree may claim to be any content, and a fork keeps what they claim. So an index may only be a source
for those who may see its project (`Bases`).
"""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.databases import connect_for_reading
from codecompass.store.epochs import compatibility, parked_epochs
from codecompass.store.facts import FactsReader
from codecompass.store.forks import ForkSource
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.snapshot import read_meta

MAX_LAYOUTS: Final = 64
"""Indexes that are sampled, the most recently published first. Each takes about a millisecond."""

SAMPLED_PATHS: Final = 32
LEAST_SAMPLED: Final = 0.5
"""The share of the sampled paths that an index must have to be compared."""

MAX_COMPARED: Final = 8
"""Indexes that are compared completely, in about 1 us per file each."""

NEAR_ENOUGH: Final = 0.01
"""If no larger share of the files differs, no other index is compared."""

MAX_DIFFERING: Final = 0.5
"""If a larger share of the files differs, an index is not worth forking: what is removed from it still costs space and time."""

Wanted = Mapping[str, bytes | int]
"""Git's blob id of each file's content, or the file's size in bytes if that is unknown; by path."""


Bases = Collection[str] | None
"""The ids of the projects whose indexes may be forked, besides the job's own; None for all of the home."""


class Nearest(Struct, frozen=True):
    """An index to fork. `n_differing` counts the files that it lacks, has in addition, or has with a different content."""

    source: ForkSource
    n_differing: int


class _Sampled(Struct, frozen=True):
    source: ForkSource
    n_same: int
    n_paths: int
    order: int


def nearest_source(
    home: HomeLayout, wanted: Wanted, *, own: ProjectLayout, rules_fingerprint: str, bases: Bases = None
) -> Nearest | None:
    """Returns the index in `home` that is nearest to a tree of these files, None if none is near enough.

    Only complete indexes count that have this program's versions and were made by the same rules. Those of the project `own` are
    always allowed, and that of its working tree is preferred; the others must be of `bases`. Writes nothing; never raises.
    """
    if not wanted:
        return None
    sources = (source for layout in _layouts(home, own, bases) for source in sources_of(layout))
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
    """Yields the epochs of a project that can be forked: the current one and the parked ones."""
    found = compatibility(layout)
    if found.status == "compatible" and found.current is not None:
        yield ForkSource(layout, found.current.epoch)
    for each in parked_epochs(layout):
        if found.current is None or each.epoch != found.current.epoch:
            yield ForkSource(layout, each.epoch)


def other_indexes(home: HomeLayout, layout: ProjectLayout, bases: Bases = None) -> bool:
    """Returns whether a project of `home` other than `layout`, and one of `bases`, has an index."""
    return any(path != layout.root and (path / "CURRENT").exists() for path in _projects(home, layout, bases))


def _layouts(home: HomeLayout, own: ProjectLayout, bases: Bases) -> Iterator[ProjectLayout]:
    yield own
    found: list[tuple[float, Path]] = []
    for project in _projects(home, own, bases):
        for path in (project, *_directories(project / "refs")):
            with suppress(OSError):
                found.append((os.stat(path / "CURRENT").st_mtime, path))
    for _, path in sorted(found, reverse=True)[:MAX_LAYOUTS]:
        if path != own.root:
            yield ProjectLayout(path)


def _projects(home: HomeLayout, own: ProjectLayout, bases: Bases) -> list[Path]:
    """Returns the directories of the project `own` and of those of `bases`."""
    found = _directories(home.root / "projects")
    return found if bases is None else [path for path in found if path.name == own.project_id or path.name in bases]


def _directories(parent: Path) -> list[Path]:
    with suppress(OSError), os.scandir(parent) as entries:
        return [Path(entry.path) for entry in entries if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)]
    return []


def _sampled(source: ForkSource, sample: Wanted, rules_fingerprint: str, order: int) -> _Sampled | None:
    placeholders = ",".join("?" * len(sample))
    with suppress(sqlite3.Error, CodeCompassError, OSError):
        with closing(connect_for_reading(source.layout.facts(source.epoch)).connection) as connection:
            meta = read_meta(FactsReader(connection))
            if meta.completeness != "complete" or meta.rules_fingerprint != rules_fingerprint:
                return None
            rows = connection.execute(
                f"SELECT path, blob_id, size FROM files WHERE path IN ({placeholders})", tuple(sample)
            ).fetchall()
        return _Sampled(source, sum(sample[path] in known for path, *known in rows), len(rows), order)
    return None


def _n_differing(source: ForkSource, wanted: Wanted) -> int | None:
    with suppress(sqlite3.Error, OSError):
        with closing(connect_for_reading(source.layout.facts(source.epoch)).connection) as connection:
            known = {path: content for path, *content in connection.execute("SELECT path, blob_id, size FROM files")}
        n_same = sum(path in known and content in known[path] for path, content in wanted.items())
        return len(wanted) - n_same + sum(path not in wanted for path in known)
    return None
