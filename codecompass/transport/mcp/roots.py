"""The roots of a client: the directories that its user has open. A hint where to look, never a permission.

Asked for once a session and again after `roots/list_changed`; whoever comes meanwhile waits for the same answer. A client
that does not answer in time has no roots until it does.
"""

import os
from typing import Annotated, Final
from urllib.parse import unquote_to_bytes, urlsplit

import msgspec
import trio
from msgspec import Meta, Raw, Struct

from codecompass.log import get_logger
from codecompass.protocol.requests import MAX_PATH_LENGTH
from codecompass.transport.mcp.bounds import MAX_ROOTS_LISTED, MAX_URI_LENGTH
from codecompass.transport.mcp.client_requests import ClientRefused, ClientRequests, Pending
from codecompass.transport.mcp.outgoing import Outgoing
from codecompass.transport.mcp.protocol import ROOTS_LIST

MAX_ROOTS: Final = 100
"""Roots of one client that are looked at."""

_LOCAL_HOSTS: Final = frozenset({"", "localhost"})


class _Root(Struct, frozen=True):
    uri: str


class _Roots(Struct, frozen=True):
    roots: Annotated[tuple[_Root, ...], Meta(max_length=MAX_ROOTS_LISTED)] = ()


_ROOTS: Final = msgspec.json.Decoder(_Roots)


class Roots:
    """The roots of one session of the handshake era."""

    def __init__(self, requests: ClientRequests, *, deadline_seconds: float) -> None:
        self._requests = requests
        self._deadline_seconds = deadline_seconds
        self._asking = trio.Lock()
        self._pending: Pending | None = None
        self._deadline = 0.0
        self._log = get_logger(__name__)

    def forget(self) -> None:
        """The client's roots have changed: the next one to need them asks again."""
        self._pending = None

    async def paths(self, out: Outgoing) -> tuple[str, ...]:
        """Returns the paths, in the client's order; empty where it does not answer. Raises OutgoingClosed."""
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
            # After the deadline this takes what has come late, and waits no more.
            result = await pending.wait(max(0.0, self._deadline - trio.current_time()))
        except ClientRefused as refusal:
            self._log.info("roots_missing", reason=str(refusal))
            return ()
        return root_paths(result)


def root_paths(result: Raw) -> tuple[str, ...]:
    """Returns the paths of this machine in a result of `roots/list`; what is none, or too long to be one, is left out."""
    try:
        roots = _ROOTS.decode(result).roots
    except msgspec.DecodeError:
        return ()
    paths = (path_of_uri(root.uri) for root in roots[:MAX_ROOTS])
    return tuple(path for path in paths if path is not None)


def path_of_uri(uri: str) -> str | None:
    """Returns the absolute path of a `file:` URI of this machine, percent-decoded; None for anything else."""
    if len(uri) > MAX_URI_LENGTH:
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in _LOCAL_HOSTS:
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    return path if path.startswith("/") and "\0" not in path and len(path) <= MAX_PATH_LENGTH else None
