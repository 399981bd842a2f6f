"""The interface between sessions and tools: descriptions of tools, outcomes of calls, and access to a server that may still be
opening. Knows no wire format.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec import Struct

from codecompass.actors.job_state import JobHandle, JobState
from codecompass.projects.caller import Caller

if TYPE_CHECKING:
    # Sessions start before the modules that answer calls are loaded.
    from codecompass.protocol.parts import PartRequest
    from codecompass.protocol.replies import Reply
    from codecompass.store.job_log import JobRecord


class CallOutcome(Struct, frozen=True):
    """The result of a tool call.

    reply: the typed answer, an ErrorReply if the call failed
    job: the job that the call started or joined; it may still be running
    at_end: renders the job's final state as the reply of a call that waited for it; None if the job must not become a task
    """

    reply: "Reply"
    job: JobHandle | None = None
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
    is_short: bool = False
    """Whether annotations that change nothing for a model's host are left out."""


class ToolCalls(Protocol):
    """Answers tool calls. Implemented by `tools.catalog.Catalog`."""

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> CallOutcome:
        """Runs a tool. Raises nothing but a cancellation: every failure becomes an ErrorReply."""

    async def part(self, name: str, arguments: Mapping[str, object], caller: Caller, part: "PartRequest") -> CallOutcome:
        """Runs a tool for a server that merges the answer with its own (`protocol/parts.py`). Raises like `call`."""


class OpenServer(Protocol):
    """An open server as sessions use it: its tools and its jobs."""

    @property
    def tools(self) -> ToolCalls:
        """Its tools."""

    def find_job(self, job_id: str) -> JobHandle | None:
        """Returns the job if it is running or has ended recently. Never waits."""

    async def recorded_job(self, job_id: str) -> "JobRecord | None":
        """Returns the record of a job of any process and age; None if there is none or the registry cannot be read."""

    async def cancel_job(self, job_id: str) -> bool:
        """Stops the job; returns False if it does not run in this server."""


class ServerAccess(Protocol):
    """Gives sessions access to a server that may not be open yet."""

    @property
    def server(self) -> OpenServer | None:
        """The server; None until it is open."""

    async def opened(self) -> OpenServer:
        """Returns the server; opens it first, and waits for that, if it is not open."""

    def tools_listed(self) -> None:
        """Notes that the next frame to the client contains the list of tools: calls are likely to follow."""
