"""Tasks: work that outlives its request and can be queried by an unguessable id (ext-tasks, 2026-07-28).

    tools/call --TaskStarted--> TaskTable.add -> id          tasks/get | cancel | update --> TaskTable.find -> Task

The table belongs to the server, not to a session: modern requests share only what they name. It is bounded; tasks are removed
some time after they have ended.
"""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, Literal, Protocol

import msgspec
import trio
from msgspec import UNSET, Struct

from codecompass.actors.job_state import JobHandle
from codecompass.formatting import iso_time_ms
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import INVALID_PARAMS
from codecompass.transport.mcp.wire import CallToolResult, TaskResult

MIN_INTERVAL_SECONDS: Final = 0.25
"""Minimum time between two notifications about the same subject."""


class Watch(Protocol):
    """Something whose changes can be waited for."""

    async def wait_change(self) -> bool:
        """Returns True after a change since the last call, False once there will be no more. Safe to cancel."""


class JobWatch:
    """The changes of a job since this was created."""

    def __init__(self, job: JobHandle) -> None:
        self._job = job
        self._seen = job.state

    async def wait_change(self) -> bool:
        """Returns True after one or more changes, False once the job has ended."""
        if self._seen.has_ended:
            return False
        self._seen = await self._job.wait_change(self._seen)
        return True


async def tell_changes(watch: Watch, tell: Callable[[], Awaitable[None]]) -> None:
    """Calls `tell` after changes, at most once an interval, until there are no more."""
    while await watch.wait_change():
        await tell()
        await trio.sleep(MIN_INTERVAL_SECONDS)


TaskStatus = Literal["working", "completed", "cancelled"]
"""Jobs have neither `failed`, which is a protocol error, nor `input_required`."""

LIFETIME_SECONDS: Final = 3600.0
"""From creation; a task that still runs then is kept until it has ended."""

MAX_TASKS: Final = 1000
POLL_MILLISECONDS: Final = 1000
_MILLISECONDS: Final = 1000

_ID_BYTES: Final = 18


class TaskState(Struct, frozen=True, kw_only=True):
    """The state of a task at one time. Times are seconds since 1970. `result` is set once completed."""

    status: TaskStatus
    created_at: float
    updated_at: float
    message: str = ""
    result: CallToolResult | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the task no longer changes."""
        return self.status != "working"


class Task(Protocol):
    """Work that continues without its request."""

    @property
    def state(self) -> TaskState:
        """The newest state."""

    def watch(self) -> Watch:
        """Returns the changes from now on."""

    async def cancel(self) -> None:
        """Requests that it stops; does nothing if it has ended."""


class TaskTable:
    """All tasks of a server. `clock` returns seconds since 1970."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._tasks: dict[str, Task] = {}

    def add(self, task: Task) -> str | None:
        """Adds a task and returns its id; None if the table is full of running tasks."""
        self._forget()
        if len(self._tasks) >= MAX_TASKS:
            return None
        id_ = secrets.token_urlsafe(_ID_BYTES)
        self._tasks[id_] = task
        return id_

    def find(self, id_: str) -> Task:
        """Returns the task. Raises Fault for an unknown or expired id."""
        task = self._tasks.get(id_)
        if task is None:
            raise Fault(INVALID_PARAMS, "there is no such task, or it has expired. Ask index_status.", taskId=id_)
        return task

    def knows(self, id_: str) -> bool:
        """Returns whether `find` would find the task."""
        return id_ in self._tasks

    def _forget(self) -> None:
        now = self._clock()
        ended = [id_ for id_, task in self._tasks.items() if task.state.has_ended]
        for id_ in ended:
            if self._tasks[id_].state.created_at + LIFETIME_SECONDS <= now or len(self._tasks) >= MAX_TASKS:
                del self._tasks[id_]


def task_result(
    id_: str, state: TaskState, *, result_type: str = "complete", meta: Mapping[str, object] | None = None
) -> TaskResult:
    """Returns the task in its wire form, with its result if it has completed."""
    result = state.result
    if result is not None:
        result = msgspec.structs.replace(result, result_type="complete")
    return TaskResult(
        result_type=result_type,
        meta=meta or UNSET,
        task_id=id_,
        status=state.status,
        status_message=state.message or UNSET,
        created_at=iso_time_ms(state.created_at),
        last_updated_at=iso_time_ms(state.updated_at),
        ttl_ms=int(LIFETIME_SECONDS * _MILLISECONDS),
        poll_interval_ms=POLL_MILLISECONDS,
        result=UNSET if result is None else result,
    )
