"""Whether git can be started on a repository without waiting for ever for one of its files.

Git opens what it finds under the names of its own files: on a FIFO it waits for a writer that never comes, and of a device it
may read without end. A clone never holds such a thing, an unpacked archive can. What is looked at here is what `ls-files`,
`rev-parse` and `symbolic-ref` open, and the files that its configuration includes; nothing is opened but regular files.
"""

import os
import re
from collections.abc import Iterator
from stat import S_ISBLK, S_ISCHR, S_ISFIFO
from typing import Final

from codecompass.store.scan.regular_file import read_regular_file
from codecompass.units import MIB

MAX_CONFIG_BYTES: Final = 1 * MIB
"""A `config` beyond this was not written by git."""

MAX_INDEX_BYTES: Final = 1024 * MIB
"""Ten million files have an index of this size."""

MAX_CONFIG_FILES: Final = 20
"""Files that one configuration may include, directly or through others."""

_MAX_ENTRIES: Final = 10_000
_DIRECTORIES: Final = ("", "info", "objects/info", "reftable", "refs")
_SIZES: Final = {"config": MAX_CONFIG_BYTES, "config.worktree": MAX_CONFIG_BYTES, "index": MAX_INDEX_BYTES}
_INCLUDED: Final = re.compile(r"^[ \t]*path[ \t]*=[ \t]*\"?([^\n\"]*)", re.MULTILINE | re.IGNORECASE)


def unsafe_file(git_directory: str, common_directory: str) -> str | None:
    """Returns what about the files of a repository forbids to start git on it, in words; None where nothing does."""
    directories = tuple(dict.fromkeys((git_directory, common_directory)))
    for directory in directories:
        for path, size in _own_files(directory):
            trouble = _trouble(path, size)
            if trouble is not None:
                return trouble
    return _unsafe_inclusion(
        [os.path.join(directory, name) for directory in directories for name in ("config", "config.worktree")]
    )


def _own_files(directory: str) -> Iterator[tuple[str, int | None]]:
    """Yields the files next to each other in the directories that git opens files of, and how large each may be."""
    for name in _DIRECTORIES:
        place = os.path.join(directory, name)
        try:
            with os.scandir(place) as entries:
                for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
                    yield entry.path, None if name else _SIZES.get(entry.name)
        except (OSError, ValueError):
            continue


def _unsafe_inclusion(pending: list[str]) -> str | None:
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAX_CONFIG_FILES:
            return f"its configuration includes more than {MAX_CONFIG_FILES} files"
        trouble = _trouble(path, MAX_CONFIG_BYTES)
        if trouble is not None:
            return trouble
        try:
            content = read_regular_file(path, MAX_CONFIG_BYTES, follows_link=True)
        except (OSError, ValueError):
            continue
        # Any `path` of any section: one too many is only looked at.
        for written in _INCLUDED.findall(content.decode("utf-8", "surrogateescape")):
            included = os.path.expanduser(written.strip())
            if included:
                pending.append(os.path.join(os.path.dirname(path), included))
    return None


def _trouble(path: str, max_bytes: int | None) -> str | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None  # git will say what is wrong with it, without waiting
    mode = status.st_mode
    if S_ISFIFO(mode) or S_ISCHR(mode) or S_ISBLK(mode):
        return f"{_shown(path)} is no regular file"
    if max_bytes is not None and status.st_size > max_bytes:
        return f"{_shown(path)} is larger than {max_bytes // MIB} MiB"
    return None


def _shown(path: str) -> str:
    name = "/".join(path.split("/")[-3:])
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
