"""Finds the blob ids of unchanged files in git's index, without reading the files.

An id is returned only if git's recorded stamp equals the file's, is clearly older than the index file, and no filter applies.
Line ending conversion is possible, but changes the size: callers that compare sizes detect it.
Format: Documentation/gitformat-index.txt of git; versions 2 to 4.
"""

import hashlib
import os
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from codecompass.identity import ObjectFormat
from codecompass.scan.files import COARSE_RACY_NS, RACY_NS, read_descriptor
from codecompass.scan.git_conversions import MAX_ATTRIBUTES_BYTES, attribute_files, require_plain_attributes
from codecompass.scan.git_repository import (
    GitError,
    GitRepository,
    find_repository,
    object_format,
    repository_at,
    run_git,
)
from codecompass.scan.git_roots import ANYWHERE, GitRoots, open_inside, read_inside
from codecompass.scan.git_safety import MAX_INDEX_BYTES
from codecompass.units import NANOSECONDS_PER_SECOND

MAX_REPOSITORIES: Final = 50
"""Repositories whose indexes are read; the files of others are unknown."""

_FILTERS: Final = (b"filter", b"working-tree-encoding")
"""Attributes that let a file differ from its blob in content but not in size."""

_HEADER: Final = struct.Struct(">4sII")
_STAMP: Final = struct.Struct(">10I")
_SECONDS_MASK: Final = 0xFFFFFFFF
_REGULAR_MODES: Final = frozenset({0o100644, 0o100755})
_ASSUMED_VALID: Final = 0x8000
_IS_EXTENDED: Final = 0x4000
_STAGE: Final = 0x3000
_NAME_LENGTH: Final = 0x0FFF


