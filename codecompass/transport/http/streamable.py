"""`/mcp`: Streamable HTTP of both eras on one path, chosen for each request separately.

POST, modern       one exchange without a session; disconnecting cancels it
POST, handshake    in a session, opened by `initialize`; disconnecting does not cancel
GET, DELETE        the stream and the end of a session
GET without a header of either era, POST ?sessionId=    the older HTTP+SSE, in `legacy_sse.py`

A server that keeps no sessions answers each POST separately in both eras, `initialize` without a session id, and only POSTs: any
of several such servers behind one address can answer the next one.
"""

from typing import Final

import msgspec
import trio
from msgspec import Struct, field

from codecompass.transport.http.legacy_sse import LegacySse
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.outgoing import COMMENT, HttpOutgoing
from codecompass.transport.http.request import (
    ACCEPTED,
    BAD_REQUEST,
    BROKEN_RESPONSE,
    EVENT_STREAM_TYPE,
    METHOD_NOT_ALLOWED,
    NO_CONTENT,
    NOT_FOUND,
    UNAVAILABLE,
    Header,
    HttpRefusal,
    HttpRequest,
    ProjectPaths,
    refusal_body,
    require_json,
    require_method,
)
from codecompass.transport.http.sessions import HttpSession, HttpSessions, TooManySessions
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import HttpHeaders
from codecompass.transport.mcp.jsonrpc import LARGE_BYTES, LARGE_MESSAGES
from codecompass.transport.mcp.outgoing import OutgoingClosed, OutgoingFrame
from codecompass.transport.mcp.protocol import HANDSHAKE_REVISIONS, INITIALIZE, META_REVISION, MODERN_ONLY_METHODS
from codecompass.transport.mcp.session import ClientSession, Delivery, Received
from codecompass.transport.mcp.unusual_json import nests_too_deeply, without_lone_surrogates

SESSION_HEADER: Final = "mcp-session-id"
REVISION_HEADER: Final = "mcp-protocol-version"


class _PeekedMeta(Struct):
    revision: object = field(name=META_REVISION, default=None)


class _PeekedParams(Struct):
    meta: _PeekedMeta = field(name="_meta", default_factory=_PeekedMeta)


class _Peeked(Struct):
    """The members of a message that decide its era and session. The session validates the rest."""

    method: str = ""
    params: _PeekedParams = field(default_factory=_PeekedParams)


_PEEK: Final = msgspec.json.Decoder(_Peeked)


