"""Failures between a bridge and its server, with messages that say what to do next, and as JSON-RPC errors."""

import socket
from typing import Final

import msgspec
import trio
from msgspec import Struct
from trio_websocket import ConnectionRejected

from codecompass.errors import causes
from codecompass.transport.bridge.target import BridgeTarget
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.protocol import SERVER_GONE

RETRY_MS: Final = 1000
"""When to call again, in milliseconds. A restarted server listens after half of it."""

_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_SHOWN_LENGTH: Final = 300


class LinkFailure(Struct, frozen=True):
    """Why there is no connection. `reason` is a code for programs; with `is_retryable` it may be temporary."""

    reason: str
    message: str
    is_retryable: bool = True

    def fault(self, target: BridgeTarget) -> Fault:
        """Returns the error for a request that fails because of this."""
        hint: dict[str, object] = {"retry_after_ms": RETRY_MS} if self.is_retryable else {}
        return Fault(SERVER_GONE, self.message, reason=self.reason, is_retryable=self.is_retryable, server_url=target.url, **hint)


class _Error(Struct):
    message: str


class _Body(Struct):
    error: _Error


_BODIES: Final = msgspec.json.Decoder(_Body)


def lost(target: BridgeTarget) -> LinkFailure:
    """Returns the failure of requests that were in flight when the connection ended."""
    return LinkFailure(
        "server_gone",
        f"the connection to the CodeCompass server at {target.url} was lost before it answered. Call again: the bridge connects "
        "again by itself, and jobs go on or are taken up again by the server.",
    )


def unreachable(target: BridgeTarget, cause: BaseException) -> LinkFailure:
    """Returns the failure of an attempt to connect."""
    if isinstance(cause, ConnectionRejected):
        return _rejected(target, cause)
    reason = "it did not answer in time" if isinstance(cause, trio.TooSlowError) else _cause_text(cause)
    todo = (
        f"Start it with: codecompass serve-mcp --transport http --port {target.port}"
        if target.is_local and target.path == "/ws"
        else "Check that it runs, and that the tunnel or proxy to it is up"
    )
    return LinkFailure(
        "server_unreachable", f"no CodeCompass server answers at {target.url} ({reason}). {todo}, then call again."
    )


def changed_revision(target: BridgeTarget, revision: str, other: str) -> LinkFailure:
    """Returns the failure of a session whose server was replaced by one with which it cannot continue."""
    return LinkFailure(
        "server_changed",
        f"the CodeCompass server at {target.url} was replaced: it speaks {other}, this session {revision}. Connect the editor "
        "again.",
        is_retryable=False,
    )


def _rejected(target: BridgeTarget, rejection: ConnectionRejected) -> LinkFailure:
    try:
        said = _BODIES.decode(rejection.body or b"").error.message[:_SHOWN_LENGTH]
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = ""
    if rejection.status_code == _BAD_REQUEST and target.project is not None and said:
        message = f"{said} It is named by {target.source}. Correct that, then connect the editor again."
        return LinkFailure("project_not_found", message, is_retryable=False)
    if said:
        return LinkFailure("server_refused", f"the CodeCompass server at {target.url} refuses the connection: {said}")
    what = f"what answers at {target.url} is no CodeCompass server: it says {rejection.status_code} to {target.path}. "
    return LinkFailure(
        "server_refused", f"{what}Correct the address of --connect.", is_retryable=rejection.status_code != _NOT_FOUND
    )


def _cause_text(cause: BaseException) -> str:
    """Returns the message of the system error at the root of a failure."""
    seen = _system_errors(cause)
    if any(isinstance(error, ConnectionRefusedError) for error in seen):
        return "connection refused"
    if any(isinstance(error, socket.gaierror) for error in seen):
        return "there is no such host"
    return next((error.strerror for error in seen if error.strerror), None) or str(cause) or type(cause).__name__


def _system_errors(error: BaseException | None) -> list[OSError]:
    if error is None:
        return []
    found: list[OSError] = []
    for cause in causes(error):
        found += [cause] if isinstance(cause, OSError) else []
        found += _system_errors(cause.__cause__)
    return found
