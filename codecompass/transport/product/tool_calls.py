"""The product's tools behind `tools/call`: answers become results, running jobs become tasks, missing roots are asked for."""

import time
from collections.abc import Awaitable, Callable, Mapping

from msgspec import Raw

from codecompass.actors.jobs import JobState, JobView
from codecompass.errors import ProjectNotFound
from codecompass.transport.calls import ToolAnswer, ToolDescription, Tools
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.progress import status_text
from codecompass.transport.mcp.protocol import META_JOB, ROOTS_LIST, TASKS_EXTENSION
from codecompass.transport.mcp.surface import InputRequired, TaskStarted, ToolOutcome
from codecompass.transport.mcp.tasks import TaskState
from codecompass.transport.mcp.tool_results import rendered, tool_result
from codecompass.transport.mcp.watches import JobWatch
from codecompass.transport.mcp.wire import InputRequest
from codecompass.transport.product.caller import ROOTS_INPUT, SessionCaller
from codecompass.transport.product.job_directory import JobDirectory


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
