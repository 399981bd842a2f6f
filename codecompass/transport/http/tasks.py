"""Runs the handlers of one connection for hypercorn's protocol classes: what its own task group is, without its deadlocks.

hypercorn hands a handler its events over a bounded channel. A handler that answers without having read the whole body ends
its response by putting one more event into the channel, which may be full: it would wait for itself. And once it has
returned nobody reads the channel, and whoever puts a piece of a body into it would wait for ever. Here the end of the
connection is the end of the channel, which needs no room, and the channel closes with its handler.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Self

import h11
import trio
from hypercorn.config import Config
from hypercorn.typing import AppWrapper, ASGIReceiveEvent, ASGISendEvent, Scope

from codecompass.log import get_logger

_ENDS: Final = ("http.disconnect", "websocket.disconnect")

Put = Callable[[ASGIReceiveEvent], Awaitable[None]]
Send = Callable[[ASGISendEvent | None], Awaitable[None]]


class ConnectionTasks:
    """Handlers run in `handlers` and are waited for; `helpers` holds what ends with the connection."""

    def __init__(self, handlers: trio.Nursery, helpers: trio.Nursery) -> None:
        self._handlers: Final = handlers
        self._helpers: Final = helpers

    async def spawn_app(self, app: AppWrapper, config: Config, scope: Scope, send: Send) -> Put:
        """Starts the handler of a request; what the result is called with reaches it."""
        sender, receiver = trio.open_memory_channel[ASGIReceiveEvent](config.max_app_queue_size)
        self._handlers.start_soon(_handle, app, scope, receiver, send)

        async def put(event: ASGIReceiveEvent) -> None:
            if event["type"] in _ENDS:
                sender.close()
                return
            try:
                await sender.send(event)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass

        return put

    def spawn(self, func: Callable[..., Awaitable[None]], *args: object) -> None:
        """Starts something that goes on as long as the connection."""
        self._helpers.start_soon(func, *args)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def _handle(app: AppWrapper, scope: Scope, receiver: "trio.MemoryReceiveChannel[ASGIReceiveEvent]", send: Send) -> None:
    async def receive() -> ASGIReceiveEvent:
        try:
            return await receiver.receive()
        except trio.EndOfChannel:
            return {"type": "http.disconnect"}

    try:
        with receiver:
            await app(scope, receive, send, trio.to_thread.run_sync, trio.from_thread.run)
        await send(None)
    except h11.LocalProtocolError as error:
        # What the client sent after the head has broken its connection: there is nobody to answer.
        get_logger(__name__).info("http_client_lost", path=scope.get("path"), cause=str(error))
        await send(None)
    except Exception:  # noqa: BLE001 (the boundary of a request: it must not end the connections of others)
        get_logger(__name__).exception("http_handler_failed", path=scope.get("path"))
        await send(None)
