"""Lets pages of the origins that the user has named read what they asked for: what CORS wants a server to say.

A browser asks before it sends JSON to another origin (a preflight), and shows the answer to the page only if it says so.
Pages of this machine that nobody has named may ask, as the guard has it, and are shown nothing.
"""

from typing import Final

from codecompass.transport.http.request import NO_CONTENT, Header, Heading, HttpRequest

MAX_AGE_SECONDS: Final = 600
"""How long a browser need not ask again."""

_PREFLIGHT: Final[tuple[Header, ...]] = (
    ("access-control-allow-methods", "GET, POST, DELETE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-private-network", "true"),
    ("access-control-max-age", str(MAX_AGE_SECONDS)),
)


def allowance(origin: str) -> tuple[Header, ...]:
    """Returns the headers of every answer to a page of this origin."""
    return (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "mcp-session-id, retry-after"),
        ("vary", "origin"),
    )


def is_preflight(heading: Heading, method: str) -> bool:
    """Whether a browser asks if it may send a request."""
    return method == "OPTIONS" and heading.header("access-control-request-method") is not None


async def answer_preflight(request: HttpRequest) -> None:
    """Says that it may."""
    await request.answer(NO_CONTENT, headers=_PREFLIGHT)
