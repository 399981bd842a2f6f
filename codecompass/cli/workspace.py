"""Which project a command works on.

    --workspace PATH or --project-id NAME
    > the registered project that the current directory is in (a git repository nested in it is a project of its own)
    > the project around the current directory, recognised by its markers
    > the current directory itself, unless it is empty, the user's home or the file system's root

`projects/detection.py` defines the rule for commands and servers alike.
"""

import os
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

from codecompass.cli.invocation import GlobalOptions
from codecompass.cli.terminal import GONE_DIRECTORY, working_directory
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.identity import ProjectId, canonical_root, project_id
from codecompass.projects.detection import never_projects, project_root
from codecompass.scan.roots import git_root_between, marked_root
from codecompass.store.registry import Project, Registry


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
        """The alias of the project, else its id."""
        return self.project_id if self.project is None else self.project.name


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


def project_for_question(registry: Registry, choice: Choice) -> Project:
    """Returns the project of a choice for a question, registering it if necessary.

    Raises ProjectNotFound for a whole disk or home directory: only `codecompass index` indexes one.
    """
    kind = never_projects().get(choice.root) if choice.project is None else None
    if kind is not None:
        raise ProjectNotFound(
            f"{choice.root} is {kind}, and not indexed. Name a project in it, or if all of it is meant, run: "
            f"codecompass index {choice.root}",
            workspace=str(choice.root),
        )
    return ensure_registered(registry, choice)


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
            f"there is no project here: {directory} is {kind}. Change into one, or pass --workspace PATH.",
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
