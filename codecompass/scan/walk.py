"""Scans a workspace: lists the files to index, and those to skip with the reasons.

Lists directories and calls `lstat` on entries; `policy.py` decides which entries are indexed. Opens only ignore files, follows no
symbolic links, and treats an entry that vanishes between listing and `lstat` as absent. Runs in any thread, blocks on the disk,
and takes about 100 ms of CPU for 10,000 tracked files.
"""

import errno
import os
import time
from collections.abc import Callable, Collection
from operator import attrgetter
from stat import S_ISLNK, S_ISREG
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.records import SkipReason
from codecompass.scan import builtin, git_repository
from codecompass.scan.files import Stamp, is_utf8, printable, trusted_mtime
from codecompass.scan.ignore import Rule
from codecompass.scan.policy import DirectoryPolicy, root_policy
from codecompass.scan.rules import ScanContext, ScanMemory, ScanRules

PROGRESS_STEP_FILES: Final = 1000

VisitOutcome = Literal["entered", "left_out", "unreadable", "gone"]
"""Whether a directory was listed, is excluded because of its content, cannot be listed, or does not exist."""

_by_path = attrgetter("path")


class ScannedFile(Struct, frozen=True, gc=False):
    """A file to index, as `lstat` returned it. `path` is relative to the root, as on disk; `size` is in bytes."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class LinkedFile(Struct, frozen=True, gc=False):
    """A file to index that has several hard links, so that it can be written through a path that is not watched."""

    path: str
    stamp: Stamp


class SkippedFile(Struct, frozen=True, gc=False):
    """An entry that no rule excludes and that is not indexed. `size` is in bytes, 0 for anything but a regular file.

    In a path that is not UTF-8 (`path_not_utf8`), undecodable bytes are written as `\\xNN`. A directory (`unreadable`,
    `path_too_long` or `path_not_utf8`) stands for everything in it.
    """

    path: str
    reason: SkipReason
    size: int = 0


class ScanResult(Struct, frozen=True, kw_only=True):
    """The result of a scan. Tuples except `linked` and `warnings` are sorted by code points; paths are relative to the root."""

    files: tuple[ScannedFile, ...]
    skipped: tuple[SkippedFile, ...]
    directories: tuple[str, ...]
    """Those entered (empty for the root) and those that cannot be read now; a watcher must watch both."""
    repositories: tuple[str, ...]
    """Tops of the work trees whose tracked files were listed (empty for the one that holds the root)."""
    ignored_files: int
    """Number of files that rules excluded."""
    ignored_directories: int
    """Number of directories that rules excluded, without those in them."""
    linked_worktrees: int
    """How many of `ignored_directories` are work trees of a repository that the workspace already holds."""
    warnings: tuple[str, ...]
    """Sentences for people about failures of git and ignore files that could not be read."""
    linked: tuple[LinkedFile, ...] = ()
    """Those of `files` that have several hard links."""


class ScanCancelled(Exception):
    """`is_cancelled` returned true. No partial result is returned, because what it lacks would look deleted."""


def scan(
    root: str,
    rules: ScanRules,
    *,
    on_progress: Callable[[int], None] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> ScanResult:
    """Returns which files of the workspace at `root` to index, and why others are skipped.

    `on_progress` is called with the number of files found so far, about every thousand files and at the end; `is_cancelled`
    is called before every directory and while git runs.

    Raises:
        OSError: the root itself cannot be listed. A directory below it becomes a `SkippedFile`.
        ScanCancelled: `is_cancelled` returned true.
    """
    return scan_and_remember(root, rules, on_progress=on_progress, is_cancelled=is_cancelled)[0]


def scan_and_remember(
    root: str,
    rules: ScanRules,
    *,
    on_progress: Callable[[int], None] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> tuple[ScanResult, ScanMemory | None]:
    """As `scan`, with the memory that lets a later scan list only changed directories (`partial.py`).

    The memory is None if git failed, because the set of tracked files is then unknown.
    """
    context = ScanContext(root, rules, is_cancelled)
    walk = Walk(context, on_progress, is_cancelled)
    try:
        result = walk.run()
    except git_repository.GitCancelled as error:
        raise ScanCancelled from error
    return result, context.memory()


class Walk:
    """Lists directories and collects what they hold in its attributes, unsorted.

    `pending` holds the directories to visit next; `visit` adds the subdirectories. `unreadable` are the directories that
    cannot be read.
    """

    def __init__(
        self,
        context: ScanContext,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._context = context
        self._on_progress = on_progress
        self._is_cancelled = is_cancelled
        self.files: list[ScannedFile] = []
        self.skipped: list[SkippedFile] = []
        self.linked: list[LinkedFile] = []
        self.directories: list[str] = []
        self.unreadable: list[str] = []
        self.pending: list[DirectoryPolicy] = []
        self._began = time.time_ns()
        self._n_ignored_files = 0
        self._n_ignored_directories = 0
        self._n_linked_worktrees = 0

    def run(self) -> ScanResult:
        """Visits the root and everything below it."""
        context = self._context
        self.pending.append(root_policy(context))
        self.visit_pending()
        self._report()
        return ScanResult(
            files=tuple(sorted(self.files, key=_by_path)),
            skipped=tuple(sorted(self.skipped, key=_by_path)),
            directories=tuple(sorted((*self.directories, *self.unreadable))),
            repositories=tuple(sorted(context.repositories)),
            ignored_files=self._n_ignored_files,
            ignored_directories=self._n_ignored_directories,
            linked_worktrees=self._n_linked_worktrees,
            warnings=tuple(context.warnings),
            linked=tuple(self.linked),
        )

    def visit_pending(self) -> None:
        """Visits the pending directories and everything below them."""
        next_report = len(self.files) + PROGRESS_STEP_FILES
        while self.pending:
            self.visit(self.pending.pop())
            if len(self.files) >= next_report:
                next_report = len(self.files) + PROGRESS_STEP_FILES
                self._report()

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(len(self.files))

    def visit(self, policy: DirectoryPolicy) -> VisitOutcome:
        """Lists one directory, and adds its subdirectories that are not excluded to `pending`."""
        if self._is_cancelled is not None and self._is_cancelled():
            raise ScanCancelled
        try:
            with os.scandir(f"{self._context.root}/{policy.path}") as listing:
                entries = list(listing)
        except OSError as error:
            if not policy.path:
                raise
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                return "gone"
            reason = unreadable_reason(error)
            self.skipped.append(SkippedFile(policy.path, reason))
            if reason == "unreadable":
                self.unreadable.append(policy.path)
            return "unreadable"
        rule = policy.enter({entry.name for entry in entries})
        if rule is not None:
            self._n_ignored_directories += 1
            self._n_linked_worktrees += rule is builtin.LINKED_WORKTREE
            return "left_out"
        self.directories.append(policy.path)

        # Most of a scan's time is spent in this loop: it uses local variables, and a tracked file, or one that no rule is about,
        # needs no call of the policy.
        prefix = policy.prefix
        trusted = self._context.tracked if policy.admits_tracked_files else frozenset()
        admits_visible = policy.admits_visible_files
        max_bytes = self._context.rules.max_file_bytes
        is_secret = builtin.is_secret
        add = self.files.append
        for entry in entries:
            name = entry.name
            path = prefix + name
            try:
                is_plain = path in trusted or (admits_visible and name[0] != "." and entry.is_file(follow_symlinks=False))
                if is_plain and name.isascii() and not is_secret(name):
                    status = entry.stat(follow_symlinks=False)
                    if S_ISREG(status.st_mode) and status.st_size <= max_bytes:
                        size = status.st_size
                        add(ScannedFile(path, size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
                        if status.st_nlink > 1:
                            self._note_linked(path, status)
                        continue
                if entry.is_dir(follow_symlinks=False):
                    self._check_directory(policy, path, name)
                else:
                    self._check_file(policy, path, entry)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.skipped.append(SkippedFile(printable(path), unreadable_reason(error)))
        return "entered"

    def _check_directory(self, policy: DirectoryPolicy, path: str, name: str) -> None:
        decision = policy.check_directory(path, name)
        if isinstance(decision, Rule):
            self._n_ignored_directories += decision is not builtin.GIT_DIRECTORY
        elif is_utf8(name):
            self.pending.append(decision)
        else:
            self.skipped.append(SkippedFile(printable(path), "path_not_utf8"))

    def _check_file(self, policy: DirectoryPolicy, path: str, entry: "os.DirEntry[str]") -> None:
        decision = policy.check_file(path, entry.name)
        if isinstance(decision, Rule):
            self._n_ignored_files += decision is not builtin.GIT_DIRECTORY
            return
        status = entry.stat(follow_symlinks=False)
        reason = decision or skip_reason(self._context, path, status)
        if reason is None:
            size = status.st_size
            self.files.append(ScannedFile(path, size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
            if status.st_nlink > 1:
                self._note_linked(path, status)
        else:
            size = status.st_size if S_ISREG(status.st_mode) else 0
            self.skipped.append(SkippedFile(printable(path), reason, size))

    def _note_linked(self, path: str, status: os.stat_result) -> None:
        stamp = Stamp(trusted_mtime(status, self._began), status.st_ctime_ns, status.st_size, status.st_ino)
        self.linked.append(LinkedFile(path, stamp))


def skip_reason(context: ScanContext, path: str, status: os.stat_result) -> SkipReason | None:
    """Returns why an entry that no rule excludes is still not indexed, given its `lstat`; None if it is indexed."""
    if not is_utf8(path):
        return "path_not_utf8"
    if S_ISLNK(status.st_mode):
        try:
            target = os.path.realpath(os.path.join(context.root, path))
        except OSError:
            return "symlink_outside_root"  # a link in the path changed between two system calls: the target is unknown
        is_inside = target == context.root or target.startswith(context.root.rstrip("/") + "/")
        return "symlink" if is_inside else "symlink_outside_root"
    if not S_ISREG(status.st_mode):
        return "special_file"
    return "too_large" if status.st_size > context.rules.max_file_bytes else None


def unreadable_reason(error: OSError) -> SkipReason:
    """Returns why an entry that exists could not be read."""
    return "path_too_long" if error.errno == errno.ENAMETOOLONG else "unreadable"


def is_below_any(path: str, directories: Collection[str]) -> bool:
    """Whether `path` is below one of `directories`. Takes time proportional to the depth of `path`."""
    at = path.rfind("/") if directories else -1
    while at >= 0:
        if path[:at] in directories:
            return True
        at = path.rfind("/", 0, at)
    return False
