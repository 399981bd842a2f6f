"""Removes from the store, in the background, what is no longer needed and what exceeds the quota.

    leftovers of removals and of unfinished first indexes             removed
    discovered workspaces whose directory is gone                     evicted
    over the quota: indexes of unknown projects, then discovered      removed or evicted, the least recently used first,
                    workspaces                                        until the store fits again

Never removed: what the user registered, pinned or made the default, and what any process writes or has open. If that alone
exceeds the quota, no more workspaces are registered, and status, health and doctor say so. The store is that of all projects; a
report names none outside of the allowed roots.
"""

import time
from collections.abc import Mapping
from typing import Final

import structlog
import trio
from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import CodeCompassError
from codecompass.projects.detection import RoutingRules
from codecompass.projects.eviction import AutoWorkspaces
from codecompass.projects.survey import is_gone
from codecompass.projects.visibility import visible
from codecompass.store.filesystem import disk_usage
from codecompass.store.housekeeping import Orphan, orphans, over_quota, remove_orphan
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry
from codecompass.store.registry_database import reserve
from codecompass.units import DAYS, HOURS, MINUTES

ROUND_SECONDS: Final = 1 * MINUTES
"""Pause between two rounds. A round costs one stat() call for each file of the store: 10 ms for a hundred workspaces."""

HALF_MADE_SECONDS: Final = 1 * HOURS
"""An unfinished first index that was not written for this long counts as abandoned."""

GONE_SECONDS: Final = 1 * DAYS
"""A project whose directory is gone is evicted when it was not used for this long: the disk may be plugged in again tomorrow."""


class StorageState(Struct, frozen=True, kw_only=True):
    """The size of the store after the last round. `max_bytes` 0 means no quota; `report` says what to do if it is exceeded."""

    used_bytes: int = 0
    max_bytes: int = 0
    report: str = ""


class _Contents(Struct, frozen=True, kw_only=True):
    """What is on disk. `sizes` are bytes by project id, `gone` the ids of projects without directory; `used_bytes` is the size of
    the whole store, in which files shared by several indexes count once."""

    sizes: Mapping[str, int]
    gone: frozenset[str]
    orphans: tuple[Orphan, ...]
    used_bytes: int


class StorageCleanup:
    """Cleans up the store. One instance a server; several servers can share a store."""

    def __init__(
        self,
        registry: AsyncRegistry,
        auto_workspaces: AutoWorkspaces,
        home: HomeLayout,
        rules: RoutingRules,
        *,
        max_bytes: int,
        blocking: BlockingCalls,
    ) -> None:
        self._blocking = blocking
        self._registry = registry
        self._auto = auto_workspaces
        self._home = home
        self._rules = rules
        self._max_bytes = max_bytes
        self._limiter = trio.CapacityLimiter(1)
        self._log = structlog.get_logger(__name__)
        self.state = StorageState(max_bytes=max_bytes)

    async def work(self) -> None:
        """Cleans up round after round, until cancelled. A failure ends only its round."""
        while True:
            try:
                await self.clean_up()
            except (CodeCompassError, OSError) as error:
                self._log.warning("storage_cleanup_failed", cause=str(error))
            await trio.sleep(ROUND_SECONDS)

    async def clean_up(self) -> StorageState:
        """Removes what may be removed, and returns the state of the store afterwards."""
        projects = await self._registry.run(Registry.projects)
        gone = frozenset([project.project_id for project in projects if await is_gone(self._blocking, project.root)])
        found = await trio.to_thread.run_sync(self._read, projects, gone, limiter=self._limiter)
        now = time.time()
        used = found.used_bytes
        for orphan in found.orphans:
            if orphan.kind == "removed" or (orphan.kind == "half-made" and now - orphan.used_at > HALF_MADE_SECONDS):
                used -= await self._remove(orphan)
        for project in projects:
            is_given_up = project.project_id in found.gone and now - project.last_used_at > GONE_SECONDS
            if is_given_up and project.is_auto_discovered:
                used -= await self._auto.evict(project)
        if self._max_bytes and used > self._max_bytes:
            used = await self._make_room(found, used, now)
        sizes = ((project.name, found.sizes[project.project_id]) for project in visible(projects, self._rules))
        report = over_quota(used, self._max_bytes, sizes)
        if report and not self.state.report:
            self._log.warning("store_over_quota", used_bytes=used, max_bytes=self._max_bytes)
        self._auto.is_full = bool(report)
        self.state = StorageState(used_bytes=used, max_bytes=self._max_bytes, report=report)
        return self.state

    async def _make_room(self, found: _Contents, used: int, now: float) -> int:
        for orphan in sorted(found.orphans, key=lambda each: each.used_at):
            # Not at once: if the registry was lost, the next question about the project makes its index usable again.
            if used > self._max_bytes and orphan.kind == "unknown" and now - orphan.used_at > GONE_SECONDS:
                used -= await self._remove(orphan)
        for project in await self._auto.least_recently_used():
            if used > self._max_bytes and found.sizes.get(project.project_id):
                used -= await self._auto.evict(project)
        return used

    async def _remove(self, orphan: Orphan) -> int:
        freed = await trio.to_thread.run_sync(remove_orphan, orphan, limiter=self._limiter)
        self._log.info("leftover_removed", path=str(orphan.path), kind=orphan.kind, freed_bytes=freed)
        return freed

    def _read(self, projects: tuple[Project, ...], gone: frozenset[str]) -> _Contents:
        sizes: dict[str, int] = {
            project.project_id: disk_usage(self._home.project(project.project_id).root) for project in projects
        }
        return _Contents(
            sizes=sizes,
            gone=gone,
            orphans=orphans(self._home, frozenset(sizes)),
            used_bytes=disk_usage(self._home.root / "projects", self._home.registry, reserve(self._home.registry)),
        )
