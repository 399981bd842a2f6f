"""Which project a command works on.

    --workspace PATH or --project-id NAME
    > the registered project that the current directory is in (a git repository nested in it is a project of its own)
    > the project around the current directory, recognised by its markers
    > the current directory itself, unless it is empty, the user's home, the file system's root or a directory of the system

`projects/detection.py` defines the rule for commands and servers alike.
"""

import os
import shlex
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.cli.terminal import GONE_DIRECTORY, printable, working_directory
from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound, StoreRefused
from codecompass.identity import ProjectId, canonical_root, project_id
from codecompass.projects.detection import never_projects, project_root
from codecompass.scan.roots import git_root_between, marked_root
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import is_locked
from codecompass.store.project_names import NAMELESS, normalised_name
from codecompass.store.registry import Project, Registry, assumed_project, schema_name

if TYPE_CHECKING:
    from codecompass.projects.unmarked import Doubt


class Choice(Struct, frozen=True):
    """The root that a command works on, and its project, None if it is not registered."""

    root: Path
    project: Project | None

    @property
    def project_id(self) -> ProjectId:
        """The id that the project has or would have."""
        return project_id(self.root)

    @property
    def name(self) -> str:
        """The name of the project; the one that it would probably get if it is not registered."""
        return normalised_name(self.root.name) or NAMELESS if self.project is None else self.project.name

    @property
    def schema_name(self) -> str:
        """The name reported for the project's store."""
        return schema_name(self.name)


def choose(registry: Registry, options: GlobalOptions, *, may_be_empty: bool = False) -> Choice:
    """Returns the project that the options name, else that of the current directory. Registers nothing.

    `may_be_empty` accepts an empty current directory too.

    Raises ProjectNotFound if there is none, InvalidInput if the two options name different projects.
    """
    workspace, name = options.workspace, options.project_id
    if name is not None:
        project = registry.require(name)
        if not project.root.is_dir():
            raise ProjectNotFound(
                f"the directory {project.root} of project {project.name} is gone. Clean up with: codecompass projects gc",
                project_id=project.project_id,
            )
        if workspace is not None and _named(registry, workspace).root != project.root:
            raise InvalidInput(
                f"--workspace {workspace} and --project-id {name} mean different projects. Give one of them.",
                field="workspace",
                value=workspace,
            )
        return Choice(project.root, project)
    return _here(registry, may_be_empty) if workspace is None else _named(registry, workspace)


def choose_named(registry: Registry, named: str) -> Choice:
    """Returns the project with this name or id, else that of the directory at this path. Raises ProjectNotFound."""
    project = registry.find(named)
    if project is not None:
        return Choice(project.root, project)
    if os.path.exists(os.path.expanduser(named)):
        return _named(registry, named)
    project = registry.require(named)
    return Choice(project.root, project)


def project_for_question(invocation: Invocation, registry: Registry, choice: Choice, *, may_assume: bool = False) -> Project:
    """Returns the project of a choice for a question, registering it if necessary; with `may_assume` an assumed entry if that
    cannot be written.

    A directory that is probably not meant (see `doubt_about`) is registered only once the user has agreed, on a terminal. Raises
    ProjectNotFound if they do not or cannot be asked, and for a whole disk, home or system directory: only `codecompass index`
    indexes one.
    """
    if choice.project is not None:
        return choice.project
    root = choice.root
    kind = never_projects().get(root)
    if kind is not None:
        raise _not_indexed(root, f"it is {kind}")
    from codecompass.projects.unmarked import doubt_about

    roots = (project.root for project in registry.projects())
    doubt = doubt_about(root, roots, invocation.settings.index.max_unmarked_files)
    if doubt is not None and not _agrees(invocation, doubt):
        raise _not_indexed(root, f"it {doubt.reason}")
    try:
        return registry.register(root)
    except StoreRefused:
        if not may_assume:
            raise
        # Its files are there to be asked; making the index tells why there is none.
        return assumed_project(root, auto_discovered=False)


@contextmanager
def forgotten_if_unfinished(invocation: Invocation, registry: Registry, choice: Choice) -> Iterator[None]:
    """Removes the registration that the block makes of a project unknown before, if the block fails or is interrupted before the
    first index is complete. What is published of the index stays on disk, where the next one goes on; nothing else does.

    Does nothing while another process makes the index.
    """
    try:
        yield
    except BaseException:
        layout = invocation.home.project(choice.project_id)
        if choice.project is None and not is_locked(layout) and not is_complete(layout, choice.project_id):
            # The error or interrupt that ended the block is the one to report.
            with suppress(CodeCompassError):
                if not layout.current.exists():
                    from codecompass.store.housekeeping import remove_project

                    remove_project(layout)
                registry.remove(choice.project_id)
        raise


def is_complete(layout: ProjectLayout, project: ProjectId) -> bool:
    """Returns whether a project has an index that was once finished."""
    index = WorkspaceIndex(layout, project)
    try:
        with index.snapshot() as snapshot:
            return snapshot.meta.completeness == "complete"
    except CodeCompassError:
        return False
    finally:
        index.close()


def _not_indexed(root: Path, reason: str) -> ProjectNotFound:
    return ProjectNotFound(
        f"{root} is not indexed: {reason}. Change into one project in it, or name that with --workspace PATH; if all of it is "
        f"meant, run: codecompass index {shlex.quote(str(root))}",
        workspace=str(root),
    )


def _agrees(invocation: Invocation, doubt: "Doubt") -> bool:
    """Asks the user whether to index the directory all the same. False without a terminal to ask on."""
    terminal = invocation.terminal
    if invocation.options.as_json or not (sys.stdin.isatty() and terminal.err.isatty()):
        return False
    terminal.note(f"{printable(str(doubt.root))} {doubt.reason}.")
    terminal.draw("Index all of it? [y/N] ")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def ensure_registered(registry: Registry, choice: Choice) -> Project:
    """Returns the project of a choice, registering it if necessary."""
    return registry.register(choice.root) if choice.project is None else choice.project


def _named(registry: Registry, workspace: str) -> Choice:
    path = canonical_root(os.path.expanduser(workspace))
    if not path.exists():
        raise ProjectNotFound(f"the directory {path} does not exist. Correct the path.", workspace=str(path))
    directory = path if path.is_dir() else path.parent
    return _around(registry, directory) or Choice(directory, registry.at(directory))


def _here(registry: Registry, may_be_empty: bool) -> Choice:
    here = working_directory()
    if here is None:
        raise ProjectNotFound(GONE_DIRECTORY)
    directory, never = canonical_root(here), never_projects()
    choice = _around(registry, directory, never)
    if choice is not None:
        return choice
    if directory in never or not (may_be_empty or any(directory.iterdir())):
        kind = never.get(directory, "empty")
        raise ProjectNotFound(
            f"there is no project here: {directory} is {kind}. Change into one, or pass --workspace PATH."
            + (f" If all of it is meant, run: codecompass index {shlex.quote(str(directory))}" if directory in never else ""),
            workspace=str(directory),
        )
    return Choice(directory, None)


def _around(registry: Registry, directory: Path, never: Collection[Path] | None = None) -> Choice | None:
    """Returns the project that a directory belongs to, None if there is none. Considers markers only if `never` is given."""
    nearest = registry.containing(directory)
    root = project_root(
        registered=None if nearest is None else nearest.root,
        git_root=None if nearest is None else git_root_between(directory, nearest.root),
        marked=None if nearest is not None or never is None else marked_root(directory, frozenset(never)),
    )
    if root is None:
        return None
    return Choice(root, nearest if nearest is not None and nearest.root == root else registry.at(root))
