"""The walk: one pass over a workspace that lists what is to be indexed and says why the rest is not.

Owns listing directories and looking at entries, from one `lstat` each; which entries belong is `policy.py`. No file is
opened but ignore files, no symbolic link is followed, and what vanishes between being listed and being looked at was
never there. Runs in any thread, blocks on the disk, and takes about 100 ms of CPU for 10,000 tracked files.
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
from codecompass.scan.files import Stamp, trusted_mtime
from codecompass.scan.ignore import Rule
from codecompass.scan.policy import Place, root_place
from codecompass.scan.rules import ScanMemory, ScanRules, Workspace

PROGRESS_STEP_FILES: Final = 1000

Visit = Literal["entered", "left_out", "unreadable", "gone"]
"""How a directory was found: listed, ruled out by what it holds, not to be listed, or not there."""

_by_path = attrgetter("path")


class ScannedFile(Struct, frozen=True, gc=False):
    """A file to be indexed, as `lstat` saw it. `path` is relative to the root, as on disk; `size` is in bytes."""

    path: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int


class LinkedFile(Struct, frozen=True, gc=False):
    """A file to be indexed that has other names: it can be written through one that nobody watches."""

    path: str
    stamp: Stamp


class SkippedFile(Struct, frozen=True, gc=False):
    """An entry that belongs to the workspace by name and is not indexed. `size` is in bytes, 0 where it means nothing.

    The path of a `path_not_utf8` has its undecodable bytes as `\\xNN`; for a directory (`unreadable`,
    `path_too_long` or `path_not_utf8`) the entry stands for all that it holds.
    """

    path: str
    reason: SkipReason
    size: int = 0


class ScanResult(Struct, frozen=True, kw_only=True):
    """What a scan found. Every tuple is sorted by code points; paths are relative to the root.

    `directories` are those that were entered (empty for the root) and those that may not be read now, which a watcher must
    watch; `repositories` the tops of the work trees that were asked what they track (empty for the one around the root).
    `ignored_files` and `ignored_directories` count what rules left out, a directory as one whatever it holds, the
    `linked_worktrees` included. `linked` are those of `files` that have several names (hard links). `warnings` are sentences
    for people: git that failed, ignore files that could not be read.
    """

    files: tuple[ScannedFile, ...]
    skipped: tuple[SkippedFile, ...]
    directories: tuple[str, ...]
    repositories: tuple[str, ...]
    ignored_files: int
    ignored_directories: int
    linked_worktrees: int
    warnings: tuple[str, ...]
    linked: tuple[LinkedFile, ...] = ()


class ScanCancelled(Exception):
    """`is_cancelled` said so; a part of a listing is never returned, because what is missing would look deleted."""


def scan(
    root: str,
    rules: ScanRules,
    *,
    on_progress: Callable[[int], None] | None = None,
    is_cancelled: Callable[[], bool] | None = None,
) -> ScanResult:
    """Returns which files of the workspace at `root` are indexed, and why others are not.

    `on_progress` is called with the number of files found so far, every thousand or so and at the end; `is_cancelled`
    is asked before every directory and while git runs.

    Raises:
        OSError: the root itself cannot be listed. Below it, that is a `SkippedFile`.
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
    """As `scan`, with what lets a later scan look at changed directories alone (`partial.py`).

    None instead of a memory where git failed: what it tracks is not known then, and may be next time.
    """
    workspace = Workspace(root, rules, is_cancelled)
    walk = Walk(workspace, on_progress, is_cancelled)
    try:
        result = walk.run()
    except git_repository.GitCancelled as error:
        raise ScanCancelled from error
    return result, workspace.memory()


