"""The registry for the server's tasks: calls run in a thread, one at a time, over one connection.

Owns the connection: opens it on the first call, reopens it after the database was moved or deleted, and closes it at the end.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from typing import Concatenate, ParamSpec, TypeVar

import trio

from codecompass.actors.blocking_calls import Limits
from codecompass.errors import IndexDamaged
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Registry, open_registry

P = ParamSpec("P")
T = TypeVar("T")


class AsyncRegistry:
    """Projects and jobs. Get one from `open_async_registry`.

    project = await registry.run(Registry.register, root, auto_discovered=True)
    job = await registry.run_jobs(JobLog.find, job_id)
    """

    def __init__(self, home: HomeLayout, limiter: trio.CapacityLimiter, busy_timeout_ms: int) -> None:
        self._home = home
        self._limiter = limiter
        self._busy_timeout_ms = busy_timeout_ms
        self._stack = ExitStack()
        self._opened: Registry | None = None
        self._file: tuple[int, int] | None = None
        self._generation = 0
        self._changes: tuple[int, int] | None = None
        self._named: tuple[tuple[object, ...], ...] = ()

    async def run(self, method: Callable[Concatenate[Registry, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Calls a method of Registry, or a function that takes one, and returns its result.

        Raises the errors of that function and of `open_registry`.
        """
        return await trio.to_thread.run_sync(
            lambda: self._call(lambda registry: method(registry, *arguments, **options)), limiter=self._limiter
        )

    async def run_jobs(self, method: Callable[Concatenate[JobLog, P], T], *arguments: P.args, **options: P.kwargs) -> T:
        """Calls a method of JobLog, as `run` does one of Registry."""
        return await self.run(lambda registry: method(JobLog(registry), *arguments, **options))

    async def generation(self) -> int:
        """Returns a number that is another once any process has changed which project a path or name means. Jobs and the use of
        projects change nothing. Raises what `run` raises."""
        return await self.run(self._counted)

    def _counted(self, registry: Registry) -> int:
        changes = registry.changes()
        if changes != self._changes:
            named = registry.named()
            self._generation += named != self._named
            self._changes, self._named = changes, named
        return self._generation

    async def close(self) -> None:
        """Closes the database. No call may follow."""
        await trio.to_thread.run_sync(self._stack.close, limiter=self._limiter)

    def _call(self, work: Callable[[Registry], T]) -> T:
        if self._opened is not None and (self._opened.is_copy or self._file != self._file_there()):
            # The file was moved (the remedy for a damaged one) or deleted: anything written to it would be lost. A copy, made if
            # the file cannot be written, is frozen at the moment it was made.
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
        self._opened = self._changes = None
        self._stack.close()


@asynccontextmanager
async def open_async_registry(home: HomeLayout, limits: Limits, *, busy_timeout_ms: int) -> AsyncIterator[AsyncRegistry]:
    """Yields the registry of the data directory `home`, and closes it afterwards."""
    registry = AsyncRegistry(home, limits.registry, busy_timeout_ms)
    try:
        yield registry
    finally:
        with trio.CancelScope(shield=True):
            await registry.close()
