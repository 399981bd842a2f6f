"""Finds what differs between two commits, or between a commit and the working tree: files, renames, lines.

git compares two trees (`git_working_tree` makes one of the working tree) with its own rename detection, and without running any
program that a repository configures. Nothing is fetched: warnings say what a shallow or partial clone lacks.
"""

import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.formatting import count
from codecompass.scan import builtin
from codecompass.scan.git_conversions import require_plain_attributes
from codecompass.scan.git_objects import missing_objects, read_blobs
from codecompass.scan.git_repository import GitError, GitOutputTooLarge, GitRepository, run_git
from codecompass.scan.git_revisions import Side
from codecompass.scan.git_working_tree import OmittedFile, write_working_tree
from codecompass.scan.rules import ScanRules
from codecompass.units import MIB

MAX_LISTED_FILES: Final = 20_000
MAX_COMPARED_FILES: Final = 2_000
"""Files whose lines are compared; further files are only listed."""

MAX_PATCH_BYTES: Final = 64 * MIB
MAX_CONTENT_BYTES: Final = 32 * MIB
"""Total size of the contents read, of both sides."""

RENAME_LIMIT: Final = 1000
"""Files on each side up to which git detects renames of edited files; git's default."""

_PATHSPEC_FILES: Final = 200
_SHOWN_FILES: Final = 5
"""Files that a warning names."""

_RENAMES: Final = ("-M", f"-l{RENAME_LIMIT}")
_IDENTICAL_RENAMES: Final = ("-M100%",)
"""Recognises renamed files whose content is the same, without reading any."""

FileStatus = Literal["added", "removed", "changed", "renamed"]

