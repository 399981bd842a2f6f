"""Which project a request or command means: the rule that the server, the bridge and the command line share.

The sources that name the project, the strongest first, and who uses them (S server, B bridge, C command line):

    arguments of the request or command          S C
    --workspace of the process, which pins it    S B    only ?project_path= is stronger; nothing below counts
    client roots                                 S
    ?project_path=                               S
    CODECOMPASS_PROJECT, CLAUDE_PROJECT_DIR      S B
    active project of a peer server              S
    current directory                            S B C  over HTTP only with --project-from-cwd
    default project                              S

The root of the project that a named directory belongs to, the first that applies:

    the nearest registered root at or above it; a git work tree inside of that root is a separate project
    the root that its markers give, for sources that say only where somebody works: client roots, CLAUDE_PROJECT_DIR, current
        directory
    the directory itself; a current directory only if the user says so, and never the root of the disk or a home directory
"""

import os
from pathlib import Path
from typing import Final, Literal, get_args

from codecompass.identity import canonical_root

VariableName = Literal["CODECOMPASS_PROJECT", "CLAUDE_PROJECT_DIR"]

PROJECT_VARIABLES: Final[tuple[VariableName, ...]] = get_args(VariableName)
"""Environment variables that name the project, the strongest first. Claude Code sets the second for every server."""

SourceName = Literal[
    "workspace",
    "project_id",
    "project_path",
    "--workspace",
    "client roots",
    "CODECOMPASS_PROJECT",
    "CLAUDE_PROJECT_DIR",
    "active project",
    "current directory",
    "default project",
]

WORKING_PLACES: Final[frozenset[SourceName]] = frozenset({"client roots", "CLAUDE_PROJECT_DIR", "current directory"})
"""Sources that say where somebody works, not which project they want: markers at or above the directory count."""

DISK_ROOT: Final = Path("/")


def never_projects() -> dict[Path, str]:
    """Returns the canonical directories that are a project only if somebody registered them, each with a description."""
    return {canonical_root(os.path.expanduser("~")): "your home directory", DISK_ROOT: "the root of the disk"}


def project_root(*, registered: Path | None, git_root: Path | None, marked: Path | None = None) -> Path | None:
    """Returns the root of the project that a directory belongs to; None if only the directory itself remains. Pure.

    `registered` is the nearest registered root at or above the directory, `git_root` the innermost git work tree, `marked` the
    root that its markers give (None if they do not count). All are canonical.
    """
    if registered is None:
        return marked
    is_inside = git_root is not None and git_root != registered and git_root.is_relative_to(registered)
    return git_root if is_inside else registered
