"""The tools of the conformance suite that become tasks."""

import time
from collections.abc import Awaitable, Callable

import msgspec
import trio

from codecompass.transport.mcp.envelope import missing_capability
from codecompass.transport.mcp.protocol import TASKS_EXTENSION
from codecompass.transport.mcp.surface import InputRequired, TaskStarted
from codecompass.transport.mcp.tasks import TaskState
from codecompass.transport.mcp.wire import CallToolResult
from tests.transport.fixture_tools import NAME, content_of, text

Work = Callable[["FixtureTask"], Awaitable[CallToolResult]]


class FixtureTask:
    """A task that runs in a nursery of the fixture."""

    def __init__(self, nursery: trio.Nursery, work: Work):
        now = time.time()
        self.state = TaskState(status="working", created_at=now, updated_at=now)
        self._changed = trio.Event()
        self._scope = trio.CancelScope()
        nursery.start_soon(self._run, work)

    def watch(self):
        return TaskWatch(self)

    async def wait_change(self, seen):
        while self.state is seen:
            await self._changed.wait()
        return self.state

    async def cancel(self):
        if not self.state.has_ended:
            self._scope.cancel()
            self._set(status="cancelled")

    async def _run(self, work: Work):
        with self._scope:
            self._set(status="completed", result=await work(self))

    def _set(self, **changes):
        self.state = msgspec.structs.replace(self.state, updated_at=time.time(), **changes)
        self._changed.set()
        self._changed = trio.Event()


class TaskWatch:
    def __init__(self, task: FixtureTask):
        self._task = task
        self._seen = task.state

    async def wait_change(self):
        if self._seen.has_ended:
            return False
        self._seen = await self._task.wait_change(self._seen)
        return True


class TaskTools:
    """Tools that start tasks in one nursery."""

    NAMES = ("greet", "slow_compute", "failing_job", "confirm_delete", "test_tool_with_task")

    def __init__(self, nursery: trio.Nursery):
        self._nursery = nursery

    async def call(self, name, arguments, exchange):
        return await getattr(self, f"_{name}")(arguments, exchange)

    def _started(self, exchange, work, *, otherwise=None):
        declares = exchange.envelope.is_modern and exchange.envelope.capabilities.has_extension(TASKS_EXTENSION)
        if not declares and otherwise is None:
            raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})
        if not declares:
            return otherwise
        return TaskStarted(task=FixtureTask(self._nursery, work), otherwise=otherwise or text("There is no room.", is_error=True))

    async def _greet(self, arguments, exchange):
        return text(f"Hello, {arguments.get('name')}!")

    async def _slow_compute(self, arguments, exchange):
        seconds = float(arguments.get("seconds", 0))
        done = text(f"Computed for {seconds:g} s.")
        if seconds <= 0:
            return done

        async def work(task):
            await trio.sleep(seconds)
            return done

        return self._started(exchange, work, otherwise=done)

    async def _failing_job(self, arguments, exchange):
        async def work(task):
            await trio.sleep(1)
            return text("The job failed, as it always does.", is_error=True)

        return self._started(exchange, work)

    async def _confirm_delete(self, arguments, exchange):
        """Asks for no confirmation: no task of the product does."""

        async def work(task):
            return text("Kept.")

        return self._started(exchange, work, otherwise=text("Kept."))

    async def _test_tool_with_task(self, arguments, exchange):
        name = content_of(exchange.input_responses.get("user_name"), "name")
        if name is None:
            return InputRequired(requests={"user_name": NAME})

        async def work(task):
            return text(f"Hello, {name}!")

        return self._started(exchange, work)