class StreamableEndpoint:
    """Handles the requests to `/mcp`."""

    def __init__(
        self,
        core: Core,
        sessions: HttpSessions,
        legacy: LegacySse,
        project_paths: ProjectPaths,
        limits: HttpLimits,
        *,
        keeps_sessions: bool = True,
    ) -> None:
        self._keeps_sessions = keeps_sessions
        self._core = core
        self._sessions = sessions
        self._legacy = legacy
        self._project_paths = project_paths
        self._limits = limits

    async def handle(self, request: HttpRequest) -> None:
        """Answers one request. Raises HttpRefusal, ClientGone."""
        require_method(request, *(("GET", "POST", "DELETE") if self._keeps_sessions else ("POST",)))
        path = await self._project_paths.checked(request)
        if request.method == "DELETE":
            self._sessions.end(self._session(request))
            await request.answer(NO_CONTENT)
        elif request.method == "GET":
            await self._get(request, path)
        elif self._keeps_sessions and request.has_parameter("sessionId"):
            require_json(request, may_be_missing=False)
            await self._legacy.post(request, await request.body())
        else:
            require_json(request, may_be_missing=False)
            await self._post(request, path, await request.body())

    async def _post(self, request: HttpRequest, path: str | None, body: bytes) -> None:
        if len(body) <= LARGE_BYTES:
            peeked = _peek(body)
        else:
            peeked = await trio.to_thread.run_sync(_peek, body, limiter=LARGE_MESSAGES)
        revision = request.header(REVISION_HEADER)
        if revision is None:
            is_modern = peeked.params.meta.revision is not None or peeked.method in MODERN_ONLY_METHODS
        else:
            is_modern = revision not in HANDSHAKE_REVISIONS
        has_session = request.header(SESSION_HEADER) is not None
        # Without a session there are only requests: the single exchange refuses anything else.
        is_single = not self._keeps_sessions or is_modern or (not peeked.method and not has_session)
        out = HttpOutgoing(can_push=request.accepts(EVENT_STREAM_TYPE), is_lasting=not is_single)
        delivery = Delivery(
            out=out,
            headers=HttpHeaders(revision=revision, method=request.header("mcp-method"), name=request.header("mcp-name")),
            project_path=path,
            identity=request.identity,
            trace=request.trace,
            connection=request.connection,
        )
        if is_single:
            await self._answer_alone(request, body, delivery, out)
        elif peeked.method == INITIALIZE and not has_session:
            await self._open_session(request, body, delivery, out)
        else:
            session = self._session(request).session
            kind = await session.receive(body, delivery)
            await self._answer(request, kind, out, await out.first())

    async def _answer_alone(self, request: HttpRequest, body: bytes, delivery: Delivery, out: HttpOutgoing) -> None:
        """Answers one exchange, which the client cancels by disconnecting."""
        kind: Received = "request"

        async def receive() -> None:
            nonlocal kind
            try:
                kind = await ClientSession(self._core, "http").receive(body, delivery)
            except OutgoingClosed:
                pass

        async with request.cancelled_when_gone() as nursery:
            nursery.start_soon(receive)
            first = await out.first()
            await self._answer(request, kind, out, first)

    async def _open_session(self, request: HttpRequest, body: bytes, delivery: Delivery, out: HttpOutgoing) -> None:
        if self._core.stopping.is_set():
            raise HttpRefusal(UNAVAILABLE, "the server is stopping. Connect again.", is_retryable=True)
        try:
            opened = await self._sessions.open()
        except TooManySessions:
            raise HttpRefusal(UNAVAILABLE, "too many sessions are in use. Connect again later.", is_retryable=True) from None
        try:
            kind = await opened.session.receive(body, delivery)
            first = await out.first()
        except BaseException:
            self._sessions.end(opened)
            raise
        if not opened.session.client.agreement.is_initialized:
            self._sessions.end(opened)
            await self._answer(request, kind, out, first)
        else:
            await self._answer(request, kind, out, first, headers=((SESSION_HEADER, opened.id),))

    async def _get(self, request: HttpRequest, path: str | None) -> None:
        if request.header(SESSION_HEADER) is None:
            if request.header(REVISION_HEADER) is not None:
                raise HttpRefusal(METHOD_NOT_ALLOWED, "streams belong to sessions. Use POST.", headers=(("allow", "POST"),))
            await self._legacy.connect(request, path)
            return
        session = self._session(request)
        out = HttpOutgoing(can_push=True, is_lasting=True)
        session.listen(out)
        try:
            async with request.cancelled_when_gone():
                await request.begin_stream()
                await request.write(COMMENT)
                await out.stream(request, self._limits.comment)
        finally:
            session.unlisten(out)
            out.abandon()

    async def _answer(
        self,
        request: HttpRequest,
        kind: Received,
        out: HttpOutgoing,
        first: OutgoingFrame | None,
        *,
        headers: tuple[Header, ...] = (),
    ) -> None:
        """Answers with the frames that the session sends on `out`, or with the status of a message without an answer."""
        if first is not None:
            await out.deliver(request, first, comment_seconds=self._limits.comment, headers=headers)
        elif kind == "malformed":
            await request.answer(BAD_REQUEST, refusal_body(HttpRefusal(BAD_REQUEST, BROKEN_RESPONSE)))
        elif kind == "request":
            # Cancelled by its client, which only waits for the end.
            await request.begin_stream(headers)
            await request.end_stream()
        else:
            await request.answer(ACCEPTED)

    def _session(self, request: HttpRequest) -> HttpSession:
        id_ = request.header(SESSION_HEADER)
        if id_ is None:
            raise HttpRefusal(BAD_REQUEST, "the header Mcp-Session-Id is missing. Send initialize first.")
        session = self._sessions.find(id_)
        if session is None:
            raise HttpRefusal(NOT_FOUND, "there is no such session, or it has ended. Send initialize again.")
        return session


def _peek(body: bytes) -> _Peeked:
    body = without_lone_surrogates(body)
    if nests_too_deeply(body):
        return _Peeked()
    try:
        return _PEEK.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return _Peeked()
