"""The sockets of running servers in the data directory, at which commands of the same user ask them.

    <home>/servers/<process id>-<random>    one for each server that runs; that of a killed one stays until the next starts

They are bound and connected through a descriptor of their directory, because the address of a socket has at most 107 bytes. Only
Linux has such addresses. Elsewhere there are no sockets, and no watcher either that could prove what they are asked about.
"""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from codecompass.store.layout import FILE_MODE, HomeLayout, make_private_directory
from codecompass.units import MILLISECONDS

MAX_ASKED: Final = 8
"""Servers that one command asks."""

CONNECT_SECONDS: Final = 200 * MILLISECONDS
"""How long connecting may take, and each read and write afterwards, unless the caller sets another timeout."""

_WAITING: Final = 16
"""Connections that may wait for a server to accept them."""


def listen(home: HomeLayout) -> socket.socket | None:
    """Returns a socket that listens for commands, which `forget` removes; None where there are none.

    Removes those of servers that have ended.

    Raises OSError, and PermissionDenied if the directory cannot be made.
    """
    if sys.platform != "linux":
        return None
    make_private_directory(home.servers)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        with _opened(home) as directory:
            for name in os.listdir(directory):
                if _has_ended(directory, name):
                    with suppress(OSError):
                        os.unlink(name, dir_fd=directory)
            name = f"{os.getpid()}-{os.urandom(4).hex()}"
            listener.bind(_address(directory, name))
            os.chmod(name, FILE_MODE, dir_fd=directory)
        listener.listen(_WAITING)
    except BaseException:
        listener.close()
        raise
    return listener


def forget(home: HomeLayout, listener: socket.socket) -> None:
    """Closes a listening socket and removes it from the directory. Raises nothing."""
    name = os.path.basename(str(listener.getsockname()))
    listener.close()
    with suppress(OSError):
        os.unlink(home.servers / name)


def connections(home: HomeLayout) -> Iterator[socket.socket]:
    """Yields a connection to each server that runs, in the order of their names; the caller closes it. Raises nothing."""
    try:
        with _opened(home) as directory:
            for name in sorted(os.listdir(directory))[:MAX_ASKED]:
                with suppress(OSError):
                    yield _connected(directory, name)
    except OSError:
        return


@contextmanager
def _opened(home: HomeLayout) -> Iterator[int]:
    directory = os.open(home.servers, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield directory
    finally:
        os.close(directory)


def _address(directory: int, name: str) -> str:
    return f"/proc/self/fd/{directory}/{name}"


def _connected(directory: int, name: str) -> socket.socket:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect(_address(directory, name))
    except BaseException:
        connection.close()
        raise
    return connection


def _has_ended(directory: int, name: str) -> bool:
    try:
        _connected(directory, name).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False
