"""All tools of a server: one call from its arguments to its bytes.

Every call ends in an answer. An error of ours goes out with its code; anything else is a defect, is logged with its trace,
and goes out as `internal_error`. Owns no state.
"""

from collections.abc import Callable, Mapping
from functools import partial

import structlog

from codecompass.actors.job_model import JobState
from codecompass.errors import CodeCompassError, InternalError, error_body
from codecompass.projects.caller import Caller
from codecompass.protocol import text
from codecompass.protocol.decode import decode
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import BareMetadata, Metadata, bare_metadata
from codecompass.protocol.replies import ErrorReply, Reply
from codecompass.settings import AnswerForm
from codecompass.transport.calls import ToolAnswer, ToolDescription
from codecompass.transport.tools.listing import TOOLS, describe
from codecompass.transport.tools.toolkit import Call, Services


class Catalog:
    """See the module. One for a server; raises InvalidInput for a `listing` that names what there is not.

    `answers` is the form in which all tools answer.
    """

    def __init__(self, services: Services, listing: str = "ten", answers: AnswerForm = "json") -> None:
        self._services = services
        self._tools = {tool.name: tool for tool in TOOLS}
        self._listed = describe(listing, answers)
        self._answers = answers
        self._log = structlog.get_logger(__name__)

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """See `calls.Tools`."""
        return self._listed

    def knows(self, name: str) -> bool:
        """See `calls.Tools`."""
        return name in self._tools

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> ToolAnswer:
        """See `calls.Tools`."""
        call: Call | None = None
        try:
            call = Call(self._services, decode(name, arguments), caller)
            outcome = await self._tools[name].run(call)
            at_end = None if outcome.at_end is None else partial(self._ended, call, outcome.at_end)
            return ToolAnswer(payload=encode(outcome.reply), text=self._text(outcome.reply, call), job=outcome.job, at_end=at_end)
        except CodeCompassError as error:
            return self._failure(error, call)
        except Exception as error:  # noqa: BLE001 (the boundary of a request: one call must not end the client's session)
            known = _only_known(error)
            if known is not None:
                return self._failure(known, call)
            self._log.exception("tool_failed", tool=name, request_id=caller.request_id)
            return self._failure(
                InternalError(f"{name} failed unexpectedly ({type(error).__name__}). The server's log has the details."), call
            )

    def _ended(self, call: Call, render: Callable[[JobState], Reply], state: JobState) -> ToolAnswer:
        try:
            reply = render(state)
            return ToolAnswer(payload=encode(reply), text=self._text(reply, call))
        except CodeCompassError as error:
            return self._failure(error, call)

    def _failure(self, error: CodeCompassError, call: Call | None) -> ToolAnswer:
        body = error_body(error)
        metadata: Metadata | BareMetadata = bare_metadata()
        if call is not None:
            routed = call.routed
            seen = None if routed is None else self._services.workspaces.find(routed.project.project_id)
            metadata = call.metadata(seen)
        reply = ErrorReply(error=body, metadata=metadata)
        return ToolAnswer(payload=encode(reply), text=self._text(reply, call), error=body)

    def _text(self, reply: Reply, call: Call | None) -> str | None:
        if self._answers == "json":
            return None
        return text.render(reply)


def _only_known(error: Exception) -> CodeCompassError | None:
    """Returns the one error of ours in a group of one, as a nursery wraps it."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    return error if isinstance(error, CodeCompassError) else None
