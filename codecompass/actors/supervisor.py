"""The supervisor of all workspaces: starts a workspace's actor on the first request, restarts it after a crash, retires it.

A dynamic one-for-one supervisor: children are of one kind, are added at run time, and are restarted individually. It owns the
mailboxes, so queued messages survive a restart. Concurrent first requests need no lock: the first creates the child, the others
find it.

    route(project) -> handle          synchronous: insert or touch, make room
    retire(child)                     synchronous: the only way out, for idle, eviction and shutdown
    supervise(child)                  the only restart boundary
"""

import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Final, overload

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.child_lifecycle import (
    PROBE_SECONDS,
    WITHIN_SECONDS,
    Child,
    Resident,
    child_key,
    restart_pause,
    to_retire,
)
from codecompass.actors.job_state import JobHandle
from codecompass.actors.messages import CancelJob, MailboxClosed, Query, Settle, Settled, StartJob, WorkspaceMessage
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.actors.workbench import Workbench
from codecompass.actors.workspace import ActorContext, WorkspaceSettings, crashed_error, run_workspace
from codecompass.errors import WorkspaceBusy, WorkspaceFailed, cause_of
from codecompass.protocol.replies import Reply
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project
from codecompass.units import GIB, SECONDS

MAX_LIVE: Final = 32
"""Live workspaces at a time: each holds about 10 open files and one of the user's 128 inotify instances."""

MAX_MEMORY: Final = 2 * GIB

KEPT_JOBS: Final = 64
"""Newest jobs of this process that can be found by their id."""

ROUTE_ATTEMPTS: Final = 3
"""A workspace may be retired between routing and asking. Each attempt finds a newer child."""

STOP_SECONDS: Final = 5 * SECONDS


class SupervisorSettings(Struct, frozen=True, kw_only=True):
    """Tunables of the supervisor and its children."""

    workspace: WorkspaceSettings = WorkspaceSettings()
    max_live: int = MAX_LIVE
    max_memory: int = MAX_MEMORY


class _Handle:
    """The WorkspaceHandle of one child, or of its successor if it was retired meanwhile."""

    def __init__(self, supervisor: "WorkspaceSupervisor", child: Child) -> None:
        self._supervisor = supervisor
        self._child = child

    @property
    def project(self) -> Project:
        return self._child.project

    @property
    def observation(self) -> WorkspaceObservation:
        return self._child.observe()

    async def wait_open(self) -> None:
        await self._child.opened.wait()

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: Settle, *, request_id: str = "") -> Settled: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobHandle: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...
    async def ask(self, message: WorkspaceMessage, *, request_id: str = "") -> Reply | Settled | JobHandle | bool:
        for _ in range(ROUTE_ATTEMPTS):
            try:
                return await self._child.mailbox.ask(message, request_id)
            except MailboxClosed:
                self._child = self._supervisor.child(self._child.project, self._child.commit)
            finally:
                self._supervisor.trim()
        raise WorkspaceBusy("this workspace is being closed and opened again and again. Call again.", retry_after_ms=1000)


