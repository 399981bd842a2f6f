"""What a bridge remembers of its client's session, so that a server that has just started can be told all of it again.

Only the handshake era has something to remember: which `initialize` was answered how, whether the client has said that it is
ready, and the resources that it wants to hear of. Requests of the modern era carry everything with them.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codecompass.transport.mcp.jsonrpc import EMPTY_OBJECT, Notification, Request, RequestId, encode_notification, encode_request
from codecompass.transport.mcp.protocol import (
    INITIALIZE,
    INITIALIZED,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
)

MAX_SUBSCRIPTIONS: Final = 256
"""Resources that are subscribed to again. The oldest is forgotten first."""


class _Uri(Struct, frozen=True):
    uri: str


class _Initialized(Struct, frozen=True, rename="camel"):
    protocol_version: str


_URIS: Final = msgspec.json.Decoder(_Uri)
_INITIALIZED: Final = msgspec.json.Decoder(_Initialized)


class BridgeSession:
    """The session as its client opened it. `revision` is empty until an `initialize` was answered."""

    def __init__(self) -> None:
        self.revision = ""
        self._params: Raw = EMPTY_OBJECT
        self._is_ready = False
        self._subscriptions: dict[str, None] = {}

    def answered(self, request: Request, result: Raw) -> None:
        """Takes note of a request that succeeded."""
        if request.method == INITIALIZE:
            self.revision = revision_of(result)
            self._params = request.params
        elif request.method in (RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE):
            self._subscribed(request)

    def notified(self, notification: Notification) -> None:
        """Takes note of what the client says."""
        if notification.method == INITIALIZED:
            self._is_ready = True

    def opening(self, id_: RequestId) -> bytes | None:
        """Returns the `initialize` that a new connection begins with, None where there is no session."""
        return encode_request(id_, INITIALIZE, self._params) if self.revision else None

    def ready(self) -> bytes | None:
        """Returns the notification that follows."""
        return encode_notification(INITIALIZED, EMPTY_OBJECT) if self.revision and self._is_ready else None

    def subscriptions(self, id_: RequestId) -> Iterator[bytes]:
        """Gives the requests that come after that, to be sent and answered one by one."""
        for uri in tuple(self._subscriptions):
            yield encode_request(id_, RESOURCES_SUBSCRIBE, _Uri(uri))

    def _subscribed(self, request: Request) -> None:
        try:
            uri = _URIS.decode(request.params).uri
        except msgspec.DecodeError:
            return
        self._subscriptions.pop(uri, None)
        if request.method == RESOURCES_SUBSCRIBE:
            self._subscriptions[uri] = None
            if len(self._subscriptions) > MAX_SUBSCRIPTIONS:
                del self._subscriptions[next(iter(self._subscriptions))]


def revision_of(result: Raw) -> str:
    """Returns the revision that a result of `initialize` agrees to; empty where it names none."""
    try:
        return _INITIALIZED.decode(result).protocol_version
    except msgspec.DecodeError:
        return ""
