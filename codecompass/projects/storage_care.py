"""Keeps the store clean and small, in the background: what nobody needs is removed, what does not fit makes room.

    leftovers      of removals and of first indexes that nobody finished          removed
    gone           discovered workspaces whose directory is no more               given up
    over the quota indexes of no project, then discovered workspaces, oldest first, until the store fits again

Never removed: what somebody registered, pinned or made the default, and what any process writes or has open. Where that alone
is too much for the quota, no workspace is taken up any more, and status, health and doctor say so.
"""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import structlog
import trio
from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import CodeCompassError
from codecompass.projects.eviction import AutoWorkspaces
from codecompass.projects.known import is_gone
from codecompass.store.housekeeping import Orphan, disk_usage, orphans, over_quota, remove_orphan
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry
from codecompass.store.registry_database import reserve
from codecompass.units import DAYS, HOURS, MINUTES

ROUND_SECONDS: Final = 1 * MINUTES
"""Between two looks. One costs a file state for each file of the store: 10 ms for a hundred workspaces."""

HALF_MADE_SECONDS: Final = 1 * HOURS
"""A first index that nobody writes for so long is nobody's work any more."""

GONE_SECONDS: Final = 1 * DAYS
"""A directory may be on a disk that is plugged in again tomorrow; unused and gone for longer it is not waited for."""


class StorageState(Struct, frozen=True, kw_only=True):
    """The store at the last look, in bytes. `max_bytes` 0 is no quota; `report` says what to do where it does not fit."""

    used_bytes: int = 0
    max_bytes: int = 0
    report: str = ""


class _Look(Struct, frozen=True, kw_only=True):
    """What was found on disk. `sizes` and `gone` are of projects, by id."""

    sizes: Mapping[str, int]
    gone: frozenset[str]
    orphans: tuple[Orphan, ...]
    others: int

    @property
    def used_bytes(self) -> int:
        """The size of the whole store."""
        return sum(self.sizes.values()) + sum(orphan.n_bytes for orphan in self.orphans) + self.others


class StorageCare:
    """One for a server; several servers on one store do not disturb each other."""

    def __init__(
        self,
        registry: AsyncRegistry,
        auto_workspaces: AutoWorkspaces,
        home: HomeLayout,
        *,
        max_bytes: int,
        blocking: BlockingCalls,
    ) -> None:
        self._blocking = blocking
        self._registry = registry
        self._auto = auto_workspaces
        self._home = home
        self._max_bytes = max_bytes
        self._limiter = trio.CapacityLimiter(1)
        self._log = structlog.get_logger(__name__)
        self.state = StorageState(max_bytes=max_bytes)

    async def work(self) -> None:
        """Looks after the store for ever. A look that fails is tried again at the next one."""
        while True:
            try:
                await self.look_around()
            except (CodeCompassError, OSError) as error:
                self._log.warning("store_not_looked_after", cause=str(error))
            await trio.sleep(ROUND_SECONDS)

    async def look_around(self) -> StorageState:
        """Removes what may be, and returns how the store is then."""
        projects = await self._registry.run(Registry.projects)
        gone = frozenset([project.project_id for project in projects if await is_gone(self._blocking, project.root)])
        found = await trio.to_thread.run_sync(self._look, projects, gone, limiter=self._limiter)
        now = time.time()
        used = found.used_bytes
        for orphan in found.orphans:
            if orphan.kind == "removed" or (orphan.kind == "half-made" and now - orphan.used_at > HALF_MADE_SECONDS):
                used -= await self._remove(orphan)
        for project in projects:
            is_given_up = project.project_id in found.gone and now - project.last_used_at > GONE_SECONDS
            if is_given_up and project.is_auto_discovered:
                used -= await self._auto.give_up(project)
        if self._max_bytes and used > self._max_bytes:
            used = await self._make_room(found, used, now)
        sizes = ((project.name, found.sizes[project.project_id]) for project in projects)
        report = over_quota(used, self._max_bytes, sizes)
        if report and not self.state.report:
            self._log.warning("store_over_quota", used_bytes=used, max_bytes=self._max_bytes)
        self._auto.is_full = bool(report)
        self.state = StorageState(used_bytes=used, max_bytes=self._max_bytes, report=report)
        return self.state

    async def _make_room(self, found: _Look, used: int, now: float) -> int:
        for orphan in sorted(found.orphans, key=lambda each: each.used_at):
            # Its project may come back with the next question: the registry can be lost, an index need not be.
            if used > self._max_bytes and orphan.kind == "unknown" and now - orphan.used_at > GONE_SECONDS:
                used -= await self._remove(orphan)
        for project in await self._auto.least_recently_used():
            if used > self._max_bytes and found.sizes.get(project.project_id):
                used -= await self._auto.give_up(project)
        return used

    async def _remove(self, orphan: Orphan) -> int:
        freed = await trio.to_thread.run_sync(remove_orphan, orphan, limiter=self._limiter)
        self._log.info("leftover_removed", path=str(orphan.path), kind=orphan.kind, freed_bytes=freed)
        return freed

    def _look(self, projects: tuple[Project, ...], gone: frozenset[str]) -> _Look:
        sizes: dict[str, int] = {
            project.project_id: disk_usage(self._home.project(project.project_id).root) for project in projects
        }
        return _Look(
            sizes=sizes,
            gone=gone,
            orphans=orphans(self._home, frozenset(sizes)),
            others=_size(self._home.registry) + _size(reserve(self._home.registry)),
        )


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