class GitBlobs:
    """The entries of the git indexes of a workspace's repositories."""

    def __init__(self, parts: Sequence["tuple[str, str, _Entries]"] = ()) -> None:
        """Each of `parts` is a path prefix in the workspace, the prefix that replaces it in the repository, and the entries."""
        self._parts = sorted(parts, key=lambda part: -len(part[0]))

    def known(self, path: str, *, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> bytes:
        """Returns the blob id of the file with this stamp; empty if git's index does not prove it.

        If git converts line endings, the content is that of the blob only if the blob is `size` bytes long too.
        """
        for prefix, replaced, entries in self._parts:
            if path.startswith(prefix):
                name = os.fsencode(replaced + path[len(prefix) :])
                return entries.known(name, size=size, mtime_ns=mtime_ns, ctime_ns=ctime_ns, inode=inode)
        return b""


def read_git_blobs(
    root: str, repositories: Iterable[str] = ("",), roots: GitRoots = ANYWHERE, *, is_cancelled: Callable[[], bool] | None = None
) -> GitBlobs:
    """Returns the index entries of the workspace at `root`. `repositories` are their tops below it, '' for the one that holds it.

    Takes about 1 us a tracked file. The files of an index that cannot be read are unknown. Raises GitCancelled.
    """
    root = os.path.realpath(root)
    parts = []
    for _, top in zip(range(MAX_REPOSITORIES), repositories, strict=False):
        repository = repository_at(os.path.join(root, top), roots) if top else find_repository(root, roots)
        if repository is None:
            continue
        entries = _read_entries(repository, is_cancelled)
        if entries is not None:
            within = "" if top else os.path.relpath(root, repository.top)
            parts.append((f"{top}/" if top else "", "" if within in ("", ".") else f"{within}/", entries))
    return GitBlobs(parts)


class _Entries:
    """One index. `places` are the offsets of its entries by name, `filtered` the names of files with a filter."""

    def __init__(
        self, content: bytes, id_bytes: int, places: Mapping[bytes, int], filtered: frozenset[bytes], written_ns: int
    ) -> None:
        self._content = content
        self._id_bytes = id_bytes
        self._places = places
        self._filtered = filtered
        self._written_ns = written_ns

    def known(self, name: bytes, *, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> bytes:
        place = self._places.get(name)
        if place is None or name in self._filtered:
            return b""
        found = _STAMP.unpack_from(self._content, place)
        noted_ctime, noted_mtime, _, noted_inode, mode, _, _, noted_size = found[0:2], found[2:4], *found[4:]
        slack = RACY_NS if ctime_ns % NANOSECONDS_PER_SECOND else COARSE_RACY_NS
        if (
            noted_size != size & _SECONDS_MASK
            or noted_mtime != _split(mtime_ns)
            or noted_ctime != _split(ctime_ns)
            or noted_inode != inode & _SECONDS_MASK
            or mode not in _REGULAR_MODES
            # If written again within the same clock tick, the file could keep the stamp that git recorded.
            or max(mtime_ns, ctime_ns) + slack > self._written_ns
        ):
            return b""
        start = place + _STAMP.size
        return self._content[start : start + self._id_bytes]


def _split(time_ns: int) -> tuple[int, int]:
    seconds, nanoseconds = divmod(time_ns, NANOSECONDS_PER_SECOND)
    return seconds & _SECONDS_MASK, nanoseconds


def _read_entries(repository: GitRepository, is_cancelled: Callable[[], bool] | None) -> _Entries | None:
    path = os.path.join(repository.git_directory, "index")
    try:
        descriptor = open_inside(path, repository.roots)
        try:
            status = os.fstat(descriptor)
            content = read_descriptor(descriptor, MAX_INDEX_BYTES + 1)
        finally:
            os.close(descriptor)
    except OSError:
        return None
    form = object_format(repository)
    id_bytes = hashlib.new(form, usedforsecurity=False).digest_size
    places = parse_index(content, form)
    if places is None:
        return None
    try:
        filtered = _filtered(repository, places, is_cancelled)
    except GitError:
        return None
    return _Entries(content, id_bytes, places, filtered, status.st_mtime_ns)


def parse_index(content: bytes, form: ObjectFormat) -> dict[bytes, int] | None:
    """Returns the offset of each file's entry, without entries that are conflicted, skipped or assumed unchanged.

    None if `content` is not a complete index, or is one that keeps entries in another file.
    """
    try:
        magic, version, count = _HEADER.unpack_from(content)
        if magic != b"DIRC" or version not in (2, 3, 4) or count > len(content) // _STAMP.size or not _is_whole(content, form):
            return None
        id_bytes = hashlib.new(form, usedforsecurity=False).digest_size
        places, end = _places(content, version, count, _STAMP.size + id_bytes)
        return None if _is_split(content, end, len(content) - id_bytes) else places
    except (struct.error, ValueError, IndexError):
        return None


def _is_whole(content: bytes, form: ObjectFormat) -> bool:
    digest = hashlib.new(form, usedforsecurity=False)
    end = len(content) - digest.digest_size
    # All zeros if git was told not to compute it (`index.skipHash`).
    if end < _HEADER.size or not any(content[end:]):
        return end >= _HEADER.size
    digest.update(memoryview(content)[:end])
    return digest.digest() == content[end:]


def _places(content: bytes, version: int, count: int, flags_offset: int) -> tuple[dict[bytes, int], int]:
    places: dict[bytes, int] = {}
    at = _HEADER.size
    name = b""
    for _ in range(count):
        start = at + flags_offset
        flags = content[start] << 8 | content[start + 1]
        start += 2
        is_left_out = flags & (_ASSUMED_VALID | _STAGE)
        if flags & _IS_EXTENDED:
            # Extended flags: skip-worktree (sparse checkout) and intent-to-add.
            is_left_out |= content[start] << 8 | content[start + 1]
            start += 2
        if version == 4:
            n_dropped, start = _variable_length(content, start)
            end = content.index(b"\0", start)
            name = name[: len(name) - n_dropped] + content[start:end]
            following = end + 1
        else:
            length = flags & _NAME_LENGTH
            end = start + length if length < _NAME_LENGTH else content.index(b"\0", start)
            name = content[start:end]
            # One to eight NULs pad an entry to a multiple of eight bytes.
            following = at + ((end - at + 8) & ~7)
        if not is_left_out:
            places[name] = at
        at = following
    return places, at


def _variable_length(content: bytes, at: int) -> tuple[int, int]:
    """Decodes git's offset encoding (seven bits a byte, the highest first, each continuation adds one); returns value and end."""
    byte = content[at]
    value = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = content[at]
        value = ((value + 1) << 7) | (byte & 0x7F)
    return value, at + 1


def _is_split(content: bytes, at: int, end: int) -> bool:
    """Whether an extension says that entries are in a shared index file. Raises struct.error if an extension is damaged."""
    while at < end:
        name, size = struct.unpack_from(">4sI", content, at)
        if name == b"link" or at + 8 + size > end:
            return True
        at += 8 + size
    return False


def _filtered(repository: GitRepository, names: Mapping[bytes, int], is_cancelled: Callable[[], bool] | None) -> frozenset[bytes]:
    """Returns the names of files with a filter. Raises GitError."""
    configuration = run_git(repository, repository.top, "config", "-z", "--list", is_cancelled=is_cancelled)
    # One path of each directory is enough.
    paths = [f"{os.fsdecode(directory)}/" for directory in {os.path.dirname(name) for name in names}]
    if not any(_names_filters(path, roots) for path, roots in _attribute_files(repository, paths, configuration)):
        return frozenset()
    require_plain_attributes(repository, paths)
    requested = b"".join(name + b"\0" for name in names)
    attributes = [name.decode() for name in _FILTERS]
    answer = run_git(
        repository,
        repository.top,
        *("check-attr", "-z", "--stdin", *attributes),
        standard_input=requested,
        is_cancelled=is_cancelled,
    )
    fields = answer.split(b"\0")
    values = zip(fields[0::3], fields[2::3], strict=False)
    return frozenset(name for name, value in values if value not in (b"unspecified", b"unset"))


def _attribute_files(repository: GitRepository, paths: Iterable[str], configuration: bytes) -> Iterable[tuple[str, GitRoots]]:
    """Yields each file with the directories in which it has to lie; those of the user and the system lie where they are."""
    yield from ((os.path.join(repository.top, name), repository.roots) for name in attribute_files(paths))
    yield os.path.join(repository.common_directory, "info", "attributes"), repository.roots
    yield "/etc/gitattributes", ANYWHERE
    settings = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    yield os.path.join(settings, "git", "attributes"), ANYWHERE
    for entry in configuration.split(b"\0"):
        key, _, value = entry.partition(b"\n")
        if key.lower() == b"core.attributesfile":
            yield os.path.expanduser(os.fsdecode(value)), ANYWHERE


def _names_filters(path: str, roots: GitRoots) -> bool:
    """Whether an attributes file may name a filter; one that is too large or unreadable counts as naming one."""
    try:
        content = read_inside(path, MAX_ATTRIBUTES_BYTES + 1, roots)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True
    return len(content) > MAX_ATTRIBUTES_BYTES or any(name in content for name in _FILTERS)
