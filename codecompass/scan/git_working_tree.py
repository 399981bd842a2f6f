"""Makes a git tree of the working tree outside the repository, so that git can compare it like a commit.

Git's own comparison with the working tree may run filters that the repository configures. Here a file with the stamp that git's
index records has the content that the index names; every other file is read and hashed, and what differs from the base goes into
a temporary object directory and index. The repository itself is not changed.
"""

import hashlib
import os
import zlib
from collections.abc import Callable, Mapping
from stat import S_ISDIR, S_ISLNK, S_ISREG
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.scan import builtin
from codecompass.scan.files import open_below, read_descriptor
from codecompass.scan.git_conversions import Conversions, is_filtered
from codecompass.scan.git_objects import LINK, SUBMODULE, GitIndexEntry, ListedFile, read_index, read_tree
from codecompass.scan.git_repository import GitCancelled, GitRepository, read_head, run_git
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from codecompass.units import KIB, MIB

MAX_TAKEN_BYTES: Final = 64 * MIB
"""Total size of the changed files stored in the tree; further ones are listed without hunks."""

MAX_TAKEN_FILES: Final = 10_000

_READ_BYTES: Final = 256 * KIB


class OmittedFile(Struct, frozen=True):
    """A file that differs or may differ, and is not in the tree."""

    path: str
    reason: str
    """`too_large`, `secret`, `filtered` (git would run a program on it), `unreadable` or `beyond_bound`."""
    is_new: bool
    """Whether the base lacks the file."""


class WrittenTree(Struct, frozen=True, kw_only=True):
    """The tree that was made. `tree` is its object id, that of the base if nothing differs. Paths are relative to the top."""

    repository: GitRepository
    tree: str
    omitted: tuple[OmittedFile, ...] = ()


def write_working_tree(
    repository: GitRepository,
    root: str,
    base_tree: str,
    rules: ScanRules,
    scratch: str,
    *,
    is_cancelled: Callable[[], bool] | None = None,
) -> WrittenTree:
    """Returns a tree that holds the working tree below `root` and equals `base_tree` elsewhere.

    It has the tracked files and the untracked ones that the rules of the workspace include. `scratch` is an empty temporary
    directory, which must outlive the result.

    Raises GitError, GitCancelled, ScanCancelled, and OSError if the root cannot be listed.
    """
    os.mkdir(os.path.join(scratch, "objects"))
    ours = msgspec.structs.replace(repository, scratch=scratch)
    reader = _Reader(repository, root, base_tree, rules, scratch, is_cancelled)
    changed = reader.changed()
    if not changed:
        return WrittenTree(repository=ours, tree=base_tree, omitted=tuple(reader.omitted))
    run_git(ours, repository.top, "read-tree", base_tree, is_cancelled=is_cancelled)
    nothing = "0" * len(base_tree)
    # Removals first, because a file may have become a directory.
    rows = sorted(changed.items(), key=lambda item: item[1] is not None)
    written = b"".join(
        (f"{file.mode} {file.object_id} 0\t" if file is not None else f"0 {nothing} 0\t").encode()
        + path.encode("utf-8", "surrogateescape")
        + b"\0"
        for path, file in rows
    )
    run_git(ours, repository.top, "update-index", "-z", "--replace", "--index-info", standard_input=written)
    tree = run_git(ours, repository.top, "write-tree", "--missing-ok", is_cancelled=is_cancelled).decode("ascii").strip()
    return WrittenTree(repository=ours, tree=tree, omitted=tuple(reader.omitted))


