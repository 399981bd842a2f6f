"""Finds files of a repository that make starting git unsafe: pipes and devices block it, huge files exhaust its memory."""

import os
from collections.abc import Iterator
from stat import S_ISBLK, S_ISCHR, S_ISFIFO
from typing import Final

from codecompass.scan.files import printable, read_regular_file
from codecompass.scan.git_config import MAX_CONFIG_BYTES, MAX_CONFIG_FILES, included_files, named_files
from codecompass.units import MIB

MAX_INDEX_BYTES: Final = 1024 * MIB
"""Size of the index of ten million files."""

_MAX_ENTRIES: Final = 10_000
_DIRECTORIES: Final = ("", "info", "objects/info", "reftable", "refs")
_SIZES: Final = {"config": MAX_CONFIG_BYTES, "config.worktree": MAX_CONFIG_BYTES, "index": MAX_INDEX_BYTES}


def unsafe_file(git_directory: str, common_directory: str, top: str) -> str | None:
    """Returns a sentence about the file that makes starting git on a repository unsafe, or None. Git runs at the `top`."""
    directories = tuple(dict.fromkeys((git_directory, common_directory)))
    for directory in directories:
        for path, size in _repository_files(directory):
            reason = _unsafe_reason(path, size)
            if reason is not None:
                return reason
    configurations = [os.path.join(directory, name) for directory in directories for name in ("config", "config.worktree")]
    return _unsafe_configuration(configurations, top)


def _repository_files(directory: str) -> Iterator[tuple[str, int | None]]:
    """Yields the entries of the directories in which git opens files, and the size limit of each."""
    for name in _DIRECTORIES:
        try:
            with os.scandir(os.path.join(directory, name)) as entries:
                for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
                    yield entry.path, None if name else _SIZES.get(entry.name)
        except (OSError, ValueError):
            continue


def _unsafe_configuration(pending: list[str], top: str) -> str | None:
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAX_CONFIG_FILES:
            return f"its configuration includes more than {MAX_CONFIG_FILES} files"
        reason = _unsafe_reason(path, MAX_CONFIG_BYTES)
        if reason is not None:
            return reason
        try:
            content = read_regular_file(path, MAX_CONFIG_BYTES, follows_link=True)
        except (OSError, ValueError):
            continue
        text = content.decode("utf-8", "surrogateescape")
        for named in named_files(text, top):
            reason = _unsafe_reason(named, MAX_CONFIG_BYTES)
            if reason is not None:
                return reason
        pending.extend(included_files(text, path))
    return None


def _unsafe_reason(path: str, max_bytes: int | None) -> str | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None  # git fails on it without waiting
    mode = status.st_mode
    if S_ISFIFO(mode) or S_ISCHR(mode) or S_ISBLK(mode):
        reason = "is not a regular file"
    elif max_bytes is not None and status.st_size > max_bytes:
        reason = f"is larger than {max_bytes // MIB} MiB"
    else:
        return None
    return f"{printable('/'.join(path.split('/')[-3:]))} {reason}"
