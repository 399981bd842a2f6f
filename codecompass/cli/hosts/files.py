"""Reads and replaces a host's configuration file as a whole, and keeps a backup of its original content beside it.

The host may write the same file at any time (Claude Code does so often), so the file is replaced only while it still holds the
content that the new one was derived from.
"""

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from codecompass.errors import FileUnreadable, PermissionDenied
from codecompass.scan.files import read_regular_file
from codecompass.units import MIB

MAX_BYTES: Final = 64 * MIB
"""A larger file is not a configuration. Claude Code keeps its history in the same file as its servers."""

BACKUP_SUFFIX: Final = ".before-codecompass"

PRIVATE: Final = 0o600
_SHARED: Final = 0o644


class Changed(Exception):
    """The file has changed since it was read."""


def read(path: Path) -> str | None:
    """Returns the file's text with its line endings unchanged; None if there is no file. Raises FileUnreadable."""
    try:
        content = read_regular_file(str(path), MAX_BYTES + 1, follows_link=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        problem = "not a regular file" if error.errno == errno.EINVAL else error.strerror
        raise FileUnreadable(f"{path}: {problem}. Correct that and run again.", path=str(path)) from error
    if len(content) > MAX_BYTES:
        raise FileUnreadable(f"{path} is larger than {MAX_BYTES // MIB} MiB and left alone.", path=str(path))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise FileUnreadable(f"{path} is not UTF-8 (byte {error.start}). Correct it and run again.", path=str(path)) from error


def replace(path: Path, before: str | None, after: str, *, is_shared: bool = False) -> tuple[Path, ...]:
    """Replaces the content of the file with `after`, atomically, and returns the directories created for it, outermost first.

    Symbolic links stay, and the file keeps its mode. A new file is readable by the user alone, unless `is_shared`.

    Raises Changed if the file does not hold `before`, PermissionDenied if it cannot be written.
    """
    target = Path(os.path.realpath(path))
    made = [parent for parent in reversed(target.parents) if not parent.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        new = _SHARED if is_shared else PRIVATE
        mode = new if before is None else stat.S_IMODE(target.stat().st_mode)
        if read(path) != before:
            raise Changed
        write_atomically(target, after, mode)
    except FileNotFoundError as error:
        raise Changed from error
    except OSError as error:
        raise _refused(path, error) from error
    return tuple(made)


def remove(path: Path, before: str, directories: Sequence[Path] = ()) -> None:
    """Removes the file (a symbolic link stays), then those of the directories that are empty, the last first.

    Raises Changed and PermissionDenied as `replace` does.
    """
    if read(path) != before:
        raise Changed
    try:
        Path(os.path.realpath(path)).unlink()
    except OSError as error:
        raise _refused(path, error) from error
    with contextlib.suppress(OSError):  # it contains something else by now
        for directory in reversed(directories):
            directory.rmdir()


def backup_path(path: Path) -> Path:
    """Returns the path of the backup, the content before the first change."""
    return path.with_name(path.name + BACKUP_SUFFIX)


def keep_backup(path: Path, text: str) -> bool:
    """Writes the backup, readable by the user alone, unless it exists. Returns whether it was written."""
    target = backup_path(path)
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode())
        os.link(name, target)  # unlike a rename, link() does not replace a file
    except FileExistsError:
        return False
    except OSError as error:
        raise _refused(target, error) from error
    finally:
        os.unlink(name)
    return True


def drop_backup(path: Path) -> None:
    """Removes the backup, if there is one."""
    try:
        backup_path(path).unlink(missing_ok=True)
    except OSError as error:
        raise _refused(backup_path(path), error) from error


def write_atomically(target: Path, text: str, mode: int = PRIVATE) -> None:
    """Replaces a file atomically: concurrent writers, readers and crashes leave one whole content. Raises OSError."""
    descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with open(descriptor, "wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        os.replace(name, target)
    except BaseException:
        os.unlink(name)
        raise


def _refused(path: Path, error: OSError) -> PermissionDenied:
    return PermissionDenied(
        f"{path} cannot be written: {error.strerror}. Correct that, or add the entry by hand; --print shows it.", path=str(path)
    )
