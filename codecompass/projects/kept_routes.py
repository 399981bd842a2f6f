"""Routes that are kept: which project the requests of a session mean, until something changes by which that is decided.

A route depends on the registry, and on the directories that lead to the paths that were named: a link among them, or a `.git` or
another project between a path and the root of its project, leads elsewhere. Both are checked before a kept route is used, by a
number and by one lstat() a directory, so that the usual question resolves no path.
"""

import os
import stat
import time
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Generic, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.units import MINUTES

MAX_ROUTES: Final = 256
"""Routes that a server keeps: one or a few for each of its sessions."""

MAX_PLACES: Final = 256
"""Directories on which a kept route may depend."""

KEPT_SECONDS: Final = 10 * MINUTES
"""How long a route is kept: a marker above a directory without a project is noticed then at the latest."""

RouteT = TypeVar("RouteT")


class Place(Struct, frozen=True):
    """A directory, file or link as it was when it was read."""

    path: str
    device: int
    inode: int
    is_directory: bool
    changed_ns: int
    """When it was changed, as `st_ctime_ns`; 0 if what is in it does not count."""

    def is_as_it_was(self) -> bool:
        """Whether the path still has it, and, if that counts, with the same content. Blocking."""
        found = _place(self.path)
        return found is not None and self in (found, replace(found, changed_ns=0))


def _place(path: str) -> Place | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return Place(path, found.st_dev, found.st_ino, stat.S_ISDIR(found.st_mode), found.st_ctime_ns)


def places_to(path: str) -> tuple[Place, ...]:
    """Returns what leads from the root of the disk to `path`, absolute and as it is written. Follows no link. Blocking."""
    found: list[Place] = []
    path = path.rstrip("/")
    while path:
        place = _place(path)
        found += () if place is None else (place,)
        path = path.rpartition("/")[0].rstrip("/")
    return tuple(found)


def deciding(places: Sequence[Place], directory: Path, root: Path | None) -> tuple[Place, ...]:
    """Returns the places without the content of directories in which nothing can decide which project `directory` belongs to.

    It belongs to the registered project at `root`, so what is in the directories from it up to that root counts; without a
    project, what is in the directory itself. A link counts as it is: one that is made anew may have the inode of the old one.
    """
    own = {str(directory)} if root is None else {str(each) for each in (directory, *directory.parents) if root in each.parents}
    return tuple(each if each.path in own or not each.is_directory else replace(each, changed_ns=0) for each in places)


class Trail:
    """By what a route was decided. `is_whole` is False if something else counts as well, so that the route cannot be kept."""

    def __init__(self) -> None:
        self.places: list[Place] = []
        self.is_whole = True

    def add(self, places: Sequence[Place]) -> None:
        """Adds directories; none means that it is not known what counts."""
        self.places += places
        self.is_whole = self.is_whole and bool(places)


class _Kept(Struct, Generic[RouteT], frozen=True):
    route: RouteT
    places: tuple[Place, ...]
    generation: int
    until: float


class KeptRoutes(Generic[RouteT]):
    """Routes by what was asked for: any hashable key. One instance a server."""

    def __init__(self, registry: AsyncRegistry, blocking: BlockingCalls) -> None:
        self._registry = registry
        self._blocking = blocking
        self._kept: OrderedDict[object, _Kept[RouteT]] = OrderedDict()

    async def generation(self) -> int:
        """Returns the generation of the registry, to be read before a route that is to be kept is found."""
        return await self._registry.generation()

    async def find(self, key: object, generation: int) -> RouteT | None:
        """Returns the route for `key` if nothing has changed that decided it. Raises FileSystemUnresponsive."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if kept.generation == generation and time.monotonic() < kept.until:
            places = kept.places
            if await self._blocking.run(lambda _call: all(map(Place.is_as_it_was, places)), places[0].path):
                return kept.route
        self.drop(key)
        return None

    def keep(self, key: object, route: RouteT, trail: Trail, generation: int) -> None:
        """Keeps a route, if the whole of its trail is known; the one used least lately makes room."""
        places = tuple(dict.fromkeys(trail.places))
        if trail.is_whole and 0 < len(places) <= MAX_PLACES:
            self._kept[key] = _Kept(route, places, generation, time.monotonic() + KEPT_SECONDS)
            self._kept.move_to_end(key)
        while len(self._kept) > MAX_ROUTES:
            self._kept.popitem(last=False)

    def drop(self, key: object) -> None:
        """Drops a route, if it is kept."""
        self._kept.pop(key, None)
