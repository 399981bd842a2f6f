"""Notifications of changes: `resources/subscribe` of the handshake era, and `subscriptions/listen` of the modern era (one request
whose answer is a stream of notifications until it is cancelled).
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
import trio
from msgspec import UNSET, Struct, field

from codecompass.nurseries import open_nursery
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import missing_capability
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import Fault, decode_params, encode_notification, shown
from codecompass.transport.mcp.outgoing import OutgoingClosed
from codecompass.transport.mcp.protocol import (
    ACKNOWLEDGED,
    INVALID_PARAMS,
    META_SUBSCRIPTION,
    RESOURCE_NOT_FOUND,
    RESOURCE_UPDATED,
    TASK_STATUS,
    TASKS_EXTENSION,
)
from codecompass.transport.mcp.tasks import Task, TaskState, Watch, task_result, tell_changes
from codecompass.transport.mcp.wire import ListenParams, SubscriptionFilter, UriParams, WireResult

_URI: Final = msgspec.json.Decoder(UriParams)


def resource_not_found(uri: str, *, is_modern: bool) -> Fault:
    """Returns the fault of a resource that does not exist, with the code of the era."""
    code = INVALID_PARAMS if is_modern else RESOURCE_NOT_FOUND
    return Fault(code, f"there is no resource {shown(uri)}. resources/list and its templates show what there is.", uri=uri)


async def subscribe(core: Core, exchange: Exchange) -> WireResult:
    """Subscribes the client to changes of a resource. Idempotent."""
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
    return WireResult()


async def unsubscribe(core: Core, exchange: Exchange) -> WireResult:
    """Ends a subscription; does nothing if there is none."""
    exchange.client.stop_watch(_key(decode_params(_URI, exchange.params).uri))
    return WireResult()


def _key(uri: str) -> str:
    return f"resource {uri}"


MAX_SUBJECTS: Final = 100
"""Maximum number of resources, and of tasks, of one stream; the server does not agree to more."""

_LISTEN: Final = msgspec.json.Decoder(ListenParams)


class _Acknowledged(Struct, frozen=True):
    meta: Mapping[str, object] = field(name="_meta")
    notifications: SubscriptionFilter


class _Updated(Struct, frozen=True):
    meta: Mapping[str, object] = field(name="_meta")
    uri: str


async def listen(core: Core, exchange: Exchange) -> WireResult:
    """Notifies the client of the agreed changes until the server stops."""
    wanted = decode_params(_LISTEN, exchange.params).notifications
    if wanted.task_ids and not exchange.envelope.capabilities.has_extension(TASKS_EXTENSION):
        raise missing_capability({"extensions": {TASKS_EXTENSION: {}}})
    meta: Mapping[str, object] = {META_SUBSCRIPTION: exchange.id}
    watches: list[tuple[Watch, Callable[[], Awaitable[None]]]] = []
    uris: list[str] = []
    ids: list[str] = []
    for uri in dict.fromkeys(wanted.resource_subscriptions or ()):
        watch = core.surface.resources.watch(uri) if len(uris) < MAX_SUBJECTS else None
        if watch is not None:
            uris.append(uri)
            watches.append((watch, _teller(exchange, RESOURCE_UPDATED, _Updated(meta, uri))))
    for id_ in dict.fromkeys(wanted.task_ids or ()):
        if core.tasks.knows(id_) and len(ids) < MAX_SUBJECTS:
            ids.append(id_)
            task = core.tasks.find(id_)
            watches.append((task.watch(), _task_teller(exchange, id_, task, meta)))
    agreed = SubscriptionFilter(resource_subscriptions=tuple(uris) or None, task_ids=tuple(ids) or None)
    await exchange.notify(ACKNOWLEDGED, _Acknowledged(meta, agreed))
    await _tell_all(watches, core.stopping)
    return WireResult(meta=meta)


async def _tell_all(watches: list[tuple[Watch, Callable[[], Awaitable[None]]]], stopping: trio.Event) -> None:
    """Sends notifications until the server stops or the client is gone; sending the result then fails too."""

    async def run(watch: Watch, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            await tell_changes(watch, tell)
        except OutgoingClosed:
            nursery.cancel_scope.cancel()

    async with open_nursery() as nursery:
        for watch, tell in watches:
            nursery.start_soon(run, watch, tell)
        await stopping.wait()
        nursery.cancel_scope.cancel()


def _teller(exchange: Exchange, method: str, params: Struct) -> Callable[[], Awaitable[None]]:
    async def tell() -> None:
        await exchange.notify(method, params)

    return tell


def _task_teller(exchange: Exchange, id_: str, task: Task, meta: Mapping[str, object]) -> Callable[[], Awaitable[None]]:
    async def tell() -> None:
        state: TaskState = task.state
        params = msgspec.structs.replace(task_result(id_, state, meta=meta), result_type=UNSET)
        await exchange.notify(TASK_STATUS, params)

    return tell