class _Reader:
    """Finds what differs between a tree and the files below one directory."""

    def __init__(
        self,
        repository: GitRepository,
        root: str,
        base_tree: str,
        rules: ScanRules,
        scratch: str,
        is_cancelled: Callable[[], bool] | None,
    ) -> None:
        self._repository = repository
        self._root = root
        self._rules = rules
        self._scratch = scratch
        self._is_cancelled = is_cancelled
        self._algorithm = "sha256" if len(base_tree) == 64 else "sha1"
        self._prefix = "" if root == repository.top else os.path.relpath(root, repository.top) + "/"
        self._conversions = Conversions(repository)
        self._base = read_tree(repository, root, base_tree, is_cancelled=is_cancelled)
        self._stamps = read_index(repository, root, is_cancelled=is_cancelled)
        self._index = self._stamps.files
        self._directories: dict[str, bool] = {}
        self._free = MAX_TAKEN_BYTES
        self._n_taken = 0
        self.omitted: list[OmittedFile] = []

    def changed(self) -> dict[str, ListedFile | None]:
        """Returns the files that differ from the base in content or mode, by path; None for deleted ones."""
        found: dict[str, ListedFile | None] = {}
        unsure: list[str] = []
        for path, entry in self._index.items():
            known = self._known(path, entry)
            if isinstance(known, str):
                unsure.append(path)
            elif known != self._base.get(path):
                found[path] = known
        untracked = self._untracked()
        attributes = self._conversions.attributes([*unsure, *untracked])
        for path in unsure + untracked:
            if self._is_cancelled is not None and self._is_cancelled():
                raise GitCancelled
            read = self._read(path, attributes.get(path, {}))
            if read is not None and read != self._base.get(path):
                found[path] = read
        there = self._index.keys() | set(untracked) | {each.path for each in self.omitted}
        found |= dict.fromkeys(path for path in self._base if path not in there)
        return found

    def _known(self, path: str, entry: GitIndexEntry) -> ListedFile | str | None:
        """Returns what a tracked path holds by its stamp alone: None if the file is gone, `unsure` if it must be read."""
        if entry.is_taken_on_trust:
            return entry.listed
        if not self._is_below_directories(path):
            return None
        try:
            status = os.lstat(f"{self._repository.top}/{path}")
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            self.omitted.append(OmittedFile(path, "unreadable", is_new=False))
            return self._base.get(path)
        if entry.mode == SUBMODULE:
            commit = (
                read_head(f"{self._repository.top}/{path}", self._repository.roots).commit if S_ISDIR(status.st_mode) else None
            )
            is_own = commit is not None and os.path.lexists(f"{self._repository.top}/{path}/.git")
            return ListedFile(SUBMODULE, commit) if is_own and commit is not None else entry.listed
        if not (S_ISREG(status.st_mode) or S_ISLNK(status.st_mode)):
            return None
        if not self._stamps.has_stamp(entry, status):
            return "unsure"
        return ListedFile(self._mode(status, entry), entry.object_id)

    def _mode(self, status: os.stat_result, entry: GitIndexEntry | None) -> str:
        if S_ISLNK(status.st_mode):
            return LINK
        if not self._conversions.has_modes:
            return entry.mode if entry is not None and entry.mode.startswith("100") else "100644"
        return "100755" if status.st_mode & 0o100 else "100644"

    def _is_below_directories(self, path: str) -> bool:
        """Whether every ancestor of a path is a directory and not a link to one."""
        above = path.rpartition("/")[0]
        pending = []
        while above and above not in self._directories:
            pending.append(above)
            above = above.rpartition("/")[0]
        is_directory = self._directories.get(above, True)
        for directory in reversed(pending):
            if is_directory:
                try:
                    is_directory = S_ISDIR(os.lstat(f"{self._repository.top}/{directory}").st_mode)
                except OSError:
                    is_directory = False
            self._directories[directory] = is_directory
        return is_directory

    def _untracked(self) -> list[str]:
        """Returns the files that the rules of the workspace include and git's index does not have."""
        found = scan(self._root, self._rules, is_cancelled=self._is_cancelled)
        foreign = tuple(f"{self._prefix}{each}/" for each in found.repositories if each)
        links = [item.path for item in found.skipped if item.reason in ("symlink", "symlink_outside_root")]
        for item in found.skipped:
            path = self._prefix + item.path
            if item.reason in ("too_large", "secret") and path not in self._index and not path.startswith(foreign):
                self.omitted.append(OmittedFile(path, item.reason, is_new=path not in self._base))
        paths = (self._prefix + path for path in (*(file.path for file in found.files), *links))
        return sorted(path for path in paths if path not in self._index and not path.startswith(foreign))

    def _read(self, path: str, attributes: Mapping[str, str]) -> ListedFile | None:
        """Returns what a file holds, and stores it if the base has another content; None if it was added to `omitted`."""
        entry, before = self._index.get(path), self._base.get(path)

        def leave(reason: str) -> ListedFile | None:
            self.omitted.append(OmittedFile(path, reason, is_new=before is None))
            return None

        try:
            status = os.lstat(f"{self._repository.top}/{path}")
            mode = self._mode(status, entry)
            if S_ISLNK(status.st_mode):
                content = os.fsencode(os.readlink(f"{self._repository.top}/{path}"))
            elif builtin.is_secret(path.rpartition("/")[2]) and entry is None:
                return leave("secret")
            elif status.st_size > self._rules.max_file_bytes:
                return self._of_large(path, mode) or leave("too_large")
            elif self._n_taken >= MAX_TAKEN_FILES or status.st_size > self._free:
                return leave("beyond_bound")
            else:
                content = self._content(path)
        except OSError:
            return leave("unreadable")
        known = {file.object_id for file in (before, entry) if file is not None}
        object_id = self._object_id(content)
        if object_id not in known and mode != LINK:
            if is_filtered(attributes):
                return leave("filtered")
            plain = self._conversions.with_plain_line_ends(content, attributes, "" if entry is None else entry.object_id)
            if plain is not content:
                content, object_id = plain, self._object_id(plain)
        if before is None or before.object_id != object_id:
            self._free -= len(content)
            self._n_taken += 1
            self._store(object_id, content)
        return ListedFile(mode, object_id)

    def _of_large(self, path: str, mode: str) -> ListedFile | None:
        """Returns what a file too large to compare holds if git has that content, otherwise None."""
        known = {file.object_id for file in (self._base.get(path), self._index.get(path)) if file is not None}
        if not known:
            return None
        descriptor = open_below(self._repository.top, path)
        with open(descriptor, "rb", buffering=0) as file:
            digest = hashlib.new(self._algorithm, b"blob %d\0" % os.fstat(descriptor).st_size)
            while piece := file.read(_READ_BYTES):
                digest.update(piece)
        return ListedFile(mode, digest.hexdigest()) if digest.hexdigest() in known else None

    def _content(self, path: str) -> bytes:
        descriptor = open_below(self._repository.top, path)
        try:
            if not S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("not a regular file")
            content = read_descriptor(descriptor, self._rules.max_file_bytes + 1)
        finally:
            os.close(descriptor)
        if len(content) > self._rules.max_file_bytes:
            raise OSError("grew while it was read")
        return content

    def _object_id(self, content: bytes) -> str:
        return hashlib.new(self._algorithm, b"blob %d\0" % len(content) + content).hexdigest()

    def _store(self, object_id: str, content: bytes) -> None:
        directory = os.path.join(self._scratch, "objects", object_id[:2])
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, object_id[2:]), "wb") as file:
            file.write(zlib.compress(b"blob %d\0" % len(content) + content, 0))