class WorkspaceSupervisor:
    """Supervises the workspaces of a server. Get one from `open_supervisor`. All methods but `settled`, `evict`,
    `evict_commit` and `stop` are synchronous."""

    def __init__(
        self,
        nursery: trio.Nursery,
        make_workbench: Callable[[Project], Awaitable[Workbench]],
        settings: SupervisorSettings,
        memory: Callable[[], int],
        make_commit_workbench: Callable[[Project, NamedCommit], Awaitable[Workbench]] | None = None,
    ) -> None:
        self._nursery = nursery
        self._make_workbench = make_workbench
        self._make_commit_workbench = make_commit_workbench
        self._settings = settings
        self._memory = memory
        self._live: dict[str, Child] = {}
        self._draining: dict[str, Child] = {}
        self._jobs: OrderedDict[str, JobHandle] = OrderedDict()
        self._is_stopping = False
        self._log = structlog.get_logger(__name__)
        self.n_started = 0
        self.n_retired = 0
        self.n_evicted = 0
        self.n_crashes = 0

    def route(self, project: Project, commit: NamedCommit | None = None) -> WorkspaceHandle:
        """Returns the handle of a project's workspace, or of one of its commits, started now if it is not live."""
        return _Handle(self, self.child(project, commit))

    def observe(self) -> tuple[WorkspaceObservation, ...]:
        """Returns the observations of all live workspaces, without commits, the most recently used first."""
        children = sorted((each for each in self._live.values() if each.commit is None), key=lambda child: -child.used_at)
        return tuple(child.observe() for child in children)

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """Returns the observation of a workspace, or of one of its commits; None if it is not live."""
        child = self._live.get(child_key(project_id, commit))
        return None if child is None else child.observe()

    async def settled(self, project_id: str, asked: Settle) -> Settled | None:
        """Lets changes of a workspace land (see `Settle`); None if it is not live. Raises what its handle's `ask` raises."""
        child = self._live.get(child_key(project_id, None))
        return None if child is None else await self.route(child.project).ask(asked)

    def find_job(self, job_id: str) -> JobHandle | None:
        """Returns a job of this process: a running one, or one of the last KEPT_JOBS; None for an unknown id."""
        return self._jobs.get(job_id)

    async def evict(self, project_id: str) -> bool:
        """Retires a workspace with all its commits, and waits until they have closed their indexes.

        Returns False if one of them is busy; all stay then.
        """
        return await self._evict([each for each in self._live.values() if each.project.project_id == project_id], project_id)

    async def evict_commit(self, project_id: str, commit: str) -> bool:
        """Retires one commit of a workspace, as `evict` does."""
        key = child_key(project_id, NamedCommit(commit, commit, ""))
        return await self._evict([child for child in (self._live.get(key),) if child is not None], key)

    async def _evict(self, children: Sequence[Child], key: str) -> bool:
        if not all(child.is_idle for child in children):
            return False
        for child in children:
            self._retire(child, "evicted")
            self.n_evicted += 1
        for name, draining in list(self._draining.items()):
            if name == key or name.startswith(f"{key}@"):
                await draining.terminated.wait()
        return True

    async def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Retires all workspaces; those that have not ended after `seconds` are cancelled."""
        self._is_stopping = True
        for child in list(self._live.values()):
            self._retire(child, "shutdown")
        with trio.move_on_after(seconds):
            for child in list(self._draining.values()):
                await child.terminated.wait()
        self._nursery.cancel_scope.cancel()

    # for the handles

    def child(self, project: Project, commit: NamedCommit | None = None) -> Child:
        """Returns the live child of a project or commit, started if there is none, and marks it as used."""
        if self._is_stopping:
            raise WorkspaceBusy("the server is stopping. Connect again.")
        key = child_key(project.project_id, commit)
        child = self._live.get(key)
        if child is None:
            self.trim(room_for=1)
            child = Child(project, self._draining.get(key), commit)
            self._live[key] = child
            self.n_started += 1
            self._nursery.start_soon(self._supervise, child)
        child.project = project
        child.used_at = trio.current_time()
        child.used_at_wall = time.time()
        return child

    # lifecycle

    def trim(self, room_for: int = 0) -> None:
        """Retires idle workspaces beyond the caps; `room_for` is how many are about to be added."""
        # A retired workspace frees its memory only at its end.
        memory = 0 if self._draining else self._memory()
        if len(self._live) + room_for <= self._settings.max_live and memory <= self._settings.max_memory:
            return
        share = memory // max(1, len(self._live))
        residents = [Resident(child.key, child.used_at, child.is_idle, share) for child in self._live.values()]
        max_count = self._settings.max_live - room_for
        for key in to_retire(residents, max_count=max_count, max_memory=self._settings.max_memory):
            self._retire(self._live[key], "least recently used")
            self.n_evicted += 1

    def _retire(self, child: Child, reason: str) -> None:
        """Takes a child out of the table and lets it drain. Atomic: a step without a checkpoint."""
        if self._live.get(child.key) is not child:
            return
        del self._live[child.key]
        self.n_retired += 1
        self._draining[child.key] = child
        child.move("draining")
        child.mailbox.close()
        self._log.info("workspace_retired", workspace=str(child.project.root), reason=reason)

    async def _supervise(self, child: Child) -> None:
        try:
            if child.predecessor is not None:
                # Two owners of one index would race on its files.
                await child.predecessor.terminated.wait()
                child.predecessor = None
            with structlog.contextvars.bound_contextvars(workspace=str(child.project.root)):
                while not await self._incarnate(child):
                    pass
        finally:
            child.mailbox.close()
            child.mailbox.drain(crashed_error())
            if self._live.get(child.key) is child:
                del self._live[child.key]
            if self._draining.get(child.key) is child:
                del self._draining[child.key]
            if child.lifecycle == "draining":
                child.move("stopped")
            child.opened.set()
            child.terminated.set()
            self.trim()

    async def _incarnate(self, child: Child) -> bool:
        """Runs one incarnation and the pause after it. Returns whether it was the last."""
        crash: BaseException | None = None
        try:
            if child.lifecycle == "starting":
                child.move("running")
            context = ActorContext(
                project=lambda: child.project,
                mailbox=child.mailbox,
                settings=self._settings.workspace,
                publish=lambda observation: self._publish(child, observation),
                retire=lambda reason: self._retire(child, reason),
                remember=self._remember,
                commit=child.commit,
            )
            await run_workspace(context, await self._workbench_of(child))
        except* Exception as group:  # noqa: BLE001 (the restart boundary, the only one)
            crash = group
        if crash is None:
            return True
        return await self._after_crash(child, crash)

    async def _workbench_of(self, child: Child) -> Workbench:
        if child.commit is None:
            return await self._make_workbench(child.project)
        assert self._make_commit_workbench is not None, "this supervisor was made without commits"
        return await self._make_commit_workbench(child.project, child.commit)

    async def _after_crash(self, child: Child, crash: BaseException) -> bool:
        now = trio.current_time()
        cause = cause_of(crash)
        self.n_crashes += 1
        child.last_error = f"{type(cause).__name__}: {cause}"
        child.observation = replace(child.observation, active_job=None, is_working=False, is_watched=False)
        child.crashes = [*(at for at in child.crashes if now - at <= WITHIN_SECONDS), now]
        self._log.error("workspace_crashed", cause=child.last_error, crashes=len(child.crashes), exc_info=crash)
        pause = restart_pause(child.crashes, now)
        if child.mailbox.has_closed():
            return True
        if pause is None:
            child.move("failed")
            if not await self._serve_failed(child):
                return True
            child.crashes.clear()
        else:
            child.move("restarting")
            await trio.sleep(pause)
            if child.mailbox.has_closed():
                return True
        child.n_restarts += 1
        child.move("starting")
        return False

    async def _serve_failed(self, child: Child) -> bool:
        """Answers with an error until a rebuild is forced or a request comes after PROBE_SECONDS; returns False once retired."""
        probe_at = trio.current_time() + PROBE_SECONDS
        while True:
            try:
                envelope = await child.mailbox.receive()
            except trio.EndOfChannel:
                return False
            is_forced = isinstance(envelope.message, StartJob) and envelope.message.force
            if is_forced or trio.current_time() >= probe_at:
                child.mailbox.put_back(envelope)
                return True
            envelope.answer(
                WorkspaceFailed(
                    f"this workspace is disabled after repeated crashes ({child.last_error}). Rebuild its index with index_repo "
                    f"and force: true, or call again in {PROBE_SECONDS:.0f} s.",
                    cause=child.last_error,
                    remediation="index_repo with force: true",
                )
            )

    def _publish(self, child: Child, observation: WorkspaceObservation) -> None:
        child.observation = observation
        if observation.warm_status == "warm":
            child.opened.set()
        if not observation.is_working:
            self.trim()

    def _remember(self, job: JobHandle) -> None:
        self._jobs[job.state.job_id] = job
        while len(self._jobs) > KEPT_JOBS:
            oldest = next((key for key, view in self._jobs.items() if view.state.has_ended), None)
            if oldest is None:
                break
            del self._jobs[oldest]


@asynccontextmanager
async def open_supervisor(
    make_workbench: Callable[[Project], Awaitable[Workbench]],
    settings: SupervisorSettings,
    *,
    memory: Callable[[], int] = lambda: 0,
    stop_seconds: float = STOP_SECONDS,
    make_commit_workbench: Callable[[Project, NamedCommit], Awaitable[Workbench]] | None = None,
) -> AsyncIterator[WorkspaceSupervisor]:
    """Yields a supervisor; all its workspaces have ended when the block ends. `memory` returns the process's size in bytes."""
    async with trio.open_nursery() as outer:
        # A nursery in a separate task: stopping cancels the workspaces, not the caller's block.
        nursery = await outer.start(_hold_nursery)
        supervisor = WorkspaceSupervisor(nursery, make_workbench, settings, memory, make_commit_workbench)
        try:
            yield supervisor
        finally:
            with trio.CancelScope(shield=True):
                await supervisor.stop(stop_seconds)


async def _hold_nursery(task_status: trio.TaskStatus[trio.Nursery]) -> None:
    async with trio.open_nursery() as nursery:
        task_status.started(nursery)
        await trio.sleep_forever()
