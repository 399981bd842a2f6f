"""A stream for the log of a server: it never blocks and never fails.

A host may give us a pipe for stderr and never read it, or close it. A log that waited for such a host would stop the server.
"""

import os
import select
from typing import Final

PIECE_BYTES: Final = select.PIPE_BUF
"""A pipe that is writable takes this much at once. POSIX."""


class LogStream:
    """Text to a descriptor, which stays its owner's. What finds no room is dropped, and that is said with the next line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._n_dropped = 0

    def write(self, text: str) -> int:
        """Writes what there is room for. Returns the length of all of it."""
        data = text.encode(errors="backslashreplace")
        if self._n_dropped and text.strip():
            data = f"({self._n_dropped} log lines were lost: nobody read them)\n".encode() + data
        try:
            while data:
                if not self._is_writable():
                    self._n_dropped += text.count("\n")
                    break
                data = data[os.write(self._descriptor, data[:PIECE_BYTES]) :]
            else:
                self._n_dropped = 0
        except OSError:
            pass  # closed, or a full disk: there is no place left to say so
        return len(text)

    def flush(self) -> None:
        """Nothing: there is no buffer."""

    def isatty(self) -> bool:
        """Whether people read it."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """The descriptor."""
        return self._descriptor

    def _is_writable(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(0))
