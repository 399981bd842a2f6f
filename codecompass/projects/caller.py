"""The client behind a request: what identifies its project, and how it is told of a job's progress."""

from typing import Literal, Protocol

from msgspec import Struct

from codecompass.actors.job_state import JobHandle
from codecompass.tracing import TraceSender

TransportName = Literal["stdio", "http", "sse", "websocket"]


class Identity(Struct, frozen=True):
    """Who sent a request, as established by its transport. What the sender may see is decided for every question.

    Either `token`, the SHA-256 of a bearer token in hexadecimal, or the rest, as stated by a trusted proxy.
    """

    token: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()
    login: str = ""
    """The login at the code hosts, as stated by that proxy."""
    is_session: bool = False
    """Whether `token` is that of a session of the page, which is good for nothing else."""


class Caller(Protocol):
    """The client that sent a request. Implemented by the session."""

    @property
    def transport(self) -> TransportName:
        """How the client is connected."""

    @property
    def request_id(self) -> str:
        """The request's id for the log."""

    @property
    def project_path(self) -> str | None:
        """`?project_path=` of an HTTP request; None on other transports."""

    @property
    def identity(self) -> Identity | None:
        """Who sent the request; None if this server does not authenticate."""

    @property
    def trace(self) -> TraceSender | None:
        """What the client says about its own trace; None if it says nothing."""

    async def roots(self) -> tuple[str, ...]:
        """Returns the client's `file:` roots as paths of this machine, percent-decoded, in the client's order.

        Empty if the client declared no roots or does not answer. The client is asked once a session, and again after
        `roots/list_changed`.
        """

    def take_hint(self) -> bool:
        """Returns True the first time in a session: hints are given once."""

    async def follow(self, job: JobHandle, seconds: float) -> None:
        """Waits up to `seconds` for the end of `job`, and meanwhile reports its progress to a client that asked for it."""
