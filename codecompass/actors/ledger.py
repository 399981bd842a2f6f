"""The registry for the server's tasks: each call runs in a thread, one at a time, over one connection.

Owns the connection. The methods are those of `store.registry.Registry` and `store.job_log.JobLog` and raise what those raise.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import TypeVar

import trio
from msgspec import Struct

from codecompass.actors.limits import Limits
from codecompass.errors import IndexDamaged
from codecompass.store.evictions import Evictions
from codecompass.store.job_log import FinalStatus, Interruption, Job, JobLog, JobMode, JobProgress
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, Registry, open_registry

T = TypeVar("T")


class ProjectStanding(Struct, frozen=True):
    """A project and what the log of jobs says of it, whichever process its jobs are in."""

    project: Project
    active_job: Job | None
    interruption: Interruption | None


class Ledger:
    """Projects and jobs. Get one from `open_ledger`. The database is opened by the first call, not before."""

    def __init__(self, home: HomeLayout, limiter: trio.CapacityLimiter, busy_timeout_ms: int) -> None:
        self._home = home
        self._limiter = limiter
        self._busy_timeout_ms = busy_timeout_ms
        self._stack = ExitStack()
        self._opened: Registry | None = None
        self._file: tuple[int, int] | None = None

    async def projects(self) -> tuple[Project, ...]:
        """All projects by root."""
        return await self._run(lambda registry: registry.projects())

    async def find(self, name: str) -> Project | None:
        """The project with this id or alias."""
        return await self._run(lambda registry: registry.find(name))

    async def find_or_evicted(self, name: str) -> tuple[Project | None, Path | None]:
        """The project with this id or alias; without one, where the evicted project of that name is."""
        return await self._run(lambda registry: Evictions(registry).find_or_root(name))

    async def require(self, name: str) -> Project:
        """The project with this id or alias. Raises ProjectNotFound."""
        return await self._run(lambda registry: registry.require(name))

    async def at(self, root: Path) -> Project | None:
        """The project whose canonical root is `root`."""
        return await self._run(lambda registry: registry.at(root))

    async def containing(self, path: Path) -> Project | None:
        """The project with the nearest root at or above `path`."""
        return await self._run(lambda registry: registry.containing(path))

    async def around(self, path: Path) -> tuple[Project | None, Path | None]:
        """The nearest project at or above `path`, and the nearest root of an evicted one."""
        return await self._run(lambda registry: (registry.containing(path), Evictions(registry).around(path)))

    async def default(self) -> Project | None:
        """The project for callers that name none and stand nowhere."""
        return await self._run(lambda registry: registry.default())

    async def register(self, root: Path, *, auto_discovered: bool = False) -> Project:
        """The project at `root`, made known if it was not."""
        return await self._run(lambda registry: registry.register(root, auto_discovered=auto_discovered))

    async def adopt(self, project_id: str, *, alias: str | None = None, as_default: bool | None = None) -> Project:
        """The project after an explicit registration. Raises InvalidInput for a bad or taken alias."""
        return await self._run(lambda registry: registry.adopt(project_id, alias=alias, as_default=as_default))

    async def rename(self, project_id: str, alias: str | None) -> Project:
        """Gives a project its alias, or takes it away. Raises InvalidInput for one that is malformed or taken."""
        return await self._run(lambda registry: registry.rename(project_id, alias))

    async def touch(self, project_id: str) -> None:
        """Notes that the project was used just now."""
        await self._run(lambda registry: registry.touch(project_id))

    async def evict(self, project_id: str) -> bool:
        """Forgets a discovered project but for its root and its name. False where it is none any more."""
        return await self._run(lambda registry: Evictions(registry).evict(project_id))

    async def remove(self, project_id: str) -> None:
        """Forgets a project and its jobs."""
        await self._run(lambda registry: registry.remove(project_id))

    async def recover(self) -> tuple[Job, ...]:
        """Notes as interrupted every open job that has nobody left to finish it, and returns those found now."""
        return await self._run(lambda registry: JobLog(registry).recover(self._home))

    async def job(self, job_id: str) -> Job | None:
        """The job of that id, of any process."""
        return await self._run(lambda registry: JobLog(registry).find(job_id))

    async def enter_job(self, project_id: str, mode: JobMode, *, cause: str, job_id: str) -> None:
        """Enters a job that waits for its turn."""
        await self._run(lambda registry: JobLog(registry).create(project_id, mode, cause=cause, job_id=job_id))

    async def start_job(self, job_id: str) -> None:
        """Notes that a job runs from now on."""
        await self._run(lambda registry: JobLog(registry).start(job_id))

    async def update_job(self, job_id: str, progress: JobProgress) -> None:
        """Overwrites how far a job is."""
        await self._run(lambda registry: JobLog(registry).update(job_id, progress))

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
        error_code: str = "",
    ) -> None:
        """Notes the end of a job."""
        await self._run(
            lambda registry: JobLog(registry).finish(
                job_id,
                status,
                progress=progress,
                mode=mode,
                ref=ref,
                changed_files=changed_files,
                error=error,
                error_code=error_code,
            )
        )

    async def jobs(self, project_id: str, n_recent: int) -> tuple[Job | None, tuple[Job, ...], Interruption | None]:
        """The project's active job, its newest ended ones, and what was interrupted since the last success."""

        def look(registry: Registry) -> tuple[Job | None, tuple[Job, ...], Interruption | None]:
            jobs = JobLog(registry)
            return jobs.active(project_id), jobs.recent(project_id, n_recent), jobs.interruption(project_id)

        return await self._run(look)

    async def standings(self) -> tuple[ProjectStanding, ...]:
        """All projects by root, with the active job of each and what was interrupted, in one look."""

        def look(registry: Registry) -> tuple[ProjectStanding, ...]:
            jobs = JobLog(registry)
            active, interruptions = jobs.all_active(), jobs.all_interruptions()
            return tuple(
                ProjectStanding(project, active.get(project.project_id), interruptions.get(project.project_id))
                for project in registry.projects()
            )

        return await self._run(look)

    async def close(self) -> None:
        """Closes the database. Nothing may be asked any more."""
        await trio.to_thread.run_sync(self._stack.close, limiter=self._limiter)

    async def _run(self, work: Callable[[Registry], T]) -> T:
        return await trio.to_thread.run_sync(self._work, work, limiter=self._limiter)

    def _work(self, work: Callable[[Registry], T]) -> T:
        if self._opened is not None and (self._opened.is_copy or self._file != self._file_there()):
            # Moved away, as is the remedy for a damaged one, or deleted: what is written to it nobody finds again. A copy of one
            # that could not be opened for writing is of the moment when it was made.
            self._forget()
        if self._opened is None:
            self._opened = self._stack.enter_context(open_registry(self._home, busy_timeout_ms=self._busy_timeout_ms))
            self._file = self._file_there()
        try:
            return work(self._opened)
        except IndexDamaged:
            self._forget()
            raise

    def _file_there(self) -> tuple[int, int] | None:
        try:
            status = self._home.registry.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def _forget(self) -> None:
        self._opened = None
        self._stack.close()


@asynccontextmanager
async def open_ledger(home: HomeLayout, limits: Limits, *, busy_timeout_ms: int) -> AsyncIterator[Ledger]:
    """Gives the ledger of a data directory. Each call may raise what `store.registry.open_registry` raises."""
    ledger = Ledger(home, limits.registry, busy_timeout_ms)
    try:
        yield ledger
    finally:
        with trio.CancelScope(shield=True):
            await ledger.close()
