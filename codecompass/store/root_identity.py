"""Whether the root of a workspace is still the directory that it was: not gone, not a link to elsewhere, not another one."""

import os
from pathlib import Path

from msgspec import Struct

from codecompass.errors import ProjectNotFound
from codecompass.store.identity import canonical_root

_REMEDY = "Restore it, or forget the projects whose directories are gone with: codecompass projects gc"


class RootIdentity(Struct, frozen=True):
    """Which directory it is, whatever it is called: its file system and its number there."""

    device: int
    inode: int


def identify_root(root: Path, previous: RootIdentity | None = None) -> RootIdentity:
    """Returns the identity of the directory at the canonical `root`. `previous` is what it was at an earlier time, if known.

    Raises ProjectNotFound where it is gone, where the path leads elsewhere now, and where something was unmounted: the
    directory is empty and lies on another file system than before. Without that an index would be emptied, to be built
    anew when the file system is back.
    """
    try:
        if canonical_root(root) != root:
            # Not where to: whoever asks need not be allowed to know what lies there.
            raise _lost(root, f"the directory {root} is a link to elsewhere now")
        status = os.stat(root, follow_symlinks=False)
        with os.scandir(root) as entries:
            is_empty = next(entries, None) is None
    except OSError as error:
        cause = "is gone" if isinstance(error, FileNotFoundError) else f"cannot be listed ({error.strerror})"
        if isinstance(error, NotADirectoryError):
            cause = "is no directory any more"
        raise _lost(root, f"the directory {root} {cause}") from error
    found = RootIdentity(status.st_dev, status.st_ino)
    if is_empty and previous is not None and previous.device != found.device:
        raise _lost(root, f"the directory {root} is empty, and the file system that was mounted there is gone")
    return found


def require_same_root(root: Path, identity: RootIdentity) -> None:
    """Raises ProjectNotFound where another directory is at `root` than was, or none."""
    if identify_root(root, identity) != identity:
        raise _lost(root, f"the directory {root} was moved or replaced while it was being indexed")


def _lost(root: Path, what: str) -> ProjectNotFound:
    return ProjectNotFound(f"{what}. {_REMEDY}. The index is unchanged.", workspace=str(root))
