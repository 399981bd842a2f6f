"""Between a session and the tools: how tools are listed, what answers a call, and the way to it. No wire format in here."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from codecompass.actors.job_model import JobState, JobView
from codecompass.projects.caller import Caller

if TYPE_CHECKING:
    # A session is there before anything that answers a call is loaded.
    from codecompass.protocol.parts import PartRequest
    from codecompass.protocol.replies import Reply
    from codecompass.store.job_log import JobRecord


class Outcome(Struct, frozen=True):
    """What a call of a tool led to.

    reply: the typed answer, an ErrorReply where the call failed
    job: the job that the call started or joined; it may still be running
    at_end: makes of the job's last state the reply of a call that waited for it; without it no task is made of the job
    """

    reply: "Reply"
    job: JobView | None = None
    at_end: "Callable[[JobState], Reply] | None" = None


class ToolDescription(Struct, frozen=True, kw_only=True):
    """A tool as `tools/list` shows it. Schemas are JSON Schema 2020-12, inline, with bounds; `meta` becomes `_meta`."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object]
    is_read_only: bool
    meta: Mapping[str, object]


class ToolCalls(Protocol):
    """Answers calls of tools. Implemented by the catalogue."""

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> Outcome:
        """Runs a tool. Raises nothing but a cancellation: every failure is an ErrorReply."""

    async def part(self, name: str, arguments: Mapping[str, object], caller: Caller, part: "PartRequest") -> Outcome:
        """Runs a tool for a server that merges the answer with its own, see `protocol/parts.py`. Raises as `call` does."""


class OpenServer(Protocol):
    """A server as sessions use it: its tools, and all its jobs."""

    @property
    def tools(self) -> ToolCalls:
        """Its tools."""

    def find_job(self, job_id: str) -> JobView | None:
        """Returns the job if it runs or has ended lately. Never waits."""

    async def recorded_job(self, job_id: str) -> "JobRecord | None":
        """Returns the record of the job, of any process and however old. None, too, while the registry cannot be read."""

    async def cancel_job(self, job_id: str) -> bool:
        """Stops the job; False where it does not run here."""


class ServerAccess(Protocol):
    """The way from a session to a server that may not be open yet."""

    @property
    def server(self) -> OpenServer | None:
        """The server once it is open."""

    async def opened(self) -> OpenServer:
        """Returns the server. Has it opened, and waits for that, where it is not open."""

    def tools_listed(self) -> None:
        """Says that the next frame to the client has the list of tools: calls are likely to follow."""
