"""Which process is meant by a number that the system gives out again: its id together with when it began.

For messages and for jobs that wait in the memory of a process. Whether somebody *writes an index* is said by the lock
(`lock.py`) and never by this.
"""

import os
import subprocess
from pathlib import Path
from typing import Final

from msgspec import Struct

PS_DEADLINE_SECONDS: Final = 5.0


class ProcessMark(Struct, frozen=True):
    """A process of this machine. `started` is in the system's own words and only ever compared; empty if unknown."""

    pid: int
    started: str


def this_process() -> ProcessMark:
    """Returns the mark of the calling process."""
    return ProcessMark(os.getpid(), _started(os.getpid()))


def is_alive(mark: ProcessMark) -> bool:
    """Returns whether the very process that `mark` was taken of still runs."""
    try:
        os.kill(mark.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it exists and belongs to somebody else, which the start time will tell
    started = _started(mark.pid)
    return not started or not mark.started or started == mark.started


def _started(pid: int) -> str:
    try:
        # The name in parentheses may hold anything; the start time is the 22nd field, the 20th after it.
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    try:
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PS_DEADLINE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
