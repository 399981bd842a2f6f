"""The product's tools behind `tools/call`: the caller as tools see it, replies as results, running jobs as tasks, requests for
roots.

A reply is sent in one of two forms. As JSON it is the text, with a line for each result, and also the structured content for
revisions that have it: hosts show a model one or the other. As plain text it is sent alone, because hosts that get both show the
model the JSON. A failure is text alone: clients validate structured content against the output schema even then.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final

import msgspec
import trio
from msgspec import UNSET, Raw, Struct, field

from codecompass.actors.job_state import JobHandle, JobState
from codecompass.errors import ProjectNotFound
from codecompass.projects.caller import Identity, TransportName
from codecompass.settings import AnswerForm
from codecompass.tracing import TraceSender
from codecompass.transport.calls import ServerAccess, ToolDescription
from codecompass.transport.mcp import progress
from codecompass.transport.mcp.client import root_paths
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import decode_params, encode_notification
from codecompass.transport.mcp.progress import ProgressParams
from codecompass.transport.mcp.protocol import META_JOB, META_PART, PROGRESS, ROOTS_LIST, TASKS_EXTENSION
from codecompass.transport.mcp.surface import InputRequired, TaskStarted, ToolOutcome
from codecompass.transport.mcp.tasks import JobWatch, TaskState, TaskStatus
from codecompass.transport.mcp.wire import CallToolResult, InputRequest, TextContent, is_declared

if TYPE_CHECKING:
    # Sessions start before the modules that answer calls are loaded.
    from codecompass.protocol.parts import PartRequest
    from codecompass.protocol.replies import Reply
    from codecompass.transport.call_records import ActivityLog

ROOTS_INPUT: Final = "roots"
"""The name under which roots are requested, and returned, in the modern era."""

HINTED_CLIENT: Final = "claude-code"
"""The `clientInfo` name of the client that names its roots without a hint."""


class SessionCaller:
    """The Caller of one request. `misses_roots` is set if the client supports roots but has not sent them with the request."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.misses_roots = False
        self._followed: JobHandle | None = None

    @property
    def transport(self) -> TransportName:
        """How the client is connected."""
        return self._exchange.client.transport

    @property
    def request_id(self) -> str:
        """The id of the request, for the log."""
        return str(self._exchange.id)

    @property
    def project_path(self) -> str | None:
        """The query parameter `project_path` of an HTTP request."""
        return self._exchange.project_path

    @property
    def identity(self) -> Identity | None:
        """Who sent the request."""
        return self._exchange.identity

    @property
    def trace(self) -> TraceSender | None:
        """What the client says about its own trace."""
        return self._exchange.trace

    async def roots(self) -> tuple[str, ...]:
        """Returns the client's roots. In the modern era only those sent with the request: the server cannot request them then."""
        exchange = self._exchange
        if not is_declared(exchange.envelope.capabilities.roots):
            return ()
        if not exchange.envelope.is_modern:
            return await exchange.client.roots.paths(exchange.out) if exchange.can_push else ()
        response = exchange.input_responses.get(ROOTS_INPUT)
        if response is None:
            self.misses_roots = True
            return ()
        return root_paths(response)

    def take_hint(self) -> bool:
        """Returns True the first time in a session; never without a session or for HINTED_CLIENT."""
        exchange = self._exchange
        return exchange.envelope.client.name != HINTED_CLIENT and exchange.client.take_hint()

    async def follow(self, job: JobHandle, seconds: float) -> None:
        """Waits up to `seconds` for the job to end, and reports its progress: on the request's token until the answer, on the
        job's token after it."""
        if seconds <= 0:
            return
        self.follow_beyond(job)
        exchange = self._exchange
        exchange.waits()
        token = exchange.envelope.progress_token
        with trio.move_on_after(seconds):
            if token is None or not exchange.can_push:
                await job.wait_end()
            else:
                await progress.follow(job, token, exchange.report)

    def follow_beyond(self, job: JobHandle) -> None:
        """Reports the job's progress on the connection until it ends, if the client declared support for that."""
        client = self._exchange.client
        if self._followed is job:
            # It may have ended meanwhile, and its end is reported only once.
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
    """An index job as a task. It ends as `completed` even if the job failed, with the result its tool would have returned; a
    cancelled job ends as `cancelled`."""

    def __init__(
        self, job: JobHandle, result_at_end: Callable[[JobState], CallToolResult], stop: Callable[[], Awaitable[bool]]
    ) -> None:
        self._job = job
        self._result_at_end = result_at_end
        self._stop = stop
        self._seen: JobState | None = None
        self._seen_at = 0.0

    @property
    def state(self) -> TaskState:
        """The newest state of the job. `failed` is reserved for protocol errors, so a failed job is a completed task."""
        job = self._job.state
        if job is not self._seen:
            self._seen, self._seen_at = job, time.time()
        updated_at = max(job.created_at, job.finished_at or self._seen_at)
        status: TaskStatus = "working" if not job.has_ended else "cancelled" if job.status == "cancelled" else "completed"
        return TaskState(
            status=status,
            created_at=job.created_at,
            updated_at=updated_at,
            message=job.message,
            result=self._result_at_end(job) if status == "completed" else None,
        )

    def watch(self) -> JobWatch:
        """Returns the changes of the job."""
        return JobWatch(self._job)

    async def cancel(self) -> None:
        """Stops the job for everybody who waits for it."""
        await self._stop()


