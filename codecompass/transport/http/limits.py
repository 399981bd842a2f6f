"""The bounds of the HTTP server, each with its reason. Sizes in bytes, times in seconds."""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codecompass.protocol.requests import MAX_PATH_LENGTH
from codecompass.transport.mcp.protocol import MAX_MESSAGE_BYTES, MAX_NAME_LENGTH
from codecompass.units import KIB, MINUTES, SECONDS

HEADER_LENGTHS: Final[Mapping[str, int]] = {
    "host": 300,
    "origin": 1_000,
    "accept": 4_000,
    "content-type": 1_000,
    "content-length": 20,
    "content-encoding": 100,
    "access-control-request-method": 100,
    "sec-fetch-site": 100,
    "mcp-session-id": 128,
    "mcp-protocol-version": 100,
    "mcp-method": MAX_NAME_LENGTH,
    "mcp-name": 12_000,
}
"""Every header that is read, and how many characters it may have; `head_bytes` holds for all of them together."""

PARAMETER_LENGTHS: Final[Mapping[str, int]] = {"project_path": MAX_PATH_LENGTH, "sessionId": 128}
"""The same for the parameters of the query, decoded."""


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one server; those of a single session are in `core.SessionLimits`.

    `connections` are sockets: each takes a descriptor, and 1,024 is what a process has by default. `requests` are POSTs that
    have not been answered, on all connections. `sessions` are of the handshake era, whose clients often leave without a
    word; one that is idle for `session_idle` ends.

    `head` is the time for the head of a request once its first byte is there, `body` for the rest of it, `idle` for the
    next request on a connection, `write` for each `PIECE_BYTES` to a client that may not read. `comment` is how often a
    silent event stream shows that it is alive. `stop` is the time that all of it has to end when the server does.
    """

    connections: int = 512
    requests: int = 256
    sessions: int = 256
    head_bytes: int = 16 * KIB
    body_bytes: int = MAX_MESSAGE_BYTES
    session_idle: float = 30 * MINUTES
    head: float = 10 * SECONDS
    body: float = 60 * SECONDS
    idle: float = 75 * SECONDS
    write: float = 30 * SECONDS
    linger: float = 1 * SECONDS
    comment: float = 15 * SECONDS
    stop: float = 5 * SECONDS
