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
"""Every header that is read, with its maximum number of characters; `head_bytes` bounds all of them together."""

PARAMETER_LENGTHS: Final[Mapping[str, int]] = {"project_path": MAX_PATH_LENGTH, "sessionId": 128}
"""The parameters of the query, with their maximum number of characters after decoding."""


class HttpLimits(Struct, frozen=True, kw_only=True):
    """Bounds of one server; those of a single session are in `core.SessionLimits`."""

    connections: int = 512
    """Sockets. Each takes a descriptor, of which a process has 1,024 by default."""
    requests: int = 256
    """Unanswered POSTs on all connections."""
    sessions: int = 256
    """Sessions of the handshake era, whose clients often leave without ending them."""
    head_bytes: int = 16 * KIB
    """The size of all headers of a request."""
    body_bytes: int = MAX_MESSAGE_BYTES
    """The size of the body of a request."""
    session_idle: float = 30 * MINUTES
    """How long a session may be idle before it is ended."""
    head: float = 10 * SECONDS
    """The time for the head of a request after its first byte."""
    body: float = 60 * SECONDS
    """The time for the body of a request, or for a WebSocket message."""
    idle: float = 75 * SECONDS
    """How long a connection may wait for its next request."""
    write: float = 30 * SECONDS
    """How long a client may take to read `PIECE_BYTES`."""
    linger: float = 1 * SECONDS
    """How long a refused request is still read, and a closed connection kept open for the client to read the answer."""
    comment: float = 15 * SECONDS
    """The interval at which a silent event stream shows that it is alive."""
    stop: float = 5 * SECONDS
    """The time that all connections have to end when the server stops."""
