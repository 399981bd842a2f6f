"""Shows the progress of an index job on the last line of stderr, if that is a terminal."""

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from codecompass.cli.terminal import Terminal
from codecompass.jobs import Progress

REFRESH_SECONDS: Final = 0.1
BAR_COLUMNS: Final = 40

_STAGES: Final = {
    "discovery": "Scanning files",
    "parsing": "Reading and parsing",
    "indexing": "Adding symbols",
    "finalizing": "Finalizing",
}


class ProgressDisplay(Protocol):
    """Shows the progress of a job."""

    def show(self, progress: Progress) -> None:
        """Shows the latest state; may skip it."""


class _NoDisplay:
    def show(self, progress: Progress) -> None:
        """Shows nothing: stderr is not a terminal."""


class _Bar:
    """Drawn when progress is reported, not by a timer: a bar that moves on its own would hide that nothing happens."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._began_at = time.monotonic()
        self._drawn_at = -math.inf

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._drawn_at < REFRESH_SECONDS:
            return
        self._drawn_at = now
        self._terminal.draw(progress_line(progress, now - self._began_at))


@contextmanager
def progress_bar(terminal: Terminal) -> Iterator[ProgressDisplay]:
    """Yields a bar that is removed when the block ends; one that shows nothing if stderr is not a terminal."""
    if not terminal.shows_progress:
        yield _NoDisplay()
        return
    try:
        yield _Bar(terminal)
    finally:
        terminal.draw("")


def progress_line(progress: Progress, elapsed_seconds: float) -> str:
    """Returns the line for a state of the job: stage, bar, counters, elapsed time."""
    bar = ("━" * (BAR_COLUMNS * progress.percentage // 100)).ljust(BAR_COLUMNS)
    minutes, seconds = divmod(int(elapsed_seconds), 60)
    counts = f"{progress.files_scanned:,} files"
    if progress.stage != "discovery":
        symbols = f", {progress.symbols_extracted:,} symbols" if progress.symbols_extracted else ""
        counts = f"{progress.files_parsed:,}/{progress.files_total:,} files{symbols}"
    return f"{_STAGES[progress.stage]} {bar} {progress.percentage:>3}% {counts} {minutes // 60}:{minutes % 60:02}:{seconds:02}"
