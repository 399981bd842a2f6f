"""The official Python client 2.x and a server process; every frame between them is recorded and validated."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import trio

from tests.support.served import COMMAND, environment
from tests.transport.official import Judge

MODES = ["auto", "legacy", "2026-07-28"]

DEADLINE_SECONDS = 240


class Frames:
    """The frames of a connection: messages from the client and from the server, as JSON objects."""

    def __init__(self) -> None:
        self.judge = Judge()
        self.sent: list[dict] = []
        self.received: list[dict] = []


@asynccontextmanager
async def connected(mode: str, base: Path, *options: str | Path, variables: dict[str, str] | None = None, **client_options):
    """Yields a client in this mode, connected to the installed command with its data below `base`, and its frames."""
    from mcp import Client, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=COMMAND, args=["serve-mcp", *map(str, options)], env=environment(base, **(variables or {})), cwd=base
    )
    frames = Frames()
    with (base / "stderr").open("ab") as errors, trio.fail_after(DEADLINE_SECONDS):
        async with Client(judged(stdio_client(parameters, errors), frames), mode=mode, **client_options) as client:
            yield client, frames


@asynccontextmanager
async def judged(transport, frames: Frames) -> AsyncIterator[tuple]:
    """Yields the streams of a transport; raises for a frame that no client of its revision would accept."""
    from mcp.shared.message import SessionMessage

    async with transport as (source, sink):
        to_client, from_server = anyio.create_memory_object_stream(1000)
        to_server, from_client = anyio.create_memory_object_stream(1000)

        async def receive():
            async with to_client:
                async for message in source:
                    assert isinstance(message, SessionMessage), message
                    body = message.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
                    frames.received.append(frames.judge.received(body))
                    await to_client.send(message)

        async def send():
            async with sink:
                async for message in from_client:
                    body = message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)
                    frames.sent.append(body)
                    frames.judge.sent(body)
                    await sink.send(message)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(receive)
            nursery.start_soon(send)
            with from_server, to_server, from_client, to_client:
                yield from_server, to_server
            nursery.cancel_scope.cancel()