class Walk:
    """One pass over the places that it is sent to. What it found so far is in its attributes, unsorted.

    `pending` holds the directories that are to be entered next: `visit` adds those that it came upon. `closed` are those that
    may not be read.
    """

    def __init__(
        self,
        workspace: Workspace,
        on_progress: Callable[[int], None] | None = None,
        is_cancelled: Callable[[], bool] | None = None,
    ) -> None:
        self._workspace = workspace
        self._on_progress = on_progress
        self._is_cancelled = is_cancelled
        self.files: list[ScannedFile] = []
        self.skipped: list[SkippedFile] = []
        self.linked: list[LinkedFile] = []
        self.directories: list[str] = []
        self.closed: list[str] = []
        self.pending: list[Place] = []
        self._began = time.time_ns()
        self._n_ignored_files = 0
        self._n_ignored_directories = 0
        self._n_linked_worktrees = 0

    def run(self) -> ScanResult:
        """Visits the root and everything below it."""
        workspace = self._workspace
        self.pending.append(root_place(workspace))
        self.visit_pending()
        self._report()
        return ScanResult(
            files=tuple(sorted(self.files, key=_by_path)),
            skipped=tuple(sorted(self.skipped, key=_by_path)),
            directories=tuple(sorted((*self.directories, *self.closed))),
            repositories=tuple(sorted(workspace.repositories)),
            ignored_files=self._n_ignored_files,
            ignored_directories=self._n_ignored_directories,
            linked_worktrees=self._n_linked_worktrees,
            warnings=tuple(workspace.warnings),
            linked=tuple(self.linked),
        )

    def visit_pending(self) -> None:
        """Visits what is pending and everything below it."""
        next_report = len(self.files) + PROGRESS_STEP_FILES
        while self.pending:
            self.visit(self.pending.pop())
            if len(self.files) >= next_report:
                next_report = len(self.files) + PROGRESS_STEP_FILES
                self._report()

    def _report(self) -> None:
        if self._on_progress is not None:
            self._on_progress(len(self.files))

    def visit(self, place: Place) -> Visit:
        """Lists one directory. Its subdirectories that are to be entered become pending."""
        if self._is_cancelled is not None and self._is_cancelled():
            raise ScanCancelled
        try:
            with os.scandir(f"{self._workspace.root}/{place.path}") as listing:
                entries = list(listing)
        except OSError as error:
            if not place.path:
                raise
            if isinstance(error, FileNotFoundError | NotADirectoryError):
                return "gone"
            reason = unreadable_reason(error)
            self.skipped.append(SkippedFile(place.path, reason))
            if reason == "unreadable":
                self.closed.append(place.path)
            return "unreadable"
        rule = place.arrive({entry.name for entry in entries})
        if rule is not None:
            self._n_ignored_directories += 1
            self._n_linked_worktrees += rule is builtin.LINKED_WORKTREE
            return "left_out"
        self.directories.append(place.path)

        # This loop is what a scan costs: everything that can be is a local name, and a tracked file asks nobody.
        prefix = place.prefix
        trusted = self._workspace.tracked if place.trusts_git_alone else frozenset()
        max_bytes = self._workspace.rules.max_file_bytes
        is_secret = builtin.is_secret
        add = self.files.append
        for entry in entries:
            name = entry.name
            path = prefix + name
            try:
                if path in trusted and name.isascii() and not is_secret(name):
                    status = entry.stat(follow_symlinks=False)
                    if S_ISREG(status.st_mode) and status.st_size <= max_bytes:
                        size = status.st_size
                        add(ScannedFile(path, size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino))
                        if status.st_nlink > 1:
                            self._note_linked(path, status)
                        continue
                if entry.is_dir(follow_symlinks=False):
                    self._judge_directory(place, path, name)
                else:
                    self._judge_file(place, path, entry)
            except FileNotFoundError:
                continue
            except OSError as error:
                self.skipped.append(SkippedFile(printable(path), unreadable_reason(error)))
        return "entered"

    def _judge_directory(self, place: Place, path: str, name: str) -> None:
        judged = place.judge_directory(path, name)
        if isinstance(judged, Rule):
            self._n_ignored_directories += judged is not builtin.GIT_DIRECTORY
        elif is_utf8(name):
            self.pending.append(judged)
        else:
            self.skipped.append(SkippedFile(printable(path), "path_not_utf8"))

    def _judge_file(self, place: Place, path: str, entry: "os.DirEntry[str]") -> None:
        judged = place.judge_file(path, entry.name)
        if isinstance(judged, Rule):
            self._n_ignored_files += judged is not builtin.GIT_DIRECTORY
            return
        status = entry.stat(follow_symlinks=False)
        reason = judged or skip_reason(self._workspace, path, status)
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


def skip_reason(workspace: Workspace, path: str, status: os.stat_result) -> SkipReason | None:
    """Returns why an entry that no rule leaves out is still not indexed, from its `lstat`; None where it is."""
    if not is_utf8(path):
        return "path_not_utf8"
    if S_ISLNK(status.st_mode):
        try:
            target = os.path.realpath(os.path.join(workspace.root, path))
        except OSError:
            return "symlink_outside_root"  # a link on the way changed between two system calls: nobody knows where to
        is_inside = target == workspace.root or target.startswith(workspace.root.rstrip("/") + "/")
        return "symlink" if is_inside else "symlink_outside_root"
    if not S_ISREG(status.st_mode):
        return "special_file"
    return "too_large" if status.st_size > workspace.rules.max_file_bytes else None


def unreadable_reason(error: OSError) -> SkipReason:
    """Returns why something that is there could not be looked at."""
    return "path_too_long" if error.errno == errno.ENAMETOOLONG else "unreadable"


def is_below_any(path: str, directories: Collection[str]) -> bool:
    """Whether `path` lies below one of `directories`, at the cost of its depth, however many these are."""
    at = path.rfind("/") if directories else -1
    while at >= 0:
        if path[:at] in directories:
            return True
        at = path.rfind("/", 0, at)
    return False


def is_utf8(path: str) -> bool:
    """Whether a path as `os` gives it was valid UTF-8 on disk."""
    if path.isascii():
        return True
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(path: str) -> str:
    """Returns a path that can be shown: bytes that are not UTF-8 as `\\xNN`, all else as it is."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
