"""The progress of long work on stderr, for whoever watches. Draws nothing where nobody does."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Protocol

from codecompass.cli.terminal import Terminal
from codecompass.jobs import Progress

REFRESH_SECONDS: Final = 0.1

_WORDS: Final = {
    "discovery": "Scanning files",
    "parsing": "Reading and parsing",
    "indexing": "Adding symbols",
    "finalizing": "Finalizing",
}


class ProgressDisplay(Protocol):
    """What shows the progress of a job."""

    def show(self, progress: Progress) -> None:
        """Takes the latest state; may leave it out."""


class _Nothing:
    def show(self, progress: Progress) -> None:
        """Nobody watches."""


@contextmanager
def progress_bar(terminal: Terminal) -> Iterator[ProgressDisplay]:
    """Gives a bar that is gone when the block ends."""
    if not terminal.shows_progress:
        yield _Nothing()
        return
    from rich.console import Console
    from rich.progress import BarColumn, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[counts]}", style="dim"),
        TimeElapsedColumn(),
    )

    class Bar:
        def __init__(self, bar: RichProgress, task: TaskID) -> None:
            self._bar, self._task = bar, task
            self._drawn_at = 0.0

        def show(self, progress: Progress) -> None:
            now = time.monotonic()
            if now - self._drawn_at < REFRESH_SECONDS:
                return
            self._drawn_at = now
            self._bar.update(
                self._task, description=_WORDS[progress.stage], completed=progress.percentage, counts=_counts(progress)
            )
            self._bar.refresh()

    # Drawn by hand from the reports: a drawing thread would go on while nothing happens.
    with RichProgress(*columns, console=Console(file=terminal.err), transient=True, auto_refresh=False) as bar:
        yield Bar(bar, bar.add_task(_WORDS["discovery"], total=100, counts=""))


def _counts(progress: Progress) -> str:
    if progress.stage == "discovery":
        return f"{progress.files_scanned:,} files"
    symbols = f", {progress.symbols_extracted:,} symbols" if progress.symbols_extracted else ""
    return f"{progress.files_parsed:,}/{progress.files_total:,} files{symbols}"
