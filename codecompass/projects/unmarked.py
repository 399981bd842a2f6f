"""Whether a question alone may make a directory a project: one without a project's marker that is large, a place of the system, a
mount point or a parent of projects is rarely what somebody who asks in it means.

Whoever orders the directory to be indexed by its name is never asked.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.scan.builtin import ALWAYS, UNLESS_TRACKED, is_hidden
from codecompass.scan.roots import is_marked

ENTRIES_PER_FILE: Final = 20
"""How many entries are read for each file that may be there: a tree of empty directories is large too."""


class Doubt(Struct, frozen=True):
    """Why a question alone does not make the directory `root` a project; `reason` continues "ROOT is not indexed: it ..."."""

    root: Path
    reason: str


def doubt_about(root: Path, registered: Iterable[Path], max_files: int) -> Doubt | None:
    """Returns why the canonical `root`, which is not registered, is no project for a question; None if it is one.

    `registered` are the roots of all projects; `max_files` is how many files a directory without a marker may hold. Reads the
    directory until it holds more than that. Blocking.
    """
    if is_marked(root):
        return None
    n_inside = sum(root in other.parents for other in registered)
    if n_inside:
        return Doubt(root, f"holds {n_inside:,} registered {'project' if n_inside == 1 else 'projects'}")
    if os.path.ismount(root):
        return Doubt(root, "has no project marker such as .git, and is a mount point")
    if _holds_more_files(root, max_files):
        return Doubt(root, f"has no project marker such as .git, and more than {max_files:,} files")
    return None


def _holds_more_files(root: Path, max_files: int) -> bool:
    """Whether more than `max_files` files are below `root`, without hidden, generated and installed ones."""
    n_files = n_entries = 0
    pending = [os.fspath(root)]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    n_entries += 1
                    if n_entries > max(1_000, max_files * ENTRIES_PER_FILE):
                        return True
                    if is_hidden(entry.name):
                        continue
                    if not entry.is_dir(follow_symlinks=False):
                        n_files += entry.is_file(follow_symlinks=False)
                    elif entry.name not in ALWAYS and entry.name not in UNLESS_TRACKED:
                        pending.append(entry.path)
                    if n_files > max_files:
                        return True
        except OSError:
            continue
    return False