_STATUSES: Final[dict[str, FileStatus]] = {"A": "added", "D": "removed", "M": "changed", "T": "changed", "R": "renamed"}
HUNK: Final = lazy.pattern(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
"""The line before the lines of a hunk: where they begin on both sides, and how many they are if not one."""

_NOTHING: Final = lazy.pattern("0+")


class Hunk(Struct, frozen=True):
    """Lines that differ: `n_old` lines from `old` on became `n_new` lines from `new` on. Lines count from 1. If a side has no
    lines, its number is that of the line before."""

    old: int
    n_old: int
    new: int
    n_new: int


class FileChange(Struct, frozen=True, kw_only=True):
    """A file that differs. Paths are relative to the workspace's root, as on disk."""

    path: str
    old_path: str
    """Differs from `path` only for a renamed file."""
    status: FileStatus
    similarity: int = 0
    """Git's similarity of a renamed file, in percent."""
    old_mode: str = ""
    new_mode: str = ""
    old_blob: str = ""
    """Object id of the old content; empty if there is none. The same holds for `new_blob`."""
    new_blob: str = ""
    hunks: tuple[Hunk, ...] = ()
    note: str = ""
    """Why there are no hunks, or what else differs: `binary`, `submodule`, `symlink`, `mode`, `secret`, `too_large`, `filtered`,
    `unreadable`, `beyond_bound`, `missing` (this clone lacks a content)."""

    @property
    def n_added(self) -> int:
        """Number of lines added."""
        return sum(hunk.n_new for hunk in self.hunks)

    @property
    def n_removed(self) -> int:
        """Number of lines removed."""
        return sum(hunk.n_old for hunk in self.hunks)


class GitChanges(Struct, frozen=True, kw_only=True):
    """The differences between two sides."""

    base: Side
    head: Side
    files: tuple[FileChange, ...]
    """Sorted by path."""
    contents: dict[str, bytes] = {}
    """Contents of regular files by object id, as far as they were read."""
    warnings: tuple[str, ...] = ()
    """Say what was left out and what to do about it."""


Chosen = Callable[[Sequence[str]], Sequence[bool]]
"""Returns for each path whether it is included."""


def everything(paths: Sequence[str]) -> list[bool]:
    """Includes every path."""
    return [True] * len(paths)


def find_changes(
    repository: GitRepository,
    root: str,
    base: Side,
    head: Side,
    rules: ScanRules,
    *,
    chosen: Chosen = everything,
    with_contents: bool = False,
    is_cancelled: Callable[[], bool] | None = None,
) -> GitChanges:
    """Returns what differs below `root`, in files that `chosen` includes by their new or old path.

    Raises GitError, GitCancelled, ScanCancelled, and OSError if the root cannot be listed.
    """
    with _trees(repository, root, base, head, rules, is_cancelled) as (ours, tree, omitted):
        comparison = _Comparison(ours, root, base.tree, tree, is_cancelled)
        files, warnings = comparison.files(chosen)
        prefix = comparison.prefix
        compared = {(each.path, each.old_path) for each in files}
        others = [_omitted_change(each, prefix) for each in omitted if each.path.startswith(prefix)]
        is_chosen = chosen([each.path for each in others])
        others = [each for each, is_in in zip(others, is_chosen, strict=True) if is_in and (each.path, each.path) not in compared]
        contents: dict[str, bytes] = {}
        if with_contents:
            contents, more = _contents(ours, files, rules.max_file_bytes, is_cancelled, comparison.lacking)
            warnings += more
    found = sorted((*files, *others), key=lambda each: each.path)
    return GitChanges(base=base, head=head, files=tuple(found), contents=contents, warnings=warnings)


@contextmanager
def _trees(
    repository: GitRepository, root: str, base: Side, head: Side, rules: ScanRules, is_cancelled: Callable[[], bool] | None
) -> Iterator[tuple[GitRepository, str, tuple[OmittedFile, ...]]]:
    """Yields the repository to compare in, the tree of the head in it, and the files that are not in that tree."""
    if head.tree:
        yield repository, head.tree, ()
        return
    with tempfile.TemporaryDirectory(prefix="codecompass-") as scratch:
        made = write_working_tree(repository, root, base.tree, rules, scratch, is_cancelled=is_cancelled)
        yield made.repository, made.tree, made.omitted


def _omitted_change(each: OmittedFile, prefix: str) -> FileChange:
    path = each.path.removeprefix(prefix)
    return FileChange(path=path, old_path=path, status="added" if each.is_new else "changed", note=each.reason)


class _Comparison:
    """Compares two trees below one directory."""

    def __init__(
        self, repository: GitRepository, root: str, base: str, head: str, is_cancelled: Callable[[], bool] | None
    ) -> None:
        self._repository = repository
        self._base, self._head = base, head
        self._is_cancelled = is_cancelled
        self._renames: tuple[str, ...] = _RENAMES
        self.lacking: frozenset[str] = frozenset()
        """Objects that this clone is known to lack; looked up once git has failed."""
        self.prefix = "" if root == repository.top else os.path.relpath(root, repository.top) + "/"

    def files(self, chosen: Chosen) -> tuple[list[FileChange], tuple[str, ...]]:
        """Returns the chosen files that differ, with their hunks, and warnings about what was left out."""
        if self._base == self._head:
            return [], ()
        warnings: list[str] = []
        try:
            listed = list(_raw_entries(self._run(("--raw",), ())))
        except GitError as error:
            if isinstance(error, GitOutputTooLarge):
                raise
            # Rename detection reads contents, which a partial clone may lack.
            self._renames = _IDENTICAL_RENAMES
            listed = list(_raw_entries(self._run(("--raw",), ())))
            warnings.append("renames were only detected among identical files, because this clone lacks contents")
        n_old = sum(each.status == "removed" for each in listed)
        n_new = sum(each.status == "added" for each in listed)
        if n_old * n_new > RENAME_LIMIT * RENAME_LIMIT:
            warnings.append(f"{n_old:,} files were removed and {n_new:,} added: renames were only detected among identical files")
        by_new = chosen([each.path for each in listed])
        by_old = chosen([each.old_path for each in listed])
        files = [each for each, new, old in zip(listed, by_new, by_old, strict=True) if new or old]
        if len(files) > MAX_LISTED_FILES:
            warnings.append(f"{len(files):,} files differ; the first {MAX_LISTED_FILES:,} by path are included. Pass path")
            files = sorted(files, key=lambda each: each.path)[:MAX_LISTED_FILES]
        compared = [each for each in files if not each.note]
        if len(compared) > MAX_COMPARED_FILES:
            warnings.append(
                f"{len(compared):,} files differ; the lines of the first {MAX_COMPARED_FILES:,} by path are compared. Pass path"
            )
            compared = sorted(compared, key=lambda each: each.path)[:MAX_COMPARED_FILES]
        hunks, more = self._hunks(compared, is_all=len(compared) == len(listed))
        if any("could not be compared" in each for each in more):
            missing = self._lacking(compared)
            if missing:
                lacking = frozenset(missing)
                # The contents of a file that was only moved may be missing too, but no line of it differs.
                moved = [each for each in compared if each.old_blob == each.new_blob]
                here = [each for each in compared if each not in lacking and each.old_blob != each.new_blob]
                hunks, more = self._hunks(here, is_all=False)
                hunks |= {(each.old_path, each.path): () for each in moved}
                files = [replace(each, note="missing") if each in lacking else each for each in files]
                names = ", ".join(each.path for each in missing[:_SHOWN_FILES]) + ", ..." * (len(missing) > _SHOWN_FILES)
                warnings.append(
                    f"lines of {count(len(missing), 'file')} could not be compared, because this clone lacks their contents, and "
                    f"nothing is fetched: {names}"
                )
        kept = {(each.old_path, each.path) for each in compared}
        return [_with_lines(each, hunks, is_compared=(each.old_path, each.path) in kept) for each in files], (*warnings, *more)

    def _lacking(self, files: Sequence[FileChange]) -> list[FileChange]:
        """Returns the files whose content git would need to compare their lines, and this clone lacks."""
        try:
            self.lacking = missing_objects(self._repository, (self._base, self._head), is_cancelled=self._is_cancelled)
        except GitError:
            return []
        differing = (each for each in files if each.old_blob != each.new_blob)
        return [each for each in differing if not self.lacking.isdisjoint((each.old_blob, each.new_blob))]

    def _hunks(
        self, files: Sequence[FileChange], *, is_all: bool
    ) -> tuple[dict[tuple[str, str], tuple[Hunk, ...] | None], tuple[str, ...]]:
        """Returns the hunks of each file by its old and new path, None if git takes it for binary; and warnings."""
        found: dict[tuple[str, str], tuple[Hunk, ...] | None] = {}
        step = max(1, len(files)) if is_all else _PATHSPEC_FILES
        groups = [files[at : at + step] for at in range(0, len(files), step)]
        for group in groups:
            if not group:
                continue
            paths = list(dict.fromkeys(path for each in group for path in (each.old_path, each.path)))
            try:
                require_plain_attributes(self._repository, (self.prefix + path for path in paths))
                output = self._run(("--raw", "-p", "-U0", "--inter-hunk-context=0"), () if is_all else paths)
            except GitOutputTooLarge:
                return found, (f"more than {MAX_PATCH_BYTES // MIB} MiB differ: lines are given for some files only. Pass path",)
            except GitError as error:
                return found, (f"lines could not be compared: {error}",)
            found |= _patches(output)
        return found, ()

    def _run(self, what: Iterable[str], paths: Iterable[str]) -> bytes:
        return run_git(
            self._repository,
            self._repository.top,
            *("diff-tree", "-r", "-z", "--no-ext-diff", "--no-textconv", "--no-color", "--abbrev=64"),
            *("--ignore-submodules=none", "--submodule=short", "--diff-algorithm=default", "--no-prefix", "--full-index"),
            *self._renames,
            *((f"--relative={self.prefix}",) if self.prefix else ("--no-relative",)),
            *what,
            self._base,
            self._head,
            "--",
            *(self.prefix + path for path in paths),
            is_cancelled=self._is_cancelled,
            max_output_bytes=MAX_PATCH_BYTES,
        )


def _with_lines(each: FileChange, hunks: dict[tuple[str, str], tuple[Hunk, ...] | None], *, is_compared: bool) -> FileChange:
    if each.note:
        return each
    key = each.old_path, each.path
    if not is_compared or key not in hunks:
        return replace(each, note="beyond_bound")
    found = hunks[key]
    if found is None:
        return replace(each, note="binary")
    is_mode = not found and each.status == "changed" and each.old_mode != each.new_mode
    return replace(each, hunks=found, note="mode" if is_mode else "")


def _raw_entries(output: bytes) -> Iterator[FileChange]:
    """Yields the entries that `--raw -z` lists before the patch."""
    words = iter(output.split(b"\0"))
    for head in words:
        if not head.startswith(b":"):
            return
        yield raw_entry(head, words)


def raw_entry(head: bytes, words: Iterator[bytes]) -> FileChange:
    """Returns the entry of `--raw -z` that begins with `head`; takes its paths from the `words` after it."""
    old_mode, new_mode, old_blob, new_blob, status = head[1:].decode("ascii").split(" ")
    old_path = path = next(words).decode("utf-8", "surrogateescape")
    if status[0] in "RC":
        path = next(words).decode("utf-8", "surrogateescape")
    modes = {mode[:2] for mode in (old_mode, new_mode) if mode != "000000"}
    note = "submodule" if "16" in modes else "symlink" if modes == {"12"} else ""
    return FileChange(
        path=path,
        old_path=old_path,
        status=_STATUSES.get(status[0], "changed"),
        similarity=int(status[1:] or 0) if status[0] == "R" else 0,
        old_mode="" if old_mode == "000000" else old_mode,
        new_mode="" if new_mode == "000000" else new_mode,
        old_blob="" if _NOTHING.fullmatch(old_blob) else old_blob,
        new_blob="" if _NOTHING.fullmatch(new_blob) else new_blob,
        note=note,
    )


def _patches(output: bytes) -> dict[tuple[str, str], tuple[Hunk, ...] | None]:
    """Returns the hunks of each file. The patch has the files in the order of the list before it."""
    # An empty word separates the list from the patch.
    raw, _, patch = output.partition(b"\0\0")
    entries = list(_raw_entries(raw + b"\0"))
    pieces = re.split(rb"^diff --git .*\n", patch, flags=re.MULTILINE)[1:]
    found: dict[tuple[str, str], tuple[Hunk, ...] | None] = {}
    at = 0
    for each in entries:
        # A file that became a link, or the reverse, has two patches: one removes the old, one adds the new.
        is_retyped = bool(each.old_mode and each.new_mode) and each.old_mode[:2] != each.new_mode[:2]
        mine = pieces[at : at + 1 + is_retyped]
        at += 1 + is_retyped
        is_binary = any(re.search(rb"^Binary files .* differ$", piece, re.MULTILINE) for piece in mine if b"\n@@ " not in piece)
        found[each.old_path, each.path] = None if is_binary else tuple(hunk for piece in mine for hunk in _hunks_of(piece))
    return found


def _hunks_of(patch: bytes) -> Iterator[Hunk]:
    for line in patch.split(b"\n"):
        match = HUNK.match(line)
        if match is not None:
            old, n_old, new, n_new = (None if value is None else int(value) for value in match.groups())
            assert old is not None
            assert new is not None
            yield Hunk(old, 1 if n_old is None else n_old, new, 1 if n_new is None else n_new)


def _contents(
    repository: GitRepository,
    files: Sequence[FileChange],
    max_bytes: int,
    is_cancelled: Callable[[], bool] | None,
    lacking: frozenset[str],
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Returns the contents of the files with known hunks, by object id, and warnings about missing ones.

    Secrets are not read, nor are objects that are known to be `lacking`.
    """
    wanted: dict[str, None] = {}
    for each in files:
        if each.note in ("", "mode") and not is_secret(each):
            wanted |= dict.fromkeys(blob for blob in (each.old_blob, each.new_blob) if blob and blob not in lacking)
    contents: dict[str, bytes] = {}
    n_bytes = n_missing = 0
    try:
        for blob in read_blobs(repository, list(wanted), max_bytes, is_cancelled=is_cancelled):
            if blob.content is not None:
                contents[blob.object_id] = blob.content
                n_bytes += len(blob.content)
            n_missing += blob.size < 0
            if n_bytes > MAX_CONTENT_BYTES:
                warning = f"definitions are compared in the first {MAX_CONTENT_BYTES // MIB} MiB of changed files. Pass path"
                return contents, (warning,)
    except GitError as error:
        return contents, (f"contents could not be read: {error}",)
    missing = f"{n_missing:,} contents are missing in this clone (shallow or partial), and nothing is fetched"
    return contents, (missing,) if n_missing else ()


def is_secret(each: FileChange) -> bool:
    """Whether a file's old or new name says that it holds a secret, so that its content must not be shown."""
    return any(builtin.is_secret(path.rpartition("/")[2]) for path in (each.path, each.old_path))
