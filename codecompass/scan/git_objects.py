"""Reads what git stores, without a checkout and without the network: the files of a tree, those of the index with their stamps,
and contents of files.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from stat import S_ISLNK
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.scan.git_repository import GitError, GitRepository, run_git
from codecompass.units import MIB, NANOSECONDS_PER_SECOND

LINK: Final = "120000"
SUBMODULE: Final = "160000"
"""File modes as git writes them."""

_SKIP_WORKTREE: Final = 0x40000000
_ASSUME_UNCHANGED: Final = 0x8000
_INDEX_ENTRY: Final = lazy.pattern(
    rb"(\d{6}) ([0-9a-f]{40,64}) ([0-3])\t([^\0]*)\0"
    rb"  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)


class ListedFile(Struct, frozen=True):
    """A tree's entry. `object_id` is that of a blob, or of a submodule's commit."""

    mode: str
    object_id: str


class GitIndexEntry(Struct, frozen=True):
    """An entry of git's index, with the stamp of the file when git last read it. `stage` is 0 except in a conflict."""

    mode: str
    object_id: str
    stage: int
    mtime_ns: int
    inode: int
    size: int
    flags: int

    @property
    def listed(self) -> ListedFile:
        """The same file as an entry of a tree."""
        return ListedFile(self.mode, self.object_id)

    @property
    def is_taken_on_trust(self) -> bool:
        """Whether git was told not to check the file (skip-worktree or assume-unchanged), so that the index counts."""
        return bool(self.flags & (_SKIP_WORKTREE | _ASSUME_UNCHANGED)) and not self.stage


class GitIndex(Struct, frozen=True):
    """Git's index below a directory. `mtime_ns` is when it was written, 0 if unknown: then no stamp is proof of anything."""

    files: dict[str, GitIndexEntry]
    mtime_ns: int

    def has_stamp(self, entry: GitIndexEntry, status: os.stat_result) -> bool:
        """Whether a file with this status certainly has the entry's content. A file as recent as the index itself may have been
        written again since."""
        return (
            not entry.stage
            and entry.mtime_ns == status.st_mtime_ns
            and entry.size == status.st_size & 0xFFFFFFFF
            and entry.inode == status.st_ino & 0xFFFFFFFF
            and entry.mtime_ns < self.mtime_ns
            and (entry.mode == LINK) == S_ISLNK(status.st_mode)
        )


def read_tree(
    repository: GitRepository, directory: str, tree: str, *, is_cancelled: Callable[[], bool] | None = None
) -> dict[str, ListedFile]:
    """Returns the files of a tree below `directory` (absolute), by path relative to the top. Raises GitError, GitCancelled."""
    listing = ("ls-tree", "-r", "-z", "--full-name", tree)
    output = run_git(repository, directory, *listing, is_cancelled=is_cancelled)
    found = {}
    for line in output.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, object_id = head.decode("ascii").split(" ")
        found[path.decode("utf-8", "surrogateescape")] = ListedFile(mode, object_id)
    return found


def read_index(repository: GitRepository, directory: str, *, is_cancelled: Callable[[], bool] | None = None) -> GitIndex:
    """Returns the entries of the index below `directory` (absolute), by path relative to the top.

    Raises GitError, GitCancelled.
    """
    mtime_ns = 0
    with suppress(OSError):
        mtime_ns = os.stat(os.path.join(repository.git_directory, "index")).st_mtime_ns
    output = run_git(repository, directory, "ls-files", "-s", "-z", "--debug", "--full-name", is_cancelled=is_cancelled)
    found: dict[str, GitIndexEntry] = {}
    for mode, object_id, stage, path, seconds, nanoseconds, inode, size, flags in _INDEX_ENTRY.findall(output):
        found[path.decode("utf-8", "surrogateescape")] = GitIndexEntry(
            mode.decode(),
            object_id.decode(),
            int(stage),
            int(seconds) * NANOSECONDS_PER_SECOND + int(nanoseconds),
            int(inode),
            int(size),
            int(flags, 16),
        )
    return GitIndex(found, mtime_ns)


