"""Reads contents of files from git's object database, without a checkout and without the network."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.scan.git_repository import GIT_DEADLINE_SECONDS, GitError, Repository, run_git
from codecompass.units import MIB

GROUP_BYTES: Final = 16 * MIB
"""Size of the content read by one git process; starting one takes 3 to 10 ms."""


class Blob(Struct, frozen=True):
    """A file's content in the object database."""

    object_id: str
    size: int
    """In bytes; -1 if the blob is missing, as in a shallow or partial clone."""
    content: bytes | None
    """None if the blob is missing or larger than requested."""


def read_blobs(
    repository: Repository,
    object_ids: Sequence[str],
    max_bytes: int,
    *,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float = GIT_DEADLINE_SECONDS,
) -> Iterator[Blob]:
    """Yields the blobs of `object_ids` in order, with contents of at most `max_bytes` each, reading about GROUP_BYTES at a time.

    Raises:
        GitError: git is missing, failed or took too long (`deadline_seconds` for each process), or an id is not that of a blob.
        GitCancelled: `is_cancelled` returned true.
    """
    if not object_ids:
        return
    asked = "".join(f"{each}\n" for each in object_ids).encode("ascii")
    listed = run_git(
        repository,
        repository.top,
        *("cat-file", "--batch-check=%(objecttype) %(objectsize)"),
        standard_input=asked,
        is_cancelled=is_cancelled,
        deadline_seconds=deadline_seconds,
    )
    sizes = [_size(line) for line in listed.decode("ascii", "replace").splitlines()]
    if len(sizes) != len(object_ids):
        raise GitError("git cat-file answered for another number of objects than it was asked for")
    group: list[tuple[str, int]] = []
    n_bytes = 0
    for object_id, size in zip(object_ids, sizes, strict=True):
        group.append((object_id, size))
        n_bytes += size if 0 <= size <= max_bytes else 0
        if n_bytes >= GROUP_BYTES:
            yield from _read_group(repository, group, max_bytes, is_cancelled, deadline_seconds)
            group, n_bytes = [], 0
    yield from _read_group(repository, group, max_bytes, is_cancelled, deadline_seconds)


def _size(line: str) -> int:
    kind, _, size = line.partition(" ")
    if size == "missing":
        return -1
    if kind != "blob" or not size.isdecimal():
        raise GitError(f"git cat-file: not a file's content: {line}")
    return int(size)


def _read_group(
    repository: Repository,
    group: Sequence[tuple[str, int]],
    max_bytes: int,
    is_cancelled: Callable[[], bool] | None,
    deadline_seconds: float,
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
            deadline_seconds=deadline_seconds,
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
