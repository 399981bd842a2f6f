"""Answers commands of the same user that ask whether the index of a watched project is current, so that they need not compare its
tree (docs/adr/0042)."""

from functools import partial
from typing import Final

import msgspec
import structlog
import trio

from codecompass.actors.messages import Settle
from codecompass.actors.supervisor import WorkspaceSupervisor
from codecompass.errors import CodeCompassError
from codecompass.protocol.settling import HEARD, MAX_LINE_BYTES, ProjectSettled, SettleProject
from codecompass.store.layout import HomeLayout
from codecompass.store.server_sockets import forget, listen
from codecompass.units import MINUTES, SECONDS

REQUEST_SECONDS: Final = 1 * SECONDS
"""How long a connection may take to say what it asks, and to take the answer."""

LONGEST_WAIT_SECONDS: Final = 1 * MINUTES
MAX_AT_ONCE: Final = 16


async def settle_for_commands(home: HomeLayout, supervisor: WorkspaceSupervisor) -> None:
    """Answers until cancelled. Returns at once where no socket can be made."""
    try:
        listener = await trio.to_thread.run_sync(listen, home)
    except (OSError, CodeCompassError) as error:
        structlog.get_logger(__name__).info("commands_cannot_ask", cause=str(error))
        return
    if listener is None:
        return
    try:
        places = trio.Semaphore(MAX_AT_ONCE)
        own = trio.SocketListener(trio.socket.from_stdlib_socket(listener.dup()))
        await trio.serve_listeners(partial(_answer, supervisor, places), [own])
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(forget, home, listener)


async def _answer(supervisor: WorkspaceSupervisor, places: trio.Semaphore, stream: trio.SocketStream) -> None:
    async with places, stream:
        with trio.move_on_after(REQUEST_SECONDS) as scope:
            try:
                asked = msgspec.json.decode(await _line(stream), type=SettleProject)
                known = supervisor.find(asked.project_id)
                if known is None or not known.is_watched:
                    return
                await stream.send_all(HEARD)
                scope.deadline += min(max(asked.seconds, 0.0), LONGEST_WAIT_SECONDS)
                told = await supervisor.settled(asked.project_id, Settle(policy=asked.policy, seconds=asked.seconds))
                if told is not None:
                    await stream.send_all(msgspec.json.encode(ProjectSettled(told.freshness)) + b"\n")
            except (msgspec.MsgspecError, CodeCompassError, trio.BrokenResourceError, trio.ClosedResourceError):
                return  # a command without an answer compares the tree itself


async def _line(stream: trio.SocketStream) -> bytes:
    line = b""
    while not line.endswith(b"\n") and len(line) <= MAX_LINE_BYTES:
        piece = await stream.receive_some(MAX_LINE_BYTES)
        if not piece:
            break
        line += piece
    return line
