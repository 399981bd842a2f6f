"""The project that a peer server calls active: queried over HTTP when no stronger source names one.

    success            {"project_id": "shop"} or {"project_id": null}       logged as debug
    timeout            no complete answer in time, connecting included      warning
    unavailable        connection refused, or closed by the peer            info
    invalid_response   status, format or size violates the protocol         error

Off unless the user configures a URL. Every outcome is cached, and all but the first count as null: a peer that is down or broken
never fails a question. One lookup at a time serves all waiting requests. Redirects are not followed.
"""

import math
from typing import Final, Literal

import h11
import msgspec
import structlog
import trio
from msgspec import Struct

from codecompass.projects.detection import ActiveProjectPeer
from codecompass.store.registry import ALIAS, MAX_ALIAS_LENGTH
from codecompass.units import KIB

Outcome = Literal["success", "timeout", "unavailable", "invalid_response"]

MAX_ANSWER_BYTES: Final = 64 * KIB
"""Bound of an answer's header and body, which carry one id."""

_RECEIVE_BYTES: Final = 4 * KIB


class _Answer(Struct, frozen=True):
    project_id: str | None


class _Lookup(Struct, frozen=True, kw_only=True):
    outcome: Outcome
    project_id: str | None = None
    cause: str = ""


class _InvalidResponse(Exception):
    """The peer's answer violates the protocol; the message says how."""


class ActiveProject:
    """Queries one peer and caches its answer. One instance a server."""

    def __init__(self, peer: ActiveProjectPeer) -> None:
        self._peer = peer
        self._lock = trio.Lock()
        self._cached: str | None = None
        self._expires_at = -math.inf
        self._log = structlog.get_logger(__name__)

    async def project_id(self) -> str | None:
        """Returns the id or alias that the peer names, registered or not; None if it names none or the lookup fails.

        Takes at most twice the timeout: once to wait for another request's lookup, which may be cancelled, and once for its own.
        Safe to cancel: the next waiting request does the lookup.
        """
        # Does not include the lookup: on a machine that stalls both would time out together, and nothing would be cached.
        with trio.move_on_after(self._peer.timeout_seconds) as waiting:
            await self._lock.acquire()
        if waiting.cancelled_caught:
            return None
        try:
            if trio.current_time() >= self._expires_at:
                found = await self._lookup()
                self._cached, self._expires_at = found.project_id, trio.current_time() + self._peer.cache_seconds
            return self._cached
        finally:
            self._lock.release()

    async def _lookup(self) -> _Lookup:
        seconds = self._peer.timeout_seconds
        found = _Lookup(outcome="timeout", cause=f"timeout ({seconds:.1f}s)")
        with trio.move_on_after(seconds):
            try:
                found = _Lookup(outcome="success", project_id=_decoded(await self._get(h11.Connection(h11.CLIENT))))
            except (OSError, trio.BrokenResourceError) as error:
                found = _Lookup(outcome="unavailable", cause=str(error) or type(error).__name__)
            except (_InvalidResponse, h11.RemoteProtocolError) as error:
                found = _Lookup(outcome="invalid_response", cause=str(error))
        log = {
            "success": self._log.debug,
            "timeout": self._log.warning,
            "unavailable": self._log.info,
            "invalid_response": self._log.error,
        }[found.outcome]
        log("active_project_lookup", peer=self._peer.authority, **msgspec.structs.asdict(found))
        return found

    async def _get(self, connection: h11.Connection) -> bytes:
        """Returns the body. Raises OSError, BrokenResourceError, RemoteProtocolError or _InvalidResponse."""
        headers = [("Host", self._peer.authority), ("Accept", "application/json"), ("Connection", "close")]
        request = h11.Request(method="GET", target=self._peer.target, headers=headers)
        body = bytearray()
        n_received = 0
        async with await trio.open_tcp_stream(self._peer.host, self._peer.port) as stream:
            await stream.send_all((connection.send(request) or b"") + (connection.send(h11.EndOfMessage()) or b""))
            while True:
                event = connection.next_event()
                if event is h11.NEED_DATA:
                    received = await stream.receive_some(_RECEIVE_BYTES)
                    n_received += len(received)
                    if n_received > MAX_ANSWER_BYTES:
                        raise _InvalidResponse(f"the answer is larger than {MAX_ANSWER_BYTES} bytes")
                    connection.receive_data(received)
                elif isinstance(event, h11.Response) and event.status_code != 200:
                    raise _InvalidResponse(f"status {event.status_code}")
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    return bytes(body)
                elif not isinstance(event, h11.InformationalResponse | h11.Response):
                    raise _InvalidResponse("the answer is not HTTP/1.1")


def _decoded(body: bytes) -> str | None:
    try:
        name = msgspec.json.decode(body, type=_Answer).project_id
    except (ValueError, RecursionError) as error:
        raise _InvalidResponse(f"not a JSON object with project_id: {error}") from error
    if name is not None and (len(name) > MAX_ALIAS_LENGTH or not ALIAS.fullmatch(name)):
        raise _InvalidResponse("project_id is not the id of a project")
    return name
