"""`subscriptions/listen` of the modern era: one request whose answer is a stream of notifications, until it is cancelled.

Every message of it names the request. It ends with a result only when the server stops.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

import msgspec
import trio
from msgspec import UNSET, Struct, field

from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import missing_capability
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import decode_params
from codecompass.transport.mcp.outgoing import OutgoingClosed
from codecompass.transport.mcp.protocol import ACKNOWLEDGED, META_SUBSCRIPTION, RESOURCE_UPDATED, TASK_STATUS, TASKS_EXTENSION
from codecompass.transport.mcp.tasks import Task, TaskState, task_result
from codecompass.transport.mcp.watches import Watch, tell_changes
from codecompass.transport.mcp.wire import ListenParams, Result, SubscriptionFilter

MAX_SUBJECTS: Final = 100
"""Resources and tasks, each, of one stream; more are not agreed to."""

_LISTEN: Final = msgspec.json.Decoder(ListenParams)


class _Acknowledged(Struct, frozen=True):
    meta: Mapping[str, object] = field(name="_meta")
    notifications: SubscriptionFilter


class _Updated(Struct, frozen=True):
    meta: Mapping[str, object] = field(name="_meta")
    uri: str


async def listen(core: Core, exchange: Exchange) -> Result:
    """Tells what was agreed to until the server stops."""
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
    return Result(meta=meta)


async def _tell_all(watches: list[tuple[Watch, Callable[[], Awaitable[None]]]], stopping: trio.Event) -> None:
    """Tells until the server stops, or the client is gone: then the result that follows finds that out, too."""

    async def run(watch: Watch, tell: Callable[[], Awaitable[None]]) -> None:
        try:
            await tell_changes(watch, tell)
        except OutgoingClosed:
            nursery.cancel_scope.cancel()

    async with trio.open_nursery() as nursery:
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
