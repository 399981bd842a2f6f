"""What has changed in a tree since its index was built, as positions: pure bookkeeping, no clock, no disk.

Every look that finds changes moves `seen` on by one. A job takes all that is pending and, once published, covers what was
seen when it started. The index is current when what it covers is all that was seen; an answer may say `fresh` when that
holds for a look that was made after the question came.
"""

from typing import Final

from msgspec import Struct

MAX_FILES: Final = 20_000
"""Names of changed files that are kept. Those beyond are judged by their times alone."""


class Pending(Struct, frozen=True):
    """What a job has to look at: `directories` relative to the root, None for all of them. Covers up to `position`.

    `files` are those that an event named: they are read even where their times say that they are as they were.
    """

    position: int
    directories: frozenset[str] | None
    files: frozenset[str] = frozenset()


class ChangeLog:
    """Starts with everything unknown: a tree that nobody watched may have changed."""

    def __init__(self) -> None:
        self.seen = 1
        self.covered = 0
        self._directories: frozenset[str] | None = None
        self._files: frozenset[str] = frozenset()

    @property
    def is_current(self) -> bool:
        """Whether the index holds all that was seen."""
        return self.covered >= self.seen

    @property
    def files(self) -> frozenset[str]:
        """Those that are pending and known by name."""
        return self._files

    def note(self, directories: frozenset[str] | None, files: frozenset[str] = frozenset()) -> None:
        """Takes down that something changed in these directories, or anywhere (None); `files` are those known by name."""
        if directories is not None and not directories:
            return
        self.seen += 1
        self._remember(files)
        if directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= directories

    def take(self) -> Pending:
        """Returns all that is pending, for a job that starts now. What comes later is pending anew."""
        taken = Pending(self.seen, self._directories, self._files)
        self._directories = frozenset()
        self._files = frozenset()
        return taken

    def landed(self, taken: Pending) -> None:
        """Takes down that a job has published what it took."""
        self.covered = max(self.covered, taken.position)

    def put_back(self, taken: Pending) -> None:
        """Takes down that a job did not: all it took is pending again."""
        self._remember(taken.files)
        if taken.directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= taken.directories

    def _remember(self, files: frozenset[str]) -> None:
        if len(self._files) + len(files) <= MAX_FILES:
            self._files |= files
