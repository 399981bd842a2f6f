"""Test processes that log JSON lines: waiting for events, pausing, killing and ending."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[2]
LAUNCH = Path(__file__).with_name("launch.py")
DEADLINE_SECONDS = 120
POLL_SECONDS = 0.05
LOG_LINES = 30


class LoggedProcess:
    """A process that forms a process group with its children. It ends with the thread that created it, even if that is killed
    (Linux). Its log is a file, because a full pipe would block it."""

    def __init__(self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None) -> None:
        log.parent.mkdir(parents=True, exist_ok=True)
        self.events: list[dict[str, object]] = []
        """The events read from its log so far."""
        self._n_looked_at = 0
        self._read = log.open("xb+")
        self._rest = b""
        launch = [sys.executable, "-I", "-S", str(LAUNCH), str(os.getpid()), str(os.getuid()), str(os.getgid())]
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [*launch, *command],
                cwd=ROOT,
                env=None if environment is None else {**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def read(self) -> None:
        """Reads the events logged since the last call."""
        *lines, self._rest = (self._rest + self._read.read()).split(b"\n")
        self.events += [json.loads(line) if line.startswith(b"{") else {"event": "output", "line": repr(line)} for line in lines]

    def next(self, event: str) -> dict[str, object] | None:
        """Returns the next unread event of this name; None if it has not been logged yet."""
        self.read()
        while self._n_looked_at < len(self.events):
            self._n_looked_at += 1
            found = self.events[self._n_looked_at - 1]
            if found["event"] == event:
                return found
        return None

    def wait_for(self, event: str) -> dict[str, object]:
        """Waits for the next unread event of this name and returns it."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while time.monotonic() < deadline:
            has_ended = not self.is_running
            if (found := self.next(event)) is not None:
                return found
            if has_ended:
                break
            time.sleep(POLL_SECONDS)
        raise AssertionError(f"{event} never came: {self.events[-LOG_LINES:]}")

    def pause(self) -> None:
        os.killpg(self.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """Ends the process with SIGTERM, and returns its exit code."""
        self._process.terminate()
        return self._process.wait(DEADLINE_SECONDS)

    def end(self) -> None:
        """Kills the process if it is running."""
        if self.is_running:
            self.kill()
        self._read.close()
