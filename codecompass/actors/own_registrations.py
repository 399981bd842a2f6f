"""The projects that this server has registered by itself, because a question named them. One whose first index fails or is
cancelled is forgotten: nothing of it is left.

    register --> first job --> published      kept
                          `--> forget         the entry and the empty index are gone; questions that come during the pause after a
                                              failure are answered as before, but register nothing and start no job
                                        `--> register, by the first question after the pause, or by whoever orders an index

One that cannot even be registered, because the disk is full or the like, is assumed: answered from its files, and registered by
the first question that finds the registry writable.

Never forgotten: what a person has registered, named or grouped, also meanwhile, what another process is indexing, and anything
of which something was published.
"""

from collections import OrderedDict
from pathlib import Path
from typing import Final

import structlog
import trio
from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.errors import CodeCompassError, StoreRefused
from codecompass.store.housekeeping import is_published, remove_project
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry, assumed_project
from codecompass.units import SECONDS

KEPT_FORGOTTEN: Final = 64
"""How many forgotten projects are remembered for the pauses after their failures; the most recent ones."""

STOP_SECONDS: Final = 2 * SECONDS
"""How long a server that ends may take to forget the projects whose first index it did not finish."""


class _Forgotten(Struct, frozen=True):
    """The entry of a forgotten project. Until `paused_until`, by the event loop's clock, questions do not register it again.

    `refused` is why it could not be registered at all; None if it was.
    """

    project: Project
    paused_until: float
    refused: StoreRefused | None = None


class OwnRegistrations:
    """Registers projects for the router, and forgets them for their actors. One instance a server."""

    def __init__(self, registry: AsyncRegistry, home: HomeLayout) -> None:
        self._registry = registry
        self._home = home
        self._unfinished: dict[str, Project] = {}
        self._forgotten: OrderedDict[str, _Forgotten] = OrderedDict()
        self._log = structlog.get_logger(__name__)

    async def register(self, root: Path, *, auto_discovered: bool = False) -> Project:
        """Returns the project at the canonical `root`, registered now if it is unknown."""

        def add(registry: Registry) -> tuple[Project, bool]:
            is_new = registry.at(root) is None
            return registry.register(root, auto_discovered=auto_discovered), is_new

        project, is_new = await self._registry.run(add)
        self._forgotten.pop(project.project_id, None)
        if is_new:
            self._unfinished[project.project_id] = project
        return project

    def assume(self, root: Path, refused: StoreRefused, *, auto_discovered: bool) -> Project:
        """Returns an entry for a project that the registry has no room for, so that questions are answered from its files. It
        counts as forgotten: no job starts for it, and the next question tries to register it again."""
        project = assumed_project(root, auto_discovered=auto_discovered)
        known = self._forgotten.get(project.project_id)
        project = project if known is None else known.project
        if known is None or known.refused is None:
            self._log.warning("project_not_registered", root=str(root), cause=refused.message)
        self._keep(_Forgotten(project, float("-inf"), refused))
        return project

    def refusal(self, project: Project) -> StoreRefused | None:
        """Returns why this entry of a project could not be registered; None if it could."""
        found = self._forgotten.get(project.project_id)
        return None if found is None or found.project.created_at != project.created_at else found.refused

    def is_forgotten(self, project: Project) -> bool:
        """Whether this entry of a project was removed. No job may start for it: its index would belong to no project."""
        found = self._forgotten.get(project.project_id)
        return found is not None and found.project.created_at == project.created_at

    def forgotten(self, project_id: str, *, in_pause: bool) -> Project | None:
        """Returns the removed entry of a forgotten project, with `in_pause` only during the pause after its failure."""
        found = self._forgotten.get(project_id)
        if found is None or (in_pause and trio.current_time() >= found.paused_until):
            return None
        return found.project

    async def forget(self, project_id: str, paused_until: float = float("-inf")) -> bool:
        """Removes a project that this server has registered, with its empty index. Returns whether it is registered no longer.

        Does nothing if something was published, if another process writes the index or has a job for it, or if a person has
        registered, named or grouped it. Never fails: a project that cannot be removed stays.
        """
        project = self._unfinished.get(project_id)
        if project is None:
            return False
        try:
            is_gone = await trio.to_thread.run_sync(self._remove, project)
        except (CodeCompassError, OSError) as error:
            self._log.warning("project_not_forgotten", project=project_id, cause=str(error))
            return False
        if is_gone:
            del self._unfinished[project_id]
            self._keep(_Forgotten(project, paused_until))
            self._log.info("project_forgotten", project=project_id, root=str(project.root))
        return is_gone

    def _keep(self, forgotten: _Forgotten) -> None:
        self._forgotten[forgotten.project.project_id] = forgotten
        self._forgotten.move_to_end(forgotten.project.project_id)
        while len(self._forgotten) > KEPT_FORGOTTEN:
            self._forgotten.popitem(last=False)

    async def restore(self, project_id: str) -> None:
        """Registers a forgotten project again, for a job that was ordered while it was being removed. Never fails."""
        found = self._forgotten.get(project_id)
        if found is None:
            return
        try:
            await self.register(found.project.root, auto_discovered=found.project.is_auto_discovered)
        except CodeCompassError as error:
            self._log.warning("project_not_registered_again", project=project_id, cause=error.message)

    async def forget_unfinished(self) -> None:
        """Forgets all projects of which nothing was published, at the end of the server, when no job runs any more."""
        with trio.move_on_after(STOP_SECONDS):
            for project_id in list(self._unfinished):
                await self.forget(project_id)

    def _remove(self, project: Project) -> bool:
        """Removes the entry and the index under the locks of the index. Runs in a thread."""
        layout = self._home.project(project.project_id)
        is_gone = False

        def confirm() -> bool:
            # Another process may have indexed it until just now.
            nonlocal is_gone
            is_gone = not is_published(layout) and trio.from_thread.run(self._registry.run, Registry.forget, project)
            return is_gone

        if layout.root.is_dir():
            remove_project(layout, confirm=confirm)
        else:
            confirm()
        return is_gone
