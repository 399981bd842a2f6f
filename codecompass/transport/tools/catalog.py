"""Runs and counts the tool calls of a server: from the arguments of a call to its typed reply.

Every call ends in a reply. A CodeCompassError becomes an ErrorReply with its code; any other exception is a defect, is logged
with its trace, and becomes `internal_error`.
"""

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext
from functools import partial
from typing import Final

import structlog
from msgspec.structs import replace

from codecompass.actors.blocking_calls import load_module
from codecompass.actors.job_state import JobState
from codecompass.errors import CodeCompassError, InternalError, cause_of, error_body
from codecompass.projects.caller import Caller
from codecompass.protocol.decode import decode
from codecompass.protocol.metadata import BareMetadata, Metadata, bare_metadata
from codecompass.protocol.parts import PartRequest
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.protocol.requests import HealthCheck, ListRefs, PageRequest, SearchCode
from codecompass.settings import AnswerForm
from codecompass.tracing import MAX_QUERY_LENGTH, OUTCOME, QUERY, TOOL, TRANSPORT, Traces, note, note_failure, whole
from codecompass.transport.call_records import CANCELLED, OK, Measures
from codecompass.transport.calls import CallOutcome
from codecompass.transport.health import MAX_PROJECTS
from codecompass.transport.tools import job_tools
from codecompass.transport.tools.call import ToolCall, ask_index
from codecompass.transport.tools.services import AnsweredCall, Services, ServiceSource, asked_text

Run = Callable[[ToolCall], Awaitable[CallOutcome]]


class Catalog:
    """The `calls.ToolCalls` of a server. Has no state."""

    def __init__(self, source: ServiceSource, measures: Measures, traces: Traces | None = None) -> None:
        self._source = source
        self._measures = measures
        self._traces = traces
        self._log = structlog.get_logger(__name__)

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> CallOutcome:
        """Runs a tool. Raises nothing but a cancellation: every failure becomes an ErrorReply."""
        return await self._decode_and_run(name, arguments, caller)

    async def part(self, name: str, arguments: Mapping[str, object], caller: Caller, part: PartRequest) -> CallOutcome:
        """Runs a tool for a server that merges the answer with its own: if it is about several projects, returns a PartsReply."""
        return await self._decode_and_run(name, arguments, caller, answers=part.answers, part=part)

    async def show(self, name: str, arguments: Mapping[str, object], caller: Caller, answers: AnswerForm) -> CallOutcome:
        """Runs a tool for a page: like `call`, with a reply in this form whatever that of the server is. Replies as text have
        lines of code, others have ids. Queries no other server, as pages cannot show its projects.
        """
        return await self._decode_and_run(name, arguments, caller, answers=answers, is_local=True)

    async def ask(self, request: PageRequest, caller: Caller) -> CallOutcome:
        """Answers a question of the page that is no tool. Routed and counted like a tool."""
        return await self._run(request.tool, caller, lambda services: ToolCall(services, request, caller))

    async def _decode_and_run(
        self,
        name: str,
        arguments: Mapping[str, object],
        caller: Caller,
        *,
        answers: AnswerForm | None = None,
        part: PartRequest | None = None,
        is_local: bool = False,
    ) -> CallOutcome:
        def begin(services: Services) -> ToolCall:
            decoded = decode(name, arguments)
            warnings = decoded.warnings
            return ToolCall(services, decoded.request, caller, warnings=warnings, answers=answers, part=part, is_local=is_local)

        return await self._run(name, caller, begin)

    async def _run(self, name: str, caller: Caller, begin: Callable[[Services], ToolCall]) -> CallOutcome:
        with whole(self._traces, name, caller.trace, {TOOL: name, TRANSPORT: caller.transport}):
            return await self._run_counted(name, caller, begin)

    async def _run_counted(self, name: str, caller: Caller, begin: Callable[[Services], ToolCall]) -> CallOutcome:
        started = time.monotonic()
        counted_as = CANCELLED
        call: ToolCall | None = None
        try:
            call = begin(await self._source.of(caller))
            note(call.services.traced_as)
            if self._traces is not None and self._traces.shows_queries:
                note({QUERY: asked_text(call.request)[:MAX_QUERY_LENGTH]})
            run = _RUN.get(name, ask_index)
            elsewhere = call.elsewhere
            with call.services.admit() if call.services.admit is not None else nullcontext():
                outcome = await (run(call) if elsewhere is None else elsewhere.run(call, run))
            counted_as = OK
        except Exception as error:  # noqa: BLE001 (the boundary of a request: one call must not end the client's session)
            known = self._known(error, name, caller)
            note_failure(known)
            reply = self._error_reply(known, call)
            counted_as = reply.error.code
            outcome = CallOutcome(reply)
        finally:
            seconds = time.monotonic() - started
            self._measures.count_call(name, caller.transport, counted_as, seconds)
            note({OUTCOME: counted_as})
        if call is not None and call.services.audit is not None:
            call.services.audit(AnsweredCall(request=call.request, reply=outcome.reply, outcome=counted_as, seconds=seconds))
        if call is None or outcome.at_end is None:
            return outcome
        return replace(outcome, at_end=partial(self._reply_at_end, call, outcome.at_end))

    def _reply_at_end(self, call: ToolCall, render: Callable[[JobState], Reply], state: JobState) -> Reply:
        try:
            return render(state)
        except CodeCompassError as error:
            return self._error_reply(error, call)

    def _known(self, error: Exception, name: str, caller: Caller) -> CodeCompassError:
        """Returns the CodeCompassError in `error`; logs any other error and returns an InternalError."""
        cause = cause_of(error)
        if isinstance(cause, CodeCompassError):
            return cause
        self._log.error("tool_failed", tool=name, request_id=caller.request_id, exc_info=error)
        return InternalError(f"{name} failed unexpectedly ({type(cause).__name__}). The server's log has the details.")

    def _error_reply(self, error: CodeCompassError, call: ToolCall | None) -> ErrorReply:
        metadata: Metadata | BareMetadata = bare_metadata()
        if call is not None:
            # An index that answered knows its own state; by now the workspace may have another one.
            answered = error.metadata
            metadata = answered if isinstance(answered, Metadata) else call.metadata(call.observed())
        return ErrorReply(error=error_body(error), metadata=metadata)


