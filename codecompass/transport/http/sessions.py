"""The sessions of the handshake era over Streamable HTTP: their ids, their expiry, and their number.

    open --initialize--> used ... idle --session_idle--> expired         ends: DELETE | expired | room needed | server stops

A session outlives its client's connections: each has a task that holds the nursery in which its requests run.
"""

import secrets
from typing import Final

import trio

from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.outgoing import HttpOutgoing
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.session import ClientSession

_ID_BYTES: Final = 24
"""Clients are only told apart by their id: 192 bits cannot be guessed."""


class TooManySessions(Exception):
    """The maximum number of sessions are in use."""


class HttpSession:
    """The session of a client that sent `initialize`."""

    def __init__(self, id_: str, session: ClientSession, idle_seconds: float) -> None:
        self.id: Final = id_
        self.session: Final = session
        self.ended: Final = trio.Event()
        self._idle_seconds = idle_seconds
        self.touch()

    @property
    def is_in_use(self) -> bool:
        """Whether a request is in flight, or the client has a stream open."""
        return bool(self.session.n_in_flight) or self.session.client.stream is not None

    def touch(self) -> None:
        """Restarts the idle time."""
        self.used_at = trio.current_time()

    async def wait_over(self) -> str:
        """Waits until the client has ended the session or has not used it for too long; returns the reason."""
        while True:
            with trio.move_on_at(self.used_at + self._idle_seconds):
                await self.ended.wait()
                return "ended"
            if self.is_in_use:
                self.touch()
            elif trio.current_time() >= self.used_at + self._idle_seconds:
                return "idle"

    def listen(self, out: HttpOutgoing) -> None:
        """Makes `out` the stream for messages that belong to no request, and ends the previous one."""
        previous = self.session.client.stream
        self.session.client.stream = out
        if previous is not None:
            previous.finish()

    def unlisten(self, out: HttpOutgoing) -> None:
        """Removes `out` as the stream, unless another one has replaced it."""
        if self.session.client.stream is out:
            self.session.client.stream = None
        self.touch()


class HttpSessions:
    """All sessions of a server, while `run` runs."""

    def __init__(self, core: Core, limits: HttpLimits) -> None:
        self._core = core
        self._limits = limits
        self._sessions: dict[str, HttpSession] = {}
        self._n_opening = 0
        self._nursery: trio.Nursery | None = None
        self._log = get_logger(__name__)
        self.n_opened = 0

    def __len__(self) -> int:
        return len(self._sessions)

    async def run(self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Runs the sessions until the server stops, and for a moment after it for requests in flight."""
        async with open_nursery() as nursery:
            self._nursery = nursery
            task_status.started()
            await self._core.stopping.wait()
            for session in self._sessions.values():
                session.ended.set()

    async def open(self) -> HttpSession:
        """Returns a new session. Raises TooManySessions if all are in use."""
        if len(self._sessions) + self._n_opening >= self._limits.sessions:
            self._make_room()
        assert self._nursery is not None, "`run` is started before the first request"
        self._n_opening += 1
        try:
            session: HttpSession = await self._nursery.start(self._hold)
        finally:
            self._n_opening -= 1
        return session

    def find(self, id_: str) -> HttpSession | None:
        """Returns an open session and restarts its idle time; None if there is none of this id."""
        session = self._sessions.get(id_)
        if session is not None:
            session.touch()
        return session

    def end(self, session: HttpSession) -> None:
        """Ends a session: its id becomes unknown."""
        self._sessions.pop(session.id, None)
        session.ended.set()

    def _make_room(self) -> None:
        idle = [session for session in self._sessions.values() if not session.is_in_use]
        if not idle:
            raise TooManySessions
        self.end(min(idle, key=lambda session: session.used_at))

    async def _hold(self, *, task_status: trio.TaskStatus[HttpSession]) -> None:
        async with open_nursery() as requests:
            # The nursery of the session's requests, which come from many connections.
            session = HttpSession(
                secrets.token_urlsafe(_ID_BYTES),
                ClientSession(self._core, "http", nursery=requests),
                self._limits.session_idle,
            )
            self._sessions[session.id] = session
            self.n_opened += 1
            task_status.started(session)
            try:
                reason = await session.wait_over()
                self.end(session)
                await session.session.drain(self._core.limits.grace_seconds)
                stream = session.session.client.stream
                if stream is not None:
                    stream.finish()
            finally:
                self._sessions.pop(session.id, None)
            requests.cancel_scope.cancel()
        self._log.info("http_session_ended", reason=reason, open=len(self._sessions))
