"""Runs the handlers of one connection for hypercorn's protocol classes: what its own task group is, without its deadlocks.

hypercorn hands a handler its events over a bounded channel. Once the handler has returned nobody reads that channel, and
whoever still puts a piece of a body into it would wait for ever, and the connection with it. Here the channel closes with
its handler, and what comes later is dropped.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Self

import trio
from hypercorn.config import Config
from hypercorn.typing import AppWrapper, ASGIReceiveEvent, ASGISendEvent, Scope

from codecompass.log import get_logger

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
            try:
                await sender.send(event)
            except trio.BrokenResourceError:
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
    try:
        with receiver:
            await app(scope, receiver.receive, send, trio.to_thread.run_sync, trio.from_thread.run)
        await send(None)
    except Exception:  # noqa: BLE001 (the boundary of a request: it must not end the connections of others)
        get_logger(__name__).exception("http_handler_failed", path=scope.get("path"))
        await send(None)
