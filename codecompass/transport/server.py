"""One server: the registry, the worker processes, the workspaces and the tools, put together. Transports stand on top.

    open_server -> Server --> sessions of all transports --> tools --> router --> supervisor --> workspaces

Nothing is opened before it is needed: a client's first message is answered before the registry or an index is touched. In
the background the server takes over what interrupted jobs left, learns the known projects, and warms the recent ones.
"""

import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal

import structlog
import trio
from msgspec import Struct

from codecompass.actors.ledger import Ledger, open_ledger
from codecompass.actors.limits import Limits
from codecompass.actors.supervisor import SupervisorSettings, WorkspaceSupervisor, open_supervisor
from codecompass.actors.workbench import IndexWorkbench, Workbench
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.actors.workspace import WorkspaceSettings
from codecompass.errors import CodeCompassError
from codecompass.settings import Settings
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, SECONDS

PROJECTS_SECONDS: Final = 5 * SECONDS
"""How often the list of known projects is read again: another process may have registered one."""

PrewarmStatus = Literal["pending", "running", "complete", "skipped"]


class Launch(Struct, frozen=True, kw_only=True):
    """What a server is started with. `settings_for` reads those of a project; `pins` are canonical, the first one answers
    requests that name no workspace, the others are only known."""

    settings: Settings
    settings_for: Callable[[Path], Settings]
    home: HomeLayout
    pins: tuple[Path, ...] = ()
    environment: dict[str, str] = {}
    working_directory: Path | None = None


class Server:
    """Get one from `open_server`. Several can live in one process."""

    def __init__(self, launch: Launch, ledger: Ledger, supervisor: WorkspaceSupervisor) -> None:
        self.launch = launch
        self.ledger = ledger
        self.supervisor = supervisor
        self.started_at = time.time()
        self.started_monotonic = time.monotonic()
        self.projects: tuple[Project, ...] = ()
        self.pinned: tuple[Project, ...] = ()
        self.warmset: tuple[str, ...] = ()
        self.prewarm_status: PrewarmStatus = "pending"
        self._log = structlog.get_logger(__name__)

    async def serve_background(self) -> None:
        """Never ends by itself. No failure in here is a reason to stop answering."""
        try:
            lost = await self.ledger.recover()
            if lost:
                self._log.info("interrupted_jobs_found", count=len(lost))
            self.pinned = tuple([await self.ledger.register(root) for root in self.launch.pins])
            self.projects = await self.ledger.projects()
        except CodeCompassError as error:
            self._log.error("registry_unavailable", cause=error.message)
        self._prewarm()
        while True:
            await trio.sleep(PROJECTS_SECONDS)
            try:
                self.projects = await self.ledger.projects()
            except CodeCompassError as error:
                self._log.warning("registry_unavailable", cause=error.message)

    def _prewarm(self) -> None:
        """Starts the workspaces that are likely to be asked first; each opens its index by itself."""
        server = self.launch.settings.server
        if not server.prewarm or not server.warmset_capacity:
            self.prewarm_status = "skipped"
            return
        self.prewarm_status = "running"
        pinned = {project.project_id for project in self.pinned}
        recent = sorted(self.projects, key=lambda each: (each.project_id not in pinned, -each.last_used_at))
        chosen = [project for project in recent if project.root.is_dir()][: server.warmset_capacity]
        for project in chosen:
            self.supervisor.route(project)
        self.warmset = tuple(project.project_id for project in chosen)
        self.prewarm_status = "complete"


@asynccontextmanager
async def open_server(launch: Launch) -> AsyncIterator[Server]:
    """Gives a server; when the block is left all its workspaces, processes and files are closed."""
    settings = launch.settings
    limits = Limits()
    query = settings.query
    supervisor_settings = SupervisorSettings(
        workspace=WorkspaceSettings(
            freshness_policy=query.freshness_policy, freshness_wait=query.freshness_wait_ms * MILLISECONDS
        )
    )
    async with (
        open_ledger(launch.home, limits, busy_timeout_ms=settings.storage.busy_timeout_ms) as ledger,
        open_worker_pool(settings.index.workers or default_pool_size()) as pool,
    ):

        async def make_workbench(project: Project) -> Workbench:
            return IndexWorkbench(
                project=project,
                home=launch.home,
                settings=await trio.to_thread.run_sync(_settings_of, launch, project.root, limiter=limits.checks),
                pool=pool,
                limits=limits,
                ledger=ledger,
            )

        async with open_supervisor(make_workbench, supervisor_settings, memory=resident_bytes) as supervisor:
            async with trio.open_nursery() as nursery:
                server = Server(launch, ledger, supervisor)
                nursery.start_soon(server.serve_background)
                yield server
                nursery.cancel_scope.cancel()


def _settings_of(launch: Launch, root: Path) -> Settings:
    """A project's own file can be broken; its index must not be lost to that."""
    try:
        return launch.settings_for(root)
    except CodeCompassError as error:
        structlog.get_logger(__name__).warning("project_settings_ignored", workspace=str(root), cause=error.message)
        return launch.settings


def resident_bytes() -> int:
    """Returns the memory this process holds, in bytes; 0 where the system does not say."""
    if sys.platform == "linux":
        try:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * 4096
    return 0
