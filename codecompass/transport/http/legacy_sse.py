"""The HTTP+SSE transport of 2024-11-05, on the same `/mcp`: a GET is the connection, POSTs are put into its inbox.

GET -> event: endpoint, /mcp?sessionId=...  -> event: message ...        POST /mcp?sessionId=... -> 202
"""

import secrets
from typing import Final

import trio

from codecompass.nurseries import open_nursery
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.outgoing import COMMENT, event
from codecompass.transport.http.request import ACCEPTED, NOT_FOUND, UNAVAILABLE, HttpRefusal, HttpRequest
from codecompass.transport.mcp.connection import Input, serve_connection
from codecompass.transport.mcp.core import Core

SESSION_PARAMETER: Final = "sessionId"

_ID_BYTES: Final = 24
_INBOX_FRAMES: Final = 4
"""Messages that wait for a session, each of up to `body_bytes`. A POST is answered once its message is queued."""


class LegacySse:
    """All HTTP+SSE connections of a server."""

    def __init__(self, core: Core, limits: HttpLimits) -> None:
        self._core = core
        self._limits = limits
        self._inboxes: dict[str, trio.MemorySendChannel[bytes]] = {}

    def __len__(self) -> int:
        return len(self._inboxes)

    async def connect(self, request: HttpRequest, project_path: str | None) -> None:
        """Serves a connection until the client disconnects or the server stops."""
        id_ = secrets.token_urlsafe(_ID_BYTES)
        inbox, received = trio.open_memory_channel[bytes](_INBOX_FRAMES)
        self._inboxes[id_] = inbox

        async def receive() -> Input:
            try:
                return Input(await received.receive())
            except trio.EndOfChannel:
                raise trio.BrokenResourceError("the client closed its stream") from None

        async def write(body: bytes) -> None:
            await request.write(event(body))

        async def watch() -> None:
            await request.wait_gone()
            inbox.close()

        async def comment() -> None:
            while True:
                await trio.sleep(self._limits.comment)
                await request.write(COMMENT)

        try:
            await request.begin_stream()
            await request.write(f"event: endpoint\ndata: {request.path}?{SESSION_PARAMETER}={id_}\n\n".encode("ascii"))
            async with open_nursery() as nursery:
                nursery.start_soon(watch)
                nursery.start_soon(comment)
                await serve_connection(self._core, "sse", receive=receive, write=write, project_path=project_path)
                nursery.cancel_scope.cancel()
        finally:
            del self._inboxes[id_]
            received.close()
        await request.end_stream()

    async def post(self, request: HttpRequest, body: bytes) -> None:
        """Passes a message to the connection that it names. Raises HttpRefusal if there is none, or its client does not read."""
        inbox = self._inboxes.get(request.parameter(SESSION_PARAMETER) or "")
        if inbox is None:
            raise HttpRefusal(NOT_FOUND, "there is no such session. Open a stream with GET first.")
        try:
            with trio.fail_after(self._limits.write):
                await inbox.send(body)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise HttpRefusal(NOT_FOUND, "this session has ended. Open a stream with GET again.") from None
        except trio.TooSlowError:
            raise HttpRefusal(UNAVAILABLE, "this session does not read its answers.", is_retryable=True) from None
        await request.answer(ACCEPTED)