def asked_roots(reply: "Reply", caller: SessionCaller) -> InputRequired | None:
    """Returns a request for the client's roots if the project was not found and they might identify it; else None."""
    from codecompass.protocol.replies import ErrorReply

    if not caller.misses_roots or not isinstance(reply, ErrorReply) or reply.error.code != ProjectNotFound.code:
        return None
    return InputRequired(requests={ROOTS_INPUT: InputRequest(ROOTS_LIST)})


def result_of(reply: "Reply", answers: AnswerForm, *, knows_structured: bool) -> CallToolResult:
    """Returns a reply as the result of `tools/call`. `knows_structured`: whether the client's revision has structured content."""
    from codecompass.protocol import text
    from codecompass.protocol.encode import encode, one_line
    from codecompass.protocol.replies import ErrorReply

    is_error = isinstance(reply, ErrorReply)
    if answers == "text":
        return CallToolResult(content=(TextContent(text.render(reply)),), is_error=is_error)
    payload = encode(reply)
    return CallToolResult(
        content=(TextContent(payload.decode()),),
        # Raw JSON is embedded unchanged, and a frame ends at the first line break.
        structured_content=Raw(one_line(payload)) if knows_structured and not is_error else UNSET,
        is_error=is_error,
    )


def part_request(exchange: Exchange) -> "PartRequest | None":
    """Returns the part request of a server that merges the answer with its own; None if the call has none.

    Raises Fault if it is malformed.
    """
    if META_PART.encode() not in bytes(exchange.params):
        return None
    from codecompass.protocol.parts import PartRequest

    class Meta(Struct, frozen=True):
        part: PartRequest | None = field(name=META_PART, default=None)

    class Params(Struct, frozen=True):
        meta: Meta = field(name="_meta", default=Meta())

    return decode_params(msgspec.json.Decoder(Params), exchange.params).meta.part


def result_for_merging(reply: "Reply") -> CallToolResult:
    """Returns a reply for a server that merges it with its own: complete, errors included, and as JSON alone."""
    from codecompass.protocol.encode import encode, one_line
    from codecompass.protocol.replies import ErrorReply

    return CallToolResult(
        content=(),
        structured_content=Raw(one_line(encode(reply))),
        is_error=isinstance(reply, ErrorReply),
        meta={META_PART: True},
    )


class ProductTools:
    """The ToolSource of the product."""

    def __init__(self, access: ServerAccess, listing: str, answers: AnswerForm, activity: "ActivityLog | None" = None) -> None:
        """`activity` records the calls; None records nothing."""
        self._access = access
        self._activity = activity
        self._listing = listing
        self._answers: AnswerForm = answers

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """The tools of the listing. Works before the server is open."""
        self._access.tools_listed()
        from codecompass.transport.tools.listing import describe

        return describe(self._listing, self._answers)

    def knows(self, name: str) -> bool:
        """Returns whether a tool of this name exists, listed or not. Works before the server is open."""
        from codecompass.protocol.requests import REQUESTS

        return name in REQUESTS

    async def call(self, name: str, arguments: Mapping[str, object], exchange: Exchange) -> ToolOutcome:
        """Runs a tool once the server is open; returns a running job as a task to clients that support tasks."""
        caller = SessionCaller(exchange)
        part = part_request(exchange)
        server = await self._access.opened()
        began = time.monotonic()
        if part is None:
            outcome = await server.tools.call(name, arguments, caller)
        else:
            outcome = await server.tools.part(name, arguments, caller, part)
        seconds = time.monotonic() - began
        question = asked_roots(outcome.reply, caller)
        if question is not None:
            return question
        envelope = exchange.envelope
        if part is None:
            result = result_of(outcome.reply, self._answers, knows_structured=envelope.knows_structured)
        else:
            result = result_for_merging(outcome.reply)
        if self._activity is not None:
            n_characters = sum(len(each.text) for each in result.content if isinstance(each, TextContent))
            if part is not None and result.structured_content is not UNSET:
                n_characters = len(bytes(result.structured_content))
            self._activity.note(envelope.client.name, caller.transport, name, arguments, outcome.reply, seconds, n_characters)
        job, at_end = outcome.job, outcome.at_end
        if job is None:
            return result
        exchange.after_answer(lambda: caller.follow_beyond(job))
        takes_tasks = envelope.is_modern and envelope.capabilities.has_extension(TASKS_EXTENSION)
        if not takes_tasks or at_end is None or job.state.has_ended:
            return result
        state = job.state

        def result_at_end(state: JobState) -> CallToolResult:
            return result_of(at_end(state), self._answers, knows_structured=True)

        async def stop() -> bool:
            return await server.cancel_job(state.job_id)

        meta = {META_JOB: {"job_id": state.job_id, "progress_token": state.progress_token}}
        return TaskStarted(task=JobTask(job, result_at_end, stop), otherwise=result, meta=meta)
