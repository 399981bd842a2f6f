"""What the file system says of a path that somebody named: where it really is, and which project it stands in. Blocking.

Nothing is looked at outside of the allowed roots: the real path is found first, and a path outside of them learns nothing
else, not even whether it exists.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.actors.blocking_calls import Call
from codecompass.scan.roots import git_root_between, marked_root

_TOP = Path("/")

_MAX_LINKS: Final = 40
"""So many links Linux follows in a path; behind more is a loop."""


class Place(Struct, frozen=True, kw_only=True):
    """A path that was looked at. `directory` is the path itself, or a file's directory; both are canonical.

    `git_root` is the innermost git work tree at or above it, `marked` the project that the markers name. Without
    `is_allowed` all the rest is as for a path that does not exist.
    """

    path: Path
    directory: Path
    is_allowed: bool = True
    exists: bool = False
    is_directory: bool = False
    git_root: Path | None = None
    marked: Path | None = None


def is_absolute(path: str) -> bool:
    """Returns whether `path` says the same wherever the server stands. Looks at nothing."""
    return path.startswith(("/", "~/")) or path == "~"


def is_within(path: Path, roots: Sequence[Path]) -> bool:
    """Returns whether the canonical `path` is one of `roots` or below one, by whole components. No roots allow all."""
    return not roots or any(path.is_relative_to(root) for root in roots)


def look(path: str, allowed: Sequence[Path], never: frozenset[Path], call: Call) -> Place:
    """Returns what there is to know of `path`, which may be relative or anything else that a client sends.

    Directories of `never` are no projects by their markers. Raises FileSystemUnresponsive where others wait in vain already.
    """
    try:
        # `~user` would ask the system who its users are; only the server's own home has a short name.
        real = _real_path(os.path.expanduser(path) if is_absolute(path) else path, call)
    except (ValueError, OSError):
        # Relative without a current directory, a NUL, characters that no file system can write: no path of this machine.
        return Place(path=_TOP, directory=_TOP, is_allowed=not allowed)
    if not is_within(real, allowed):
        return Place(path=real, directory=real, is_allowed=False)
    try:
        call.enter(str(real))
        # Asked once: what comes and goes between two looks would be neither a directory nor missing.
        is_directory = stat.S_ISDIR(os.stat(real).st_mode)
    except (ValueError, OSError):
        return Place(path=real, directory=real)
    directory = real if is_directory else real.parent
    # A file that is an allowed root itself must not open its directory.
    return Place(
        path=real,
        directory=directory,
        is_allowed=is_within(directory, allowed),
        exists=True,
        is_directory=is_directory,
        git_root=git_root_between(directory, _TOP),
        marked=marked_root(directory, never),
    )


def _real_path(path: str, call: Call) -> Path:
    """Returns the path without symbolic links, as `os.path.realpath` does, and says of each step where it is."""
    result = "/" if path.startswith("/") else os.getcwd()
    pending = path.split("/")[::-1]
    n_links = 0
    while pending:
        name = pending.pop()
        if name == "..":
            result = os.path.dirname(result)
        elif name not in ("", "."):
            step = os.path.join(result, name)
            call.enter(step)
            try:
                target = os.readlink(step)
            except OSError:  # no link, or not there, or not for us: what comes behind it is taken as it is written
                result = step
                continue
            n_links += 1
            if n_links > _MAX_LINKS:
                result = step
                continue
            if target.startswith("/"):
                result = "/"
            pending.extend(reversed(target.split("/")))
    return Path(result)


def owner(place: Place, registered: Path | None) -> Path | None:
    """Returns the root of the project that `place` belongs to, given the nearest registered root at or above it.

    A git work tree below that is a project of its own. None where nothing is registered. Looks at nothing.
    """
    if registered is None or place.git_root is None:
        return registered
    is_inside = place.git_root != registered and place.git_root.is_relative_to(registered)
    return place.git_root if is_inside else registered
