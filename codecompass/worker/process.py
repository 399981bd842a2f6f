"""How a worker process is started, by whatever starts it, and who has ended it."""

import os
import signal
import sys
from typing import Final

WORKER_DIRECTORY: Final = "/"
"""A neutral working directory: a repository must not be able to shadow our modules."""

OUTSIDE_SIGNALS: Final = frozenset({signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP})
"""Signals by which others end a process; crashes and a worker's own limits use other signals."""


def worker_command() -> list[str]:
    """Returns the command line of a worker process."""
    return [sys.executable, "-m", "codecompass.worker"]


def worker_environment() -> dict[str, str]:
    """Returns the environment of a worker process: ours, with a safe module path."""
    return {**os.environ, "PYTHONSAFEPATH": "1"}
