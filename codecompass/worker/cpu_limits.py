"""Limits of CPU time inside a worker process: one that ends the process, and one that ends only what is being done.

CPU time, so that a loaded machine quarantines nothing. Both work in the main thread alone.
"""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from codecompass.units import SECONDS

AGAIN_SECONDS: Final = 0.2 * SECONDS


class CpuTimeExceeded(Exception):
    """The block of an `interrupting_limit` took too long."""


@contextmanager
def ending_limit(seconds: float) -> Iterator[None]:
    """Ends the process when the block uses more than `seconds` of CPU time (user and system).

    The signal's default action is meant: inside a parser or a regular expression no Python code runs, so no handler of ours
    ever would.
    """
    signal.signal(signal.SIGPROF, signal.SIG_DFL)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


@contextmanager
def interrupting_limit(seconds: float) -> Iterator[None]:
    """Raises CpuTimeExceeded in the block when that uses more than `seconds` of user CPU time, between two steps of Python."""
    before = signal.signal(signal.SIGVTALRM, _interrupt)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    finally:
        # Again: the signal may have come just before the first one, and has set the timer anew.
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    # An exception that is raised while an object is finalized is lost: then the next signal ends the block.
    signal.setitimer(signal.ITIMER_VIRTUAL, AGAIN_SECONDS)
    raise CpuTimeExceeded
