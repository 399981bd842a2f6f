"""Paths between the project, which names files from its root, and the user, who names them from where they stand."""

import os
from pathlib import Path

from codecompass.cli.terminal import printable, working_directory


def path_in_project(path: str, root: Path) -> str:
    """Returns the path relative to the project of a file named from here; one that is not here stays as it is."""
    here = working_directory()
    full = os.path.realpath(os.path.join(here or "/", os.path.expanduser(path)))
    if os.path.isabs(path) or os.path.exists(full):
        relative = os.path.relpath(full, root)
        if not relative.startswith("../"):
            return relative
    return path


def shown_path(root: Path, path: str) -> str:
    """Returns a path of the project as the user can open it from where they stand."""
    here = working_directory()
    full = os.path.join(root, path)
    if here is None:
        return printable(full)
    here = os.path.realpath(here)
    is_inside = here == str(root) or here.startswith(str(root).rstrip("/") + "/")
    return printable(os.path.relpath(full, here) if is_inside else full)
