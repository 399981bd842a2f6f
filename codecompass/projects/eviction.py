"""Registration and eviction of workspaces that the server discovered. Their number is limited: the least recently used idle one
is evicted.

Never evicted: what the user registered, made the default or pinned, what is busy in this process, and what another process
writes or has open. Owns which workspace is being evicted now; the registry remembers the roots of evicted ones.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol

import structlog
import trio

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.job_state import JobHandle
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.errors import CodeCompassError, WorkspaceLimitExceeded
from codecompass.projects.detection import RoutingRules
from codecompass.projects.visibility import visible
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.housekeeping import remove_project
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry

FULL: Final = (
    "the indexes take more than storage.max_size allows, and no more workspaces are registered. Ask whoever runs this server to "
    "free space (codecompass projects gc, codecompass projects remove NAME) or to raise storage.max_size"
)
"""Names no project: an answer about one workspace must not reveal others. `health_check` gives details."""


class Workspaces(Protocol):
    """The part of the supervisor that the tools use."""

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the live workspace of `project`, started if necessary."""

    def observe(self) -> tuple[WorkspaceObservation, ...]:
        """Returns the newest observation of every live workspace."""

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """Returns the newest observation of one workspace, or of one of its commits; None if it is not live."""

    def find_job(self, job_id: str) -> JobHandle | None:
        """Returns a job of this process; None for an unknown id."""

    async def evict(self, project_id: str) -> bool:
        """Ends a workspace and waits for its end. Returns False if it is busy."""


class AutoWorkspaces:
    """Registers discovered workspaces and evicts them. One instance a server."""

    def __init__(
        self,
        rules: RoutingRules,
        registry: AsyncRegistry,
        own: OwnRegistrations,
        workspaces: Workspaces,
        home: HomeLayout,
    ) -> None:
        self._rules = rules
        self._registry = registry
        self._own = own
        self._workspaces = workspaces
        self._home = home
        self._lock = trio.Lock()
        self._leaving: str | None = None
        self.is_full = False
        """Whether the store exceeds its quota although nothing more can be evicted. No workspace is registered then."""
        self._log = structlog.get_logger(__name__)

    def is_leaving(self, project_id: str) -> bool:
        """Whether this workspace is being evicted."""
        return project_id == self._leaving

    async def wait_settled(self) -> None:
        """Waits until no workspace is being registered or evicted."""
        async with self._lock:
            pass

    async def admit(self, root: Path, *, was_evicted: bool = False) -> Project:
        """Returns the project at the canonical `root`; registers it as discovered if it is unknown, and makes room for it first.
        One that was evicted stays registered also if no index of it can be made: it was known before.

        Raises WorkspaceLimitExceeded if no room can be made.
        """
        async with self._lock:
            known = await self._registry.run(Registry.at, root)
            if known is not None:
                return known
            if self.is_full:
                raise WorkspaceLimitExceeded(FULL, limit=self._rules.max_auto_workspaces)
            await self._make_room()
            if was_evicted:
                project = await self._registry.run(Registry.register, root, auto_discovered=True)
            else:
                project = await self._own.register(root, auto_discovered=True)
            self._log.info("workspace_discovered", project=project.project_id, root=str(root))
            return project

    async def evict(self, project: Project) -> int:
        """Evicts a workspace and returns the bytes freed on disk; 0 if it is in use and stays."""
        async with self._lock:
            return await self._evict(project.project_id) or 0

    async def least_recently_used(self) -> tuple[Project, ...]:
        """Returns the projects that may be evicted, the least recently used first."""
        discovered = [project for project in await self._registry.run(Registry.projects) if project.is_auto_discovered]
        seen = {observation.project_id: observation for observation in self._workspaces.observe()}
        return eviction_order(discovered, seen, kept=frozenset(self._rules.pinned))

    async def _make_room(self) -> None:
        limit = self._rules.max_auto_workspaces
        here = frozenset(each.project_id for each in visible(await self._registry.run(Registry.projects), self._rules))
        candidates = await self.least_recently_used()
        n_discovered = await self._registry.run(
            lambda registry: sum(each.is_auto_discovered and each.project_id in here for each in registry.projects())
        )
        surplus = n_discovered - limit + 1
        if surplus <= 0:
            return
        for project in candidates:
            if surplus > 0 and project.project_id in here and await self._evict(project.project_id) is not None:
                surplus -= 1
        if surplus > 0:
            raise WorkspaceLimitExceeded(
                f"this server has registered {n_discovered} workspaces by itself, its limit is {limit}, and none can be evicted: "
                "all are busy, pinned or in use. Call again later, or ask whoever runs it to raise --max-auto-workspaces or to "
                "free one (codecompass projects remove)",
                limit=limit,
            )

    async def _evict(self, project_id: str) -> int | None:
        """Returns the bytes freed; None if the workspace stays."""
        self._leaving = project_id
        try:
            if not await self._workspaces.evict(project_id):
                return None
            return await trio.to_thread.run_sync(self._remove, project_id)
        except CodeCompassError as error:
            self._log.info("eviction_refused", project=project_id, cause=error.message)
            return None
        finally:
            self._leaving = None

    def _remove(self, project_id: str) -> int | None:
        """Removes the index and the registration under the locks of the index. Runs in a thread."""
        is_evicted = False

        def evict() -> bool:
            # Another process may have registered or removed it after it was chosen.
            nonlocal is_evicted
            is_evicted = trio.from_thread.run(self._registry.run, lambda registry: bool(registry.evict(project_id)))
            return is_evicted

        layout = self._home.project(project_id)
        if layout.root.exists():
            n_bytes = remove_project(layout, spare_readers=True, confirm=evict)
        else:
            n_bytes = 0
            evict()
        if not is_evicted:
            return None
        self._log.info("workspace_evicted", project=project_id, freed_bytes=n_bytes)
        return n_bytes


def eviction_order(
    discovered: Iterable[Project], seen: Mapping[str, WorkspaceObservation], *, kept: frozenset[Path]
) -> tuple[Project, ...]:
    """Returns the projects that may be evicted, the least recently used first. Pure; `seen` is by project id."""

    def used_at(project: Project) -> float:
        observation = seen.get(project.project_id)
        return max(project.last_used_at, observation.last_used_at if observation else 0.0)

    candidates = [project for project in discovered if not project.is_default and project.root not in kept]
    return tuple(sorted(candidates, key=lambda project: (used_at(project), project.project_id)))
