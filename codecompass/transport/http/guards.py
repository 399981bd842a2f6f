"""Decides who may connect over HTTP: checks Host and Origin before anything else, and makes the CORS headers for origins that the
user has allowed. Pure.
"""

import re
from typing import Final, Literal

from msgspec import Struct

from codecompass.remote.address import is_loopback
from codecompass.transport.http.request import NO_CONTENT, Header, Heading, HttpRequest

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "::1"})

Refusal = Literal["host", "origin"]

_AUTHORITY: Final = r"(?:\[(?P<address>[0-9a-f:.]+)\]|(?P<name>[^\s\[\]/\\:@?#]+))(?::(?P<port>[0-9]{0,5}))?"
_HOST: Final = re.compile(_AUTHORITY, re.IGNORECASE)
_ORIGIN: Final = re.compile(f"https?://{_AUTHORITY}", re.IGNORECASE)
"""Only what browsers send, stricter than URL parsers: `http://[::1]evil.com` must not pass for an address of this machine."""

_MAX_PORT: Final = 65_535


class Guard(Struct, frozen=True, kw_only=True):
    """The allowed Hosts and Origins. `bound` are the addresses that the server listens on; `hosts` are names with or without a
    port, in lower case."""

    bound: tuple[str, ...]
    hosts: frozenset[str] = frozenset()
    origins: frozenset[str] = frozenset()

    @property
    def is_local(self) -> bool:
        """Whether only programs on this machine can connect."""
        return all(is_loopback(address) for address in self.bound)

    def check(self, host: str | None, origin: str | None) -> Refusal | None:
        """Returns which of the headers is not allowed; None if the request may be answered."""
        if not self._is_host_allowed(host):
            return "host"
        return None if origin is None or self._is_origin_allowed(origin) else "origin"

    def names(self, origin: str) -> bool:
        """Returns whether the user has allowed exactly this origin."""
        return origin.lower().rstrip("/") in self.origins

    def _is_host_allowed(self, host: str | None) -> bool:
        if not self.is_local and not self.hosts:
            # The names by which others know this machine cannot be guessed. Only the Origin protects then.
            return True
        if host is None:
            return False
        name = host_name(host)
        if name is None:
            return False
        return name in LOOPBACK_NAMES or name in self.bound or name in self.hosts or host.lower() in self.hosts

    def _is_origin_allowed(self, origin: str) -> bool:
        if self.names(origin):
            return True
        name = _name(_ORIGIN.fullmatch(origin))
        return name is not None and is_loopback(name)


def guard(*, bound: tuple[str, ...], hosts: tuple[str, ...], origins: tuple[str, ...]) -> Guard:
    """Returns the guard that allows these hosts and origins besides the machine itself."""
    return Guard(
        bound=bound,
        hosts=frozenset(host.lower() for host in hosts),
        origins=frozenset(origin.lower().rstrip("/") for origin in origins),
    )


def host_name(host: str) -> str | None:
    """Returns the name in a Host header, without port and brackets, in lower case; None if the header is invalid."""
    name = _name(_HOST.fullmatch(host))
    return None if name is None else name.rstrip(".") or None


def _name(authority: re.Match[str] | None) -> str | None:
    if authority is None or int(authority["port"] or 0) > _MAX_PORT:
        return None
    return (authority["address"] or authority["name"]).lower()


MAX_AGE_SECONDS: Final = 600
"""How long a browser may cache the answer to a preflight."""

_PREFLIGHT: Final[tuple[Header, ...]] = (
    ("access-control-allow-methods", "GET, POST, DELETE"),
    ("access-control-allow-headers", "*"),
    ("access-control-allow-private-network", "true"),
    ("access-control-max-age", str(MAX_AGE_SECONDS)),
)


def allowance(origin: str) -> tuple[Header, ...]:
    """Returns the CORS headers of every answer to a page of this origin."""
    return (
        ("access-control-allow-origin", origin),
        ("access-control-expose-headers", "mcp-session-id, retry-after"),
        ("vary", "origin"),
    )


def is_preflight(heading: Heading, method: str) -> bool:
    """Returns whether a request is a CORS preflight."""
    return method == "OPTIONS" and heading.header("access-control-request-method") is not None


async def answer_preflight(request: HttpRequest) -> None:
    """Answers a CORS preflight: the request may be sent."""
    await request.answer(NO_CONTENT, headers=_PREFLIGHT)
