"""The client of a session: its roots, our requests to it, what `initialize` agreed on, and the watches that run for it beside its
requests.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, Final

import msgspec
import trio
from msgspec import Meta, Raw, Struct

from codecompass.log import get_logger
from codecompass.projects.caller import TransportName
from codecompass.protocol import file_uris
from codecompass.protocol.requests import MAX_PATH_LENGTH
from codecompass.transport.mcp.envelope import Agreement
from codecompass.transport.mcp.jsonrpc import Response, encode_request
from codecompass.transport.mcp.outgoing import Outgoing, OutgoingClosed, OutgoingFrame
from codecompass.transport.mcp.protocol import MAX_ROOTS_LISTED, MAX_URI_LENGTH, ROOTS_LIST

MAX_PENDING: Final = 32
"""Unanswered requests to a client. Beyond that the oldest is dropped, as it is unlikely to be answered any more."""


class ClientRefused(Exception):
    """The client answered with an error, or not in time."""


class _Error(Struct, frozen=True):
    code: int = 0
    message: str = ""


_ERRORS: Final = msgspec.json.Decoder(_Error)


class Pending:
    """A request sent to the client. Its answer can be waited for any number of times."""

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._response: Response | None = None

    @property
    def is_answered(self) -> bool:
        """Whether the answer has arrived."""
        return self._answered.is_set()

    async def wait(self, seconds: float) -> Raw:
        """Returns the result. Raises ClientRefused for an error, or if there is no answer within `seconds`."""
        with trio.move_on_after(seconds):
            await self._answered.wait()
        if self._response is None:
            raise ClientRefused(f"no answer in {seconds:g} s")
        if self._response.result is None:
            raise ClientRefused(self._error_text(self._response.error))
        return self._response.result

    def settle(self, response: Response) -> None:
        """Sets the answer. Called only by ClientRequests."""
        self._response = response
        self._answered.set()

    @staticmethod
    def _error_text(error: Raw | None) -> str:
        try:
            return _ERRORS.decode(error or b"{}").message
        except msgspec.DecodeError:
            return "malformed error"


class ClientRequests:
    """Our unanswered requests to one client."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._n_sent = 0

    async def send(self, out: Outgoing, method: str, params: object = msgspec.UNSET) -> Pending:
        """Sends a request to the client on `out`. Raises OutgoingClosed."""
        self._n_sent += 1
        id_ = f"srv-{self._n_sent}"
        pending = Pending()
        while len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._pending[id_] = pending
        await out.send(OutgoingFrame(encode_request(id_, method, params), "request"))
        return pending

    def settle(self, response: Response) -> bool:
        """Passes an answer to the task that waits for it. Returns False if it belongs to no pending request."""
        pending = self._pending.pop(response.id, None) if isinstance(response.id, str) else None
        if pending is None:
            return False
        pending.settle(response)
        return True


MAX_ROOTS: Final = 100
"""Roots of one client that are used."""


class _Root(Struct, frozen=True):
    uri: str


class _Roots(Struct, frozen=True):
    roots: Annotated[tuple[_Root, ...], Meta(max_length=MAX_ROOTS_LISTED)] = ()


_ROOTS: Final = msgspec.json.Decoder(_Roots)


class ClientRoots:
    """The roots of one session of the handshake era."""

    def __init__(self, requests: ClientRequests, *, deadline_seconds: float) -> None:
        self._requests = requests
        self._deadline_seconds = deadline_seconds
        self._asking = trio.Lock()
        self._pending: Pending | None = None
        self._deadline = 0.0
        self._log = get_logger(__name__)

    def forget(self) -> None:
        """Drops the roots, which have changed: the next caller requests them again."""
        self._pending = None

    async def paths(self, out: Outgoing) -> tuple[str, ...]:
        """Returns the paths, in the client's order; empty if it does not answer. Raises OutgoingClosed."""
        async with self._asking:
            pending = self._pending
            if pending is None:
                self._deadline = trio.current_time() + self._deadline_seconds
                with trio.move_on_at(self._deadline):
                    pending = await self._requests.send(out, ROOTS_LIST)
                    self._pending = pending
        if pending is None:
            return ()
        try:
            # After the deadline this takes an answer that came late, but waits no longer.
            result = await pending.wait(max(0.0, self._deadline - trio.current_time()))
        except ClientRefused as refusal:
            self._log.info("roots_missing", reason=str(refusal))
            return ()
        return root_paths(result)


def root_paths(result: Raw) -> tuple[str, ...]:
    """Returns the local paths in a result of `roots/list`; other URIs, and paths that are too long, are left out."""
    try:
        roots = _ROOTS.decode(result).roots
    except msgspec.DecodeError:
        return ()
    paths = (path_of_uri(root.uri) for root in roots[:MAX_ROOTS])
    return tuple(path for path in paths if path is not None)


def path_of_uri(uri: str) -> str | None:
    """Returns the absolute path of a local `file:` URI, percent-decoded; None for anything else, and for what is too long."""
    path = file_uris.path_of_uri(uri) if len(uri) <= MAX_URI_LENGTH else None
    return path if path is not None and len(path) <= MAX_PATH_LENGTH else None


MAX_WATCHES: Final = 100
"""Jobs and resources that one session can watch at a time."""


class Client:
    """One client. `stream` carries messages that belong to no request; None if the transport has no such channel.

    Watches run in `nursery`, one for each key. Without a nursery (an exchange over plain HTTP) there are none.
    """

    def __init__(
        self,
        transport: TransportName,
        *,
        roots_deadline_seconds: float,
        nursery: trio.Nursery | None = None,
        stream: Outgoing | None = None,
    ) -> None:
        self.transport: Final = transport
        self.requests: Final = ClientRequests()
        self.roots: Final = ClientRoots(self.requests, deadline_seconds=roots_deadline_seconds)
        self.agreement = Agreement()
        self.stream = stream
        self._nursery = nursery
        self._watches: dict[str, trio.CancelScope] = {}
        self._was_hinted = False

    def take_hint(self) -> bool:
        """Returns True the first time."""
        is_first = not self._was_hinted
        self._was_hinted = True
        return is_first

    async def tell(self, body: bytes) -> None:
        """Sends a notification that belongs to no request; drops it if there is no stream."""
        if self.stream is not None:
            await self.stream.send(OutgoingFrame(body, "notification"))

    def start_watch(self, key: str, run: Callable[[], Awaitable[None]]) -> bool:
        """Runs `run` beside the requests until it returns or `stop_watch` is called. Returns whether the key is watched now."""
        if key in self._watches:
            return True
        if self._nursery is None or len(self._watches) >= MAX_WATCHES:
            return False
        scope = trio.CancelScope()
        self._watches[key] = scope
        self._nursery.start_soon(self._watch, key, scope, run)
        return True

    def stop_watch(self, key: str) -> None:
        """Ends a watch; does nothing if there is none."""
        scope = self._watches.pop(key, None)
        if scope is not None:
            scope.cancel()

    async def _watch(self, key: str, scope: trio.CancelScope, run: Callable[[], Awaitable[None]]) -> None:
        try:
            with scope:
                await run()
        except OutgoingClosed:
            pass  # the connection itself detects this
        finally:
            if self._watches.get(key) is scope:
                del self._watches[key]
