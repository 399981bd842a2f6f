"""Change sets: bounded sets of paths (too many become "everything"), and a log of them by position since the index was built.
Pure bookkeeping, no clock, no disk.
"""

from typing import Final

from msgspec import Struct

MAX_FILES: Final = 20_000
"""Names of changed files that are kept. Any further files are compared by their times alone."""


class Pending(Struct, frozen=True):
    """Changes that a job has to index: `directories` relative to the root, None for all of them. Covers up to `position`.

    `files` are those that an event named: they are read even where their times have not changed.
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
        """Pending files that are known by name."""
        return self._files

    def note(self, directories: frozenset[str] | None, files: frozenset[str] = frozenset()) -> None:
        """Records that something changed in these directories, or anywhere (None); `files` are those known by name."""
        if directories is not None and not directories:
            return
        self.seen += 1
        self._remember(files)
        if directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= directories

    def take(self) -> Pending:
        """Returns all pending changes, for a job that starts now. None are pending afterwards."""
        taken = Pending(self.seen, self._directories, self._files)
        self._directories = frozenset()
        self._files = frozenset()
        return taken

    def landed(self, taken: Pending) -> None:
        """Records that a job has published the changes it took."""
        self.covered = max(self.covered, taken.position)

    def put_back(self, taken: Pending) -> None:
        """Records that a job did not publish the changes it took: they are pending again."""
        self._remember(taken.files)
        if taken.directories is None or self._directories is None:
            self._directories = None
        else:
            self._directories |= taken.directories

    def _remember(self, files: frozenset[str]) -> None:
        if len(self._files) + len(files) <= MAX_FILES:
            self._files |= files


MAX_DIRECTORIES: Final = 1024
"""With more changed directories than this a scan of the whole tree costs about the same and says more."""


class Changes(Struct, frozen=True, kw_only=True):
    """What may have changed: never less than what has changed.

    `directories` are relative to the root (empty for the root itself): in each of them something was created, written,
    moved, deleted or given other attributes, or the directory itself was. One that is gone is among them.
    `files` are those that an event named, as paths relative to the root: they may hold something else although their times
    are as they were, as after a write through a mapping.
    `affects_rules`: an ignore file, the project's settings or what git tracks may be different, so that files elsewhere
    may come or go. `affects_head`: HEAD may name another branch or commit. `is_everything` includes all of these: only a
    scan of the whole tree tells, and `reason` says why.
    """

    directories: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()
    affects_rules: bool = False
    affects_head: bool = False
    is_everything: bool = False
    reason: str = ""

    @property
    def is_empty(self) -> bool:
        """Whether nothing has happened."""
        return not (self.directories or self.affects_rules or self.affects_head or self.is_everything)


class ChangeCollector:
    """Gathers changes until they are taken."""

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
        """Adds the name of a file in a directory that is added as well."""
        if len(self._files) < MAX_FILES:
            self._files.add(path)

    def add_effects(self, *, rules: bool = False, head: bool = False) -> None:
        """Notes that the rules or HEAD may be different."""
        self._affects_rules |= rules
        self._affects_head |= head

    def add_everything(self, reason: str) -> None:
        """Gives up on details. The first reason stays."""
        self._reason = self._reason or reason
        self._directories.clear()

    def take(self) -> Changes:
        """Returns what was gathered, and starts over."""
        is_everything = bool(self._reason)
        changes = Changes(
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
