"""The errors of requests whose project cannot be used, each with what to do next.

A refusal repeats what was asked and reveals nothing that was found: neither where a link leads, nor whether anything exists
outside of the allowed roots.
"""

from pathlib import Path
from typing import Final

from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound, WorkspaceNotAllowed, WorkspaceNotRegistered
from codecompass.projects.detection import PROJECT_VARIABLES
from codecompass.protocol.decode import well_formed

SHOWN_PATH_LENGTH: Final = 200
"""Characters of a refused path that an error repeats."""


def shown(path: str) -> str:
    """Returns a path for an error message: well-formed Unicode, cut to SHOWN_PATH_LENGTH."""
    text = well_formed(path)
    return text if len(text) <= SHOWN_PATH_LENGTH else text[:SHOWN_PATH_LENGTH] + "…"


def not_allowed(path: str) -> WorkspaceNotAllowed:
    """Returns the error for a path outside of the allowed roots."""
    return WorkspaceNotAllowed(
        f"{shown(path)} is outside of the allowed roots of this server. Use a workspace within them, or start the server "
        "with another --allowed-root.",
        workspace=shown(path),
    )


def no_project_path(path: str) -> InvalidInput:
    """Returns the error for a broken `?project_path=`. Clients rely on the wording."""
    return InvalidInput(f"Project path does not exist: {shown(path)}", field="project_path", value=shown(path))


def missing(source: str, path: str, real: Path) -> CodeCompassError:
    """Returns the error for a path that does not exist. `source` named it; `real` is the path without links."""
    if source in PROJECT_VARIABLES:
        return ProjectNotFound(
            f"{source} is set to {shown(path)}, which does not exist. Correct it, or pass workspace.", workspace=shown(path)
        )
    if source in ("--workspace", "project_id", "active project"):
        return gone("the workspace of this server", real)
    return WorkspaceNotRegistered(
        f"{shown(path)} does not exist. Correct the path; it is best given as an absolute one.", workspace=shown(path)
    )


def gone(what: str, root: Path) -> ProjectNotFound:
    """Returns the error for a directory that existed when it was registered or pinned."""
    return ProjectNotFound(
        f"the directory of {what} is gone, or is a link to elsewhere now: {root}. Restore it, or pass another workspace; "
        "to have it forgotten, on the command line: codecompass projects gc",
        workspace=str(root),
    )


def not_registered(root: Path, *, is_named: bool, is_project: bool) -> WorkspaceNotRegistered:
    """Returns the error for a project that this server does not register automatically; the same on every transport.

    `is_named`: an argument named it. `is_project` is False for a home directory and the root of the disk.
    """
    if not is_project:
        remedy = "It is a home directory or the whole disk: pass the directory of one project as workspace."
    else:
        remedy = f'Call index_repo with workspace: "{root}" (over stdio), or pass a workspace that health_check lists.'
    if is_named:
        message = f"{root} is not registered. {remedy}"
        if is_project:
            message += (
                f" Who runs this server can register it (codecompass index {root}), or start the server with --auto-workspace "
                "and an --allowed-root that holds it."
            )
    else:
        # Clients rely on the first two sentences; the remedy is for those without a shell.
        message = f"Project detected at {root} but not indexed. Run codecompass index {root} first. {remedy}"
    return WorkspaceNotRegistered(message, workspace=str(root))
