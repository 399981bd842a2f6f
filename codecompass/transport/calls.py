"""Between a session and the tools: what a tool knows of its caller, and what it gives back. No wire format in here."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol

from msgspec import Struct

from codecompass.actors.jobs import JobState, JobView
from codecompass.errors import ErrorBody

TransportName = Literal["stdio", "http", "sse", "websocket"]


class Caller(Protocol):
    """The client behind a call, as one request sees it. Implemented by the session."""

    @property
    def transport(self) -> TransportName:
        """How the client is connected."""

    @property
    def request_id(self) -> str:
        """The request's id for the log."""

    @property
    def project_path(self) -> str | None:
        """`?project_path=` of an HTTP request, None on other transports."""

    async def roots(self) -> tuple[str, ...]:
        """Returns the `file:` roots of the client as paths of this machine, percent-decoded, in its order.

        Empty where the client declared no roots or does not answer. Asked for once a session and again after
        `roots/list_changed`.
        """

    def take_hint(self) -> bool:
        """Returns True the first time in a session: hints are given once."""

    async def follow(self, job: JobView, seconds: float) -> None:
        """Waits for the end of `job`, at most `seconds`, and tells the client meanwhile how far it is, if it asked to know."""


class ToolAnswer(Struct, frozen=True):
    """What a tool says: `payload` is its JSON. That goes out as text, and as structured content on success, unless there is
    `text`: the same as plain text for models, which then goes out alone.

    `error` is there on failure, `job` where the call started or joined one that may still be running. `at_end` makes of
    the job's last state what the call would have said had it waited for it; without it no task is made of the job.
    """

    payload: bytes
    text: str | None = None
    error: ErrorBody | None = None
    job: JobView | None = None
    at_end: Callable[[JobState], "ToolAnswer"] | None = None


class ToolDescription(Struct, frozen=True, kw_only=True):
    """A tool as `tools/list` shows it. Schemas are JSON Schema 2020-12, inline, with bounds; `meta` becomes `_meta`."""

    name: str
    title: str
    description: str
    input_schema: Mapping[str, object]
    output_schema: Mapping[str, object]
    is_read_only: bool
    is_idempotent: bool
    meta: Mapping[str, object]


class Tools(Protocol):
    """All tools of a server. Implemented by the catalogue."""

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """Those that `tools/list` shows, always in the same order."""

    def knows(self, name: str) -> bool:
        """Whether `call` takes this name. Tools that are not listed can be called all the same."""

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> ToolAnswer:
        """Runs a tool. Never raises but for cancellation: every failure is an answer with `error`."""