async def _ask_projects(call: ToolCall) -> CallOutcome:
    # Loaded with the first question that may be about several projects.
    await load_module("codecompass.transport.tools.several_results")
    from codecompass.transport.tools.several_results import ask_projects

    return await ask_projects(call)


async def _search_code(call: ToolCall) -> CallOutcome:
    request = call.request
    assert isinstance(request, SearchCode)
    if "type:" in request.query:
        await load_module("codecompass.transport.tools.history_results")
        from codecompass.transport.tools.history_results import asks_for_commits, search_history

        if asks_for_commits(request):
            return await search_history(call, request)
    return await _ask_projects(call)


async def _health_check(call: ToolCall) -> CallOutcome:
    """Answers from the published state. Only calls that name a project are routed: all others are about the server."""
    assert isinstance(call.request, HealthCheck)
    project = None
    if call.request.workspace is not None or call.request.project_id is not None:
        await call.require_ref()
        project = (await call.route()).project
    metadata = bare_metadata("" if project is None else str(project.root), call.warnings, call.hint)
    return CallOutcome(await call.services.state.health(about=project, limit=MAX_PROJECTS, metadata=metadata))


async def _list_refs(call: ToolCall) -> CallOutcome:
    """Answers from git and the store; the workspace need be neither live nor indexed."""
    assert isinstance(call.request, ListRefs)
    routed = await call.route()
    metadata = bare_metadata(str(routed.project.root), call.warnings, call.hint)
    return CallOutcome(await call.services.commits.list_refs(call.request, routed.project, metadata))


_RUN: Final[Mapping[str, Run]] = {
    "search_code": _search_code,
    "locate_symbol": _ask_projects,
    "find_references": _ask_projects,
    "list_refs": _list_refs,
    "health_check": _health_check,
    "index_repo": job_tools.index_repo,
    "sync_repo": job_tools.sync_repo,
    "index_repository": job_tools.index_repository,
}
"""What answers the calls of tools that do more than to ask one index."""
