"""The listening sockets of the HTTP server: opened before anything else, so that a port in use is said in one sentence."""

import errno
import os
import socket
import sys
from collections.abc import Sequence
from typing import Final

from codecompass.errors import InvalidInput

BACKLOG: Final = 128

_KEEP_ALIVE_SECONDS: Final = 30
_PORT_ATTEMPTS: Final = 10


def open_sockets(bind: str, port: int) -> tuple[socket.socket, ...]:
    """Returns listening sockets on all addresses of `bind`, on one port; port 0 takes a free one. Blocking.

    Raises InvalidInput, with what to do, for an address that is not of this machine or a port that is taken or forbidden.
    """
    try:
        found = socket.getaddrinfo(bind.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise InvalidInput(f"--bind {bind}: no such address. Use 127.0.0.1, or one of this machine.", field="bind") from error
    targets = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    for attempt in range(_PORT_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for family, address in targets:
                chosen = sockets[0].getsockname()[1] if sockets else port
                sockets.append(_listening(family, (address[0], chosen, *address[2:])))
        except OSError as error:
            for each in sockets:
                each.close()
            is_last = attempt == _PORT_ATTEMPTS - 1
            if port == 0 and error.errno == errno.EADDRINUSE and not is_last:
                continue  # free on one address of the name, taken on another
            raise _refused(bind, port, error) from error
        return tuple(sockets)
    raise AssertionError("the last attempt returns or raises")


def _listening(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "linux":
            # Inherited by what is accepted: a peer that vanished is noticed, and not only when we write to it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_SECONDS // 3)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _refused(bind: str, port: int, error: OSError) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(f"Port {port} is already in use. Choose a different port with --port.", field="port", value=port)
    if error.errno in (errno.EACCES, errno.EPERM):
        return InvalidInput(f"Port {port} needs more rights than this user has. Choose one above 1023 with --port.", field="port")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return InvalidInput(f"--bind {bind}: {reason}. Use 127.0.0.1, or an address of this machine.", field="bind")


def bound_url(sockets: Sequence[socket.socket]) -> str:
    """Returns the address of a server on these sockets, as a client of this machine would type it."""
    host, port = sockets[0].getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
