"""The product's tools behind `tools/call`: the caller as tools see it, answers as results, jobs by their id, running jobs as
tasks, questions for roots.
"""

from typing import TYPE_CHECKING, Protocol

from codecompass.actors.job_model import JobView
from codecompass.actors.messages import CancelJob
from codecompass.errors import CodeCompassError

if TYPE_CHECKING:
    # A session is there before anything of the store is loaded.
    from codecompass.actors.async_registry import AsyncRegistry
    from codecompass.actors.supervisor import WorkspaceSupervisor
    from codecompass.store.job_log import JobRecord
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import trio
from msgspec import Raw

from codecompass.actors.job_model import JobState
from codecompass.errors import ProjectNotFound
from codecompass.projects.caller import TransportName
from codecompass.transport.calls import ToolAnswer, ToolDescription, Tools
from codecompass.transport.mcp import progress
from codecompass.transport.mcp.client import root_paths
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import encode_notification
from codecompass.transport.mcp.progress import ProgressParams, status_text
from codecompass.transport.mcp.protocol import META_JOB, PROGRESS, ROOTS_LIST, TASKS_EXTENSION
from codecompass.transport.mcp.surface import InputRequired, TaskStarted, ToolOutcome
from codecompass.transport.mcp.tasks import JobWatch, TaskState
from codecompass.transport.mcp.tool_results import rendered, tool_result
from codecompass.transport.mcp.wire import InputRequest, is_declared


class JobDirectory(Protocol):
    """All jobs of a server."""

    def find(self, job_id: str) -> JobView | None:
        """Returns the job if it runs or has ended lately. Never waits."""

    async def recorded(self, job_id: str) -> "JobRecord | None":
        """Returns the job as the log has it, of any process and however old."""

    async def cancel(self, job_id: str) -> bool:
        """Stops the job; False where it does not run here."""


class ServerJobs:
    """The JobDirectory of a server."""

    def __init__(self, registry: "AsyncRegistry", supervisor: "WorkspaceSupervisor") -> None:
        self._registry = registry
        self._supervisor = supervisor

    def find(self, job_id: str) -> JobView | None:
        """As JobDirectory says."""
        return self._supervisor.find_job(job_id)

    async def recorded(self, job_id: str) -> "JobRecord | None":
        """As JobDirectory says. None, too, while the registry cannot be read."""
        from codecompass.store.job_log import JobLog

        try:
            return await self._registry.run_jobs(JobLog.find, job_id)
        except CodeCompassError:
            return None

    async def cancel(self, job_id: str) -> bool:
        """As JobDirectory says."""
        from codecompass.store.registry import Registry

        job = self._supervisor.find_job(job_id)
        if job is None or job.state.has_ended:
            return False
        try:
            project = await self._registry.run(Registry.require, job.state.project_id)
            return await self._supervisor.route(project).ask(CancelJob(job_id=job_id))
        except CodeCompassError:
            return False


ROOTS_INPUT: Final = "roots"
"""The name under which roots are asked for, and come back, in the modern era."""


HINTED_CLIENT: Final = "claude-code"
"""How the client that names its roots by itself calls itself in `clientInfo`."""


class SessionCaller:
    """The Caller of one request. `misses_roots` tells that the client could name its roots, if it were asked."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.misses_roots = False
        self._followed: JobView | None = None

    @property
    def transport(self) -> TransportName:
        """How the client is connected."""
        return self._exchange.client.transport

    @property
    def request_id(self) -> str:
        """The request's id for the log."""
        return str(self._exchange.id)

    @property
    def project_path(self) -> str | None:
        """`?project_path=` of an HTTP request."""
        return self._exchange.project_path

    async def roots(self) -> tuple[str, ...]:
        """The client's roots. In the modern era those that came with the request: none are asked for in between."""
        exchange = self._exchange
        if not is_declared(exchange.envelope.capabilities.roots):
            return ()
        if not exchange.envelope.is_modern:
            return await exchange.client.roots.paths(exchange.out) if exchange.can_push else ()
        response = exchange.inputs.responses.get(ROOTS_INPUT)
        if response is None:
            self.misses_roots = True
            return ()
        return root_paths(response)

    def take_hint(self) -> bool:
        """True the first time in a session; never where there is none, nor for the client that the hint recommends."""
        exchange = self._exchange
        return exchange.envelope.client.name != HINTED_CLIENT and exchange.client.take_hint()

    async def follow(self, job: JobView, seconds: float) -> None:
        """As Caller says: on this request's token until the answer, and on the job's token beyond (rule R2)."""
        if seconds <= 0:
            return
        self.follow_beyond(job)
        exchange = self._exchange
        token = exchange.envelope.progress_token
        with trio.move_on_after(seconds):
            if token is None or not exchange.can_push:
                await job.wait_end()
            else:
                await progress.follow(job, token, exchange.report)

    def follow_beyond(self, job: JobView) -> None:
        """Tells of the job on the connection until it ends, if the client declared that it wants that."""
        client = self._exchange.client
        if self._followed is job:
            # It may have ended meanwhile, and its end is told once.
            return
        if self._exchange.envelope.is_modern or not self._exchange.envelope.capabilities.follows_jobs:
            return

        async def send(params: ProgressParams) -> None:
            await client.tell(encode_notification(PROGRESS, params))

        async def run() -> None:
            await progress.follow(job, job.state.progress_token, send)

        if client.start_watch(f"job {job.state.job_id}", run):
            self._followed = job


