"""Runs the real command on a pseudo-terminal: sends keys, and reads the output from an emulated screen.

Each wait has a deadline and is for text on the screen or the end of the process, never for a fixed time.
"""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import pyte

DEADLINE_SECONDS = 60.0

ENTER = "\r"
ESCAPE = "\x1b"
DOWN, UP = "\x1b[B", "\x1b[A"
PAGE_DOWN = "\x1b[6~"
TAB, BACK_TAB = "\t", "\x1b[Z"
CONTROL_C, CONTROL_D, CONTROL_R, CONTROL_T, CONTROL_U, CONTROL_Y = "\x03", "\x04", "\x12", "\x14", "\x15", "\x19"

ENTERS_ALTERNATE_SCREEN, LEAVES_ALTERNATE_SCREEN = b"\x1b[?1049h", b"\x1b[?1049l"


class PseudoTerminal:
    """A command on a terminal of `columns` x `rows`. The context manager kills the command and closes the terminal."""

    def __init__(
        self, arguments: Sequence[str], environment: Mapping[str, str], cwd: Path, *, columns: int = 100, rows: int = 30
    ) -> None:
        self._master, self._slave = pty.openpty()
        self._set_size(columns, rows)
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.attributes_before = termios.tcgetattr(self._slave)
        variables = {name: value for name, value in environment.items() if name not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "codecompass", *arguments],
            cwd=cwd,
            env={"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONUTF8": "1", **variables},
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(DEADLINE_SECONDS)
        os.close(self._master)
        os.close(self._slave)

    @property
    def text(self) -> str:
        """The text on the screen."""
        return "\n".join(line.rstrip() for line in self.screen.display)

    def line(self, containing: str) -> str:
        """Returns the first line of the screen that contains a text."""
        return next(line for line in self.text.split("\n") if containing in line)

    @property
    def selected(self) -> str:
        """The line of the selected hit."""
        return self.line("› ")

    @property
    def attributes(self) -> list[object]:
        """The terminal's modes, as `termios` returns them."""
        return list(termios.tcgetattr(self._slave))

    def send(self, keys: str) -> None:
        os.write(self._master, keys.encode())

    def resize(self, columns: int, rows: int) -> None:
        """Resizes the terminal; the kernel signals the command."""
        self.screen.resize(rows, columns)
        self._set_size(columns, rows)

    def until(self, is_there: str | Callable[[], bool], absent: str = "") -> str:
        """Waits until the screen shows a text or a condition holds, and the text `absent` is gone. Returns the screen."""
        wanted = (lambda: is_there in self.text) if isinstance(is_there, str) else is_there
        gives_up_at = time.monotonic() + DEADLINE_SECONDS
        while not wanted() or (absent and absent in self.text) or self._is_being_drawn():
            assert time.monotonic() < gives_up_at, f"never there: {is_there!r}\n{self.text}"
            assert self._read(0.1) or self.process.poll() is None, f"it ended before: {is_there!r}\n{self.text}"
        return self.text

    def settled(self) -> str:
        """Waits until the answer is complete and up to date. Returns the screen."""
        return self.until(lambda: "up to date" in self.screen.display[1] and "…" not in self.screen.display[1])

    def ended(self) -> int:
        """Waits for the command to end, and returns its exit code."""
        gives_up_at = time.monotonic() + DEADLINE_SECONDS
        while self.process.poll() is None:
            assert time.monotonic() < gives_up_at, f"it does not end\n{self.text}"
            self._read(0.1)
        while self._read(0):
            pass
        return self.process.returncode

    def _is_being_drawn(self) -> bool:
        """Whether a frame is incomplete. The kernel delivers a frame in pieces; the cursor is hidden until the last one."""
        return self.screen.cursor.hidden and self._read(0.1)

    def _read(self, seconds: float) -> bool:
        readable, _, _ = select.select([self._master], [], [], seconds)
        if not readable:
            return False
        read = os.read(self._master, 1 << 16)
        self.raw += read
        self._stream.feed(read)
        return bool(read)

    def _set_size(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
