"""`resources/subscribe` of the handshake era: a session is told each time a resource changes, until it unsubscribes."""

from typing import Final

import msgspec

from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault, decode_params, encode_notification, shown
from codecompass.transport.mcp.protocol import INVALID_PARAMS, RESOURCE_NOT_FOUND, RESOURCE_UPDATED
from codecompass.transport.mcp.watches import tell_changes
from codecompass.transport.mcp.wire import Result, UriParams

_URI: Final = msgspec.json.Decoder(UriParams)


def resource_not_found(uri: str, *, is_modern: bool) -> Fault:
    """Returns the fault of a resource that is not there, under the code of the era."""
    code = INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
    return Fault(code, f"there is no resource {shown(uri)}. resources/list and its templates show what there is.", uri=uri)


async def subscribe(core: Core, exchange: Exchange) -> Result:
    """Starts to tell the client of changes. Twice is as good as once."""
    uri = decode_params(_URI, exchange.params).uri
    watch = core.surface.resources.watch(uri)
    if watch is None:
        if not core.surface.resources.exists(uri):
            raise resource_not_found(uri, is_modern=False)
        raise Fault(INVALID_PARAMS, "changes of this resource are not told. Jobs can be subscribed to.", uri=uri)
    client = exchange.client
    frame = encode_notification(RESOURCE_UPDATED, UriParams(uri))

    async def tell() -> None:
        await client.tell(frame)

    async def run() -> None:
        await tell_changes(watch, tell)

    if not client.start_watch(_key(uri), run):
        raise Fault(
            INVALID_PARAMS,
            "this connection takes no more subscriptions. Unsubscribe from something, or read the resource.",
            uri=uri,
        )
    return Result()


async def unsubscribe(core: Core, exchange: Exchange) -> Result:
    """Stops telling. Nothing where nothing was subscribed."""
    exchange.client.stop_watch(_key(decode_params(_URI, exchange.params).uri))
    return Result()


def _key(uri: str) -> str:
    return f"resource {uri}"