GROUP_BYTES: Final = 16 * MIB
"""Size of the content read by one git process; starting one takes 3 to 10 ms."""


class Blob(Struct, frozen=True):
    """A file's content in the object database."""

    object_id: str
    size: int
    """In bytes; -1 if the blob is missing, as in a shallow or partial clone."""
    content: bytes | None
    """None if the blob is missing or larger than requested."""


MAX_LISTED_BYTES: Final = 64 * MIB
"""Maximum size of a list of all objects of two trees: about 600,000 files."""


def read_blobs(
    repository: GitRepository,
    object_ids: Sequence[str],
    max_bytes: int,
    *,
    is_cancelled: Callable[[], bool] | None = None,
) -> Iterator[Blob]:
    """Yields the blobs of `object_ids` in order, with contents of at most `max_bytes` each, reading about GROUP_BYTES at a time.

    Raises:
        GitError: git is missing, failed or took too long, or an id is not that of a blob.
        GitCancelled: `is_cancelled` returned true.
    """
    if not object_ids:
        return
    requested = "".join(f"{each}\n" for each in object_ids).encode("ascii")
    listed = run_git(
        repository,
        repository.top,
        *("cat-file", "--batch-check=%(objecttype) %(objectsize)"),
        standard_input=requested,
        is_cancelled=is_cancelled,
    )
    sizes = [_size(line) for line in listed.decode("ascii", "replace").splitlines()]
    if len(sizes) != len(object_ids):
        raise GitError("git cat-file answered for a wrong number of objects")
    group: list[tuple[str, int]] = []
    n_bytes = 0
    for object_id, size in zip(object_ids, sizes, strict=True):
        group.append((object_id, size))
        n_bytes += size if 0 <= size <= max_bytes else 0
        if n_bytes >= GROUP_BYTES:
            yield from _read_group(repository, group, max_bytes, is_cancelled)
            group, n_bytes = [], 0
    yield from _read_group(repository, group, max_bytes, is_cancelled)


def missing_objects(
    repository: GitRepository, trees: Sequence[str], *, is_cancelled: Callable[[], bool] | None = None
) -> frozenset[str]:
    """Returns the objects of these trees that this clone lacks. Unlike `git cat-file`, which fails at the first object that a
    partial clone may not fetch. Raises GitError and GitCancelled."""
    listed = run_git(
        repository,
        repository.top,
        *("rev-list", "--objects", "--missing=print", *trees, "--"),
        is_cancelled=is_cancelled,
        max_output_bytes=MAX_LISTED_BYTES,
    )
    return frozenset(line[1:].decode("ascii", "replace") for line in listed.splitlines() if line.startswith(b"?"))


def _size(line: str) -> int:
    kind, _, size = line.partition(" ")
    if size == "missing":
        return -1
    if kind != "blob" or not size.isdecimal():
        raise GitError(f"git cat-file: not a file's content: {line}")
    return int(size)


def _read_group(
    repository: GitRepository,
    group: Sequence[tuple[str, int]],
    max_bytes: int,
    is_cancelled: Callable[[], bool] | None,
) -> Iterator[Blob]:
    wanted = [object_id for object_id, size in group if 0 <= size <= max_bytes]
    output = b""
    if wanted:
        output = run_git(
            repository,
            repository.top,
            *("cat-file", "--batch=%(objectsize)"),
            standard_input="".join(f"{each}\n" for each in wanted).encode("ascii"),
            is_cancelled=is_cancelled,
        )
    at = 0
    for object_id, size in group:
        if not 0 <= size <= max_bytes:
            yield Blob(object_id, size, None)
            continue
        first = output.find(b"\n", at) + 1
        if output[at : first - 1] != str(size).encode("ascii"):
            raise GitError(f"git cat-file: {object_id} changed while it was read")
        yield Blob(object_id, size, output[first : first + size])
        at = first + size + 1
