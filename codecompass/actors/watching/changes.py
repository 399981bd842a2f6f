"""Change sets: bounded sets of changed paths (too many become "everything"), and a log of them by position. Pure bookkeeping: no
clock, no disk.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from codecompass.scan.walk import ScannedFile

FilesByDirectory = Mapping[str, tuple[ScannedFile, ...]]
"""The files directly in each directory, both relative to the root."""

MAX_FILES: Final = 20_000
"""Names of changed files that are kept. Further files are compared by their times alone."""


class PendingChanges(Struct, frozen=True):
    """Changes that a job has to index, up to `position` in the log.

    `directories` are relative to the root, None for all. `files` are those that an event named: they are read even if their times
    have not changed.
    """

    position: int
    directories: frozenset[str] | None
    files: frozenset[str] = frozenset()


class ChangeLog:
    """The log of a workspace's changes. Starts with everything pending: an unwatched tree may have changed.

    `seen` is the position of the newest change, `covered` the position up to which the index holds all changes.
    """

    def __init__(self) -> None:
        self.seen = 1
        self.covered = 0
        self._directories: frozenset[str] | None = None
        self._files: frozenset[str] = frozenset()

    @property
    def is_current(self) -> bool:
        """Whether the index holds all changes seen."""
        return self.covered >= self.seen

    @property
    def files(self) -> frozenset[str]:
        """Pending files known by name."""
        return self._files

    def note(self, directories: frozenset[str] | None, files: frozenset[str] = frozenset()) -> None:
        """Records changes in these directories, or anywhere (None); `files` are those known by name."""
        if directories is not None and not directories:
            return
        self.seen += 1
        self._remember(files)
        if directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= directories

    def take(self) -> PendingChanges:
        """Returns all pending changes, for a job that starts now. None are pending afterwards."""
        taken = PendingChanges(self.seen, self._directories, self._files)
        self._directories = frozenset()
        self._files = frozenset()
        return taken

    def landed(self, taken: PendingChanges) -> None:
        """Records that a job has published the changes it took."""
        self.covered = max(self.covered, taken.position)

    def put_back(self, taken: PendingChanges) -> None:
        """Makes the changes pending again that a job took and did not publish."""
        self._remember(taken.files)
        if taken.directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= taken.directories

    def _remember(self, files: frozenset[str]) -> None:
        if len(self._files) + len(files) <= MAX_FILES:
            self._files |= files


MAX_DIRECTORIES: Final = 1024
"""With more changed directories than this, a scan of the whole tree costs about the same and finds more."""


class WatchedChanges(Struct, frozen=True, kw_only=True):
    """What may have changed: at least everything that has changed."""

    directories: frozenset[str] = frozenset()
    """Relative to the root, '' for the root itself. In each, something was created, written, moved, deleted or given other
    attributes, or the directory itself was; deleted directories are included."""
    files: frozenset[str] = frozenset()
    """Files that an event named, relative to the root. Their content may differ although their times do not, as after a write
    through a mapping."""
    affects_rules: bool = False
    """An ignore file, the project's settings or what git tracks may have changed, so files elsewhere may come or go."""
    affects_head: bool = False
    """HEAD may name another branch or commit."""
    is_everything: bool = False
    """Includes all of the above: only a scan of the whole tree finds the changes."""
    reason: str = ""
    """Why it is everything."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return not (self.directories or self.affects_rules or self.affects_head or self.is_everything)


class ChangeCollector:
    """Gathers changes until they are taken. More than `max_directories` become "everything"."""

    def __init__(self, max_directories: int = MAX_DIRECTORIES) -> None:
        self._max_directories = max_directories
        self._directories: set[str] = set()
        self._files: set[str] = set()
        self._affects_rules = False
        self._affects_head = False
        self._reason = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has been added since the last `take`."""
        return not (self._directories or self._affects_rules or self._affects_head or self._reason)

    def add(self, directory: str) -> None:
        """Adds a directory, relative to the root."""
        if self._reason:
            return
        self._directories.add(directory)
        if len(self._directories) > self._max_directories:
            self.add_everything(f"more than {self._max_directories} directories have changed")

    def add_file(self, path: str) -> None:
        """Adds a file by name, relative to the root; its directory has to be added as well."""
        if len(self._files) < MAX_FILES:
            self._files.add(path)

    def add_effects(self, *, rules: bool = False, head: bool = False) -> None:
        """Notes that the rules or HEAD may have changed."""
        self._affects_rules |= rules
        self._affects_head |= head

    def add_everything(self, reason: str) -> None:
        """Drops the details: everything may have changed. The first reason is kept."""
        self._reason = self._reason or reason
        self._directories.clear()

    def take(self) -> WatchedChanges:
        """Returns the gathered changes, and starts over."""
        is_everything = bool(self._reason)
        changes = WatchedChanges(
            directories=frozenset(self._directories),
            files=frozenset(self._files),
            affects_rules=self._affects_rules or is_everything,
            affects_head=self._affects_head or is_everything,
            is_everything=is_everything,
            reason=self._reason,
        )
        self._directories.clear()
        self._files.clear()
        self._affects_rules = self._affects_head = False
        self._reason = ""
        return changes
