"""The registry for the server's tasks: each call runs in a thread, one at a time, over one connection.

Owns the connection. The methods are those of `store.registry.Registry` and `store.job_log.JobLog` and raise what those raise.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio

from codecompass.actors.limits import Limits
from codecompass.store.job_log import FinalStatus, Interruption, Job, JobLog, JobMode, JobProgress
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry, open_registry

T = TypeVar("T")


class Ledger:
    """Projects and jobs. Get one from `open_ledger`."""

    def __init__(self, registry: Registry, home: HomeLayout, limiter: trio.CapacityLimiter) -> None:
        self._registry = registry
        self._jobs = JobLog(registry)
        self._home = home
        self._limiter = limiter

    async def projects(self) -> tuple[Project, ...]:
        """All projects by root."""
        return await self._run(self._registry.projects)

    async def find(self, name: str) -> Project | None:
        """The project with this id or alias."""
        return await self._run(lambda: self._registry.find(name))

    async def require(self, name: str) -> Project:
        """The project with this id or alias. Raises ProjectNotFound."""
        return await self._run(lambda: self._registry.require(name))

    async def at(self, root: Path) -> Project | None:
        """The project whose canonical root is `root`."""
        return await self._run(lambda: self._registry.at(root))

    async def containing(self, path: Path) -> Project | None:
        """The project with the nearest root at or above `path`."""
        return await self._run(lambda: self._registry.containing(path))

    async def default(self) -> Project | None:
        """The project for callers that name none and stand nowhere."""
        return await self._run(self._registry.default)

    async def register(self, root: Path, *, auto_discovered: bool = False) -> Project:
        """The project at `root`, made known if it was not."""
        return await self._run(lambda: self._registry.register(root, auto_discovered=auto_discovered))

    async def adopt(self, project_id: str, *, alias: str | None = None, as_default: bool | None = None) -> Project:
        """The project after an explicit registration. Raises InvalidInput for a bad or taken alias."""
        return await self._run(lambda: self._registry.adopt(project_id, alias=alias, as_default=as_default))

    async def touch(self, project_id: str) -> None:
        """Notes that the project was used just now."""
        await self._run(lambda: self._registry.touch(project_id))

    async def remove(self, project_id: str) -> None:
        """Forgets a project and its jobs."""
        await self._run(lambda: self._registry.remove(project_id))

    async def recover(self) -> tuple[Job, ...]:
        """Notes as interrupted every open job that has nobody left to finish it, and returns those found now."""
        return await self._run(lambda: self._jobs.recover(self._home))

    async def job(self, job_id: str) -> Job | None:
        """The job of that id, of any process."""
        return await self._run(lambda: self._jobs.find(job_id))

    async def begin_job(self, project_id: str, mode: JobMode, *, cause: str, job_id: str) -> None:
        """Enters a job that runs from now on."""

        def begin() -> None:
            self._jobs.create(project_id, mode, cause=cause, job_id=job_id)
            self._jobs.start(job_id)

        await self._run(begin)

    async def update_job(self, job_id: str, progress: JobProgress) -> None:
        """Overwrites how far a job is."""
        await self._run(lambda: self._jobs.update(job_id, progress))

    async def finish_job(
        self,
        job_id: str,
        status: FinalStatus,
        *,
        progress: JobProgress | None = None,
        mode: JobMode | None = None,
        ref: str = "",
        changed_files: int = 0,
        error: str = "",
    ) -> None:
        """Notes the end of a job."""
        await self._run(
            lambda: self._jobs.finish(
                job_id, status, progress=progress, mode=mode, ref=ref, changed_files=changed_files, error=error
            )
        )

    async def jobs(self, project_id: str, n_recent: int) -> tuple[Job | None, tuple[Job, ...], Interruption | None]:
        """The project's active job, its newest ended ones, and what was interrupted since the last success."""
        return await self._run(
            lambda: (self._jobs.active(project_id), self._jobs.recent(project_id, n_recent), self._jobs.interruption(project_id))
        )

    async def _run(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(work, limiter=self._limiter)


@asynccontextmanager
async def open_ledger(home: HomeLayout, limits: Limits, *, busy_timeout_ms: int) -> AsyncIterator[Ledger]:
    """Gives the ledger of a data directory. Raises what `store.registry.open_registry` raises."""
    stack = ExitStack()
    registry = await trio.to_thread.run_sync(
        lambda: stack.enter_context(open_registry(home, busy_timeout_ms=busy_timeout_ms)), limiter=limits.registry
    )
    try:
        yield Ledger(registry, home, limits.registry)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(stack.close, limiter=limits.registry)