class JobTask:
    """An index job as a task. It ends `completed` however the job ended, with what its tool would have said then."""

    def __init__(self, job: JobView, at_end: Callable[[JobState], ToolAnswer], stop: Callable[[], Awaitable[bool]]) -> None:
        self._job = job
        self._at_end = at_end
        self._stop = stop
        self._seen: JobState | None = None
        self._seen_at = 0.0

    @property
    def state(self) -> TaskState:
        """The job's newest state. `failed` is for faults of the protocol alone, so a failed job is a completed task."""
        job = self._job.state
        if job is not self._seen:
            self._seen, self._seen_at = job, time.time()
        updated_at = max(job.created_at, job.finished_at or self._seen_at)
        message = status_text(job)
        if not job.has_ended:
            return TaskState(status="working", created_at=job.created_at, updated_at=updated_at, message=message)
        if job.status == "cancelled":
            return TaskState(status="cancelled", created_at=job.created_at, updated_at=updated_at, message=message)
        result = rendered(tool_result(self._at_end(job)), knows_structured=True)
        return TaskState(status="completed", created_at=job.created_at, updated_at=updated_at, message=message, result=result)

    def watch(self) -> JobWatch:
        """The changes of the job."""
        return JobWatch(self._job)

    async def cancel(self) -> None:
        """Stops the job, for all who wait for it."""
        await self._stop()

    async def update(self, responses: Mapping[str, Raw]) -> None:
        """Nothing: a job asks nothing."""


def asked_roots(answer: ToolAnswer, caller: SessionCaller) -> InputRequired | None:
    """Returns the question for the client's roots where nothing else told the project and they could (rule R11)."""
    if answer.error is None or answer.error.code != ProjectNotFound.code or not caller.misses_roots:
        return None
    return InputRequired(requests={ROOTS_INPUT: InputRequest(ROOTS_LIST)}, state=ROOTS_INPUT.encode())


class ProductTools:
    """The ToolSource of the product."""

    def __init__(self, tools: Tools, jobs: JobDirectory) -> None:
        self._tools = tools
        self._jobs = jobs

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """Those of the catalogue."""
        return self._tools.listed

    def knows(self, name: str) -> bool:
        """Whether the catalogue has it."""
        return self._tools.knows(name)

    async def call(self, name: str, arguments: Mapping[str, object], exchange: Exchange) -> ToolOutcome:
        """Runs a tool of the catalogue."""
        caller = SessionCaller(exchange)
        answer = await self._tools.call(name, arguments, caller)
        question = asked_roots(answer, caller)
        if question is not None:
            return question
        result = tool_result(answer)
        job, at_end = answer.job, answer.at_end
        if job is None:
            return result
        exchange.after_answer(lambda: caller.follow_beyond(job))
        envelope = exchange.envelope
        takes_tasks = envelope.is_modern and envelope.capabilities.has_extension(TASKS_EXTENSION)
        if not takes_tasks or at_end is None or job.state.has_ended:
            return result
        state = job.state

        async def stop() -> bool:
            return await self._jobs.cancel(state.job_id)

        meta = {META_JOB: {"job_id": state.job_id, "progress_token": state.progress_token}}
        return TaskStarted(task=JobTask(job, at_end, stop), otherwise=result, meta=meta)
