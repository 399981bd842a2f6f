"""The state of its client's session that a bridge keeps, to restore it on a new connection or a restarted server.

Only the handshake era has such state: the `initialize` and the revision agreed on, whether the client has sent `initialized`, and
its subscriptions. Requests of the modern era carry everything with them.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Raw, Struct

from codecompass.transport.mcp.jsonrpc import (
    EMPTY_OBJECT,
    Notification,
    RequestId,
    RpcRequest,
    encode_notification,
    encode_request,
)
from codecompass.transport.mcp.protocol import (
    INITIALIZE,
    INITIALIZED,
    RESOURCES_SUBSCRIBE,
    RESOURCES_UNSUBSCRIBE,
)
from codecompass.transport.mcp.wire import UriParams

MAX_SUBSCRIPTIONS: Final = 256
"""Subscriptions that are restored. The oldest is dropped first."""


class _Initialized(Struct, frozen=True, rename="camel"):
    protocol_version: str


_URIS: Final = msgspec.json.Decoder(UriParams)
_INITIALIZED: Final = msgspec.json.Decoder(_Initialized)


class BridgeSession:
    """The session as its client opened it. `revision` is empty until an `initialize` was answered."""

    def __init__(self) -> None:
        self.revision = ""
        self._params: Raw = EMPTY_OBJECT
        self._is_ready = False
        self._subscriptions: dict[str, None] = {}

    def answered(self, request: RpcRequest, result: Raw) -> None:
        """Records a request that succeeded."""
        if request.method == INITIALIZE:
            self.revision = revision_of(result)
            self._params = request.params
        elif request.method in (RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE):
            self._subscribed(request)

    def notified(self, notification: Notification) -> None:
        """Records a notification of the client."""
        if notification.method == INITIALIZED:
            self._is_ready = True

    def opening(self, id_: RequestId) -> bytes | None:
        """Returns the `initialize` to send first on a new connection; None if there is no session."""
        return encode_request(id_, INITIALIZE, self._params) if self.revision else None

    def ready(self) -> bytes | None:
        """Returns the `initialized` notification to send after that; None if the client has not sent it."""
        return encode_notification(INITIALIZED, EMPTY_OBJECT) if self.revision and self._is_ready else None

    def subscriptions(self, id_: RequestId) -> Iterator[bytes]:
        """Yields the subscriptions to send after that, one by one, each once the previous one is answered."""
        for uri in tuple(self._subscriptions):
            yield encode_request(id_, RESOURCES_SUBSCRIBE, UriParams(uri))

    def _subscribed(self, request: RpcRequest) -> None:
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
    """Returns the revision that a result of `initialize` agrees to; empty if it names none."""
    try:
        return _INITIALIZED.decode(result).protocol_version
    except msgspec.DecodeError:
        return ""
