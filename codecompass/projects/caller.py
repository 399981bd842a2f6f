"""The client behind a request: what finds its project, and what tells it of a job."""

from typing import Literal, Protocol

from msgspec import Struct

from codecompass.actors.job_model import JobView

TransportName = Literal["stdio", "http", "sse", "websocket"]


class Identity(Struct, frozen=True):
    """Who a request comes from, as far as its transport has found out. What may be seen with it is decided for every question.

    One of two: `token` is the SHA-256 of a bearer token, in hexadecimal; `name` and `groups` are what a trusted proxy has said.
    """

    token: str = ""
    name: str = ""
    groups: tuple[str, ...] = ()


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

    @property
    def identity(self) -> Identity | None:
        """Who asks; None where nobody is asked who they are."""

    async def roots(self) -> tuple[str, ...]:
        """Returns the `file:` roots of the client as paths of this machine, percent-decoded, in its order.

        Empty where the client declared no roots or does not answer. The client is asked once a session, and again
        after `roots/list_changed`.
        """

    def take_hint(self) -> bool:
        """Returns True the first time in a session: hints are given once."""

    async def follow(self, job: JobView, seconds: float) -> None:
        """Waits for the end of `job`, at most `seconds`, and tells the client meanwhile how far it is, if it asked to know."""
