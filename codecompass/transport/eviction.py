"""Workspaces that the server took up by itself: at most so many, the least recently used idle one makes room.

Never evicted: what somebody registered, named the default or pinned, what is busy here, and what another process writes.
Owns which ones are leaving at the moment, and where the evicted ones were, so that they are found again by their id.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Protocol

import structlog
import trio

from codecompass.actors.handle import WorkspaceHandle
from codecompass.actors.jobs import JobView
from codecompass.actors.ledger import Ledger
from codecompass.actors.observation import WorkspaceObservation
from codecompass.errors import CodeCompassError, WorkspaceLimitExceeded
from codecompass.store.housekeeping import remove_project
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project
from codecompass.transport.routing_rules import RoutingRules

REMEMBERED: Final = 1000
"""Evicted workspaces whose roots are kept in mind."""


class Workspaces(Protocol):
    """What the tools use of the supervisor."""

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the live workspace of `project`, started if need be. Raises WorkspaceLimitExceeded."""

    def observe(self) -> tuple[WorkspaceObservation, ...]:
        """Returns the newest observation of every live workspace."""

    def find(self, project_id: str) -> WorkspaceObservation | None:
        """Returns the newest observation of one workspace, None where it is not live."""

    def find_job(self, job_id: str) -> JobView | None:
        """Returns a job of this process."""

    async def evict(self, project_id: str) -> bool:
        """Ends a workspace and waits for its end. Returns False where it is busy."""


class AutoWorkspaces:
    """Takes workspaces up and gives them up. One for a server."""

    def __init__(self, rules: RoutingRules, ledger: Ledger, workspaces: Workspaces, home: HomeLayout) -> None:
        self._rules = rules
        self._ledger = ledger
        self._workspaces = workspaces
        self._home = home
        self._lock = trio.Lock()
        self._leaving: str | None = None
        self._evicted: OrderedDict[str, Path] = OrderedDict()
        self._log = structlog.get_logger(__name__)

    def is_leaving(self, project_id: str) -> bool:
        """Whether this workspace is being evicted right now."""
        return project_id == self._leaving

    async def wait_settled(self) -> None:
        """Returns once no workspace is coming or going."""
        async with self._lock:
            pass

    def evicted_root(self, name: str) -> Path | None:
        """Returns where a workspace was that has been evicted by this server, by the id or the alias that it had."""
        return self._evicted.get(name)

    async def admit(self, root: Path) -> Project:
        """Returns the project at the canonical `root`, registered as discovered by the server; makes room for it first.

        Raises WorkspaceLimitExceeded where no workspace can make room.
        """
        async with self._lock:
            known = await self._ledger.at(root)
            if known is not None:
                return known
            await self._make_room()
            project = await self._ledger.register(root, auto_discovered=True)
            self._evicted.pop(project.project_id, None)
            self._log.info("workspace_discovered", project=project.project_id, root=str(root))
            return project

    async def _make_room(self) -> None:
        limit = self._rules.max_auto_workspaces
        discovered = [project for project in await self._ledger.projects() if project.is_auto_discovered]
        surplus = len(discovered) - limit + 1
        if surplus <= 0:
            return
        seen = {observation.project_id: observation for observation in self._workspaces.observe()}
        for project in eviction_order(discovered, seen, kept=frozenset(self._rules.pinned)):
            if surplus > 0 and await self._evict(project.project_id):
                surplus -= 1
        if surplus > 0:
            raise WorkspaceLimitExceeded(
                f"this server has taken up {len(discovered)} workspaces, its limit is {limit}, and none of them can make room: "
                "all are busy, pinned or in use. Call again later, raise --max-auto-workspaces, or free one with: "
                "codecompass projects remove",
                limit=limit,
            )

    async def _evict(self, project_id: str) -> bool:
        self._leaving = project_id
        try:
            if not await self._workspaces.evict(project_id):
                return False
            # Somebody may have registered it, or removed it, since the list was made.
            project = await self._ledger.find(project_id)
            if project is None or not project.is_auto_discovered or project.is_default:
                return project is None
            try:
                await trio.to_thread.run_sync(remove_project, self._home.project(project_id))
            except CodeCompassError as error:
                self._log.info("eviction_refused", project=project_id, cause=error.message)
                return False
            await self._ledger.remove(project_id)
            self._remember(project)
            self._log.info("workspace_evicted", project=project_id, root=str(project.root))
            return True
        finally:
            self._leaving = None

    def _remember(self, project: Project) -> None:
        for name in (project.project_id, project.name):
            self._evicted[name] = project.root
        while len(self._evicted) > REMEMBERED:
            self._evicted.popitem(last=False)


def eviction_order(
    discovered: Iterable[Project], seen: Mapping[str, WorkspaceObservation], *, kept: frozenset[Path]
) -> tuple[Project, ...]:
    """Returns those that may be evicted, the least recently used first. Pure; `seen` is by project id."""

    def used_at(project: Project) -> float:
        observation = seen.get(project.project_id)
        return max(project.last_used_at, observation.last_used_at if observation else 0.0)

    movable = [project for project in discovered if not project.is_default and project.root not in kept]
    return tuple(sorted(movable, key=lambda project: (used_at(project), project.project_id)))
