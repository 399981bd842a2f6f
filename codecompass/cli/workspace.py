"""Which project a command works on.

    --workspace PATH or --project-id NAME
    > the registered project that the current directory lies in (a git repository inside it is one of its own)
    > the project that the current directory stands in by its markers
    > the current directory itself, unless it is empty, the user's home or the file system's root

The same rules as for the server (contract section 2), without what only a server is told.
"""

import os
from pathlib import Path

from msgspec import Struct

from codecompass.cli.terminal import GONE_DIRECTORY, working_directory
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.identity import ProjectId, canonical_root, project_id
from codecompass.scan.roots import enclosing_root, marked_root
from codecompass.store.registry import Project, Registry


class Choice(Struct, frozen=True):
    """The directory chosen and its project, None where it is not registered."""

    root: Path
    project: Project | None

    @property
    def project_id(self) -> ProjectId:
        """The id that the project has or would have."""
        return project_id(self.root)

    @property
    def name(self) -> str:
        """What people call the project."""
        return self.project_id if self.project is None else self.project.name


def choose(registry: Registry, *, workspace: str | None, name: str | None, may_be_empty: bool = False) -> Choice:
    """Returns the project meant by the options, or by the current directory. Registers nothing.

    `may_be_empty` takes a current directory without files too.

    Raises ProjectNotFound where there is none, InvalidInput where the two options disagree.
    """
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


def asked(registry: Registry, choice: Choice) -> Project:
    """Returns the project of a choice for a question, registered now if it was not.

    Raises ProjectNotFound where a question alone would take in a whole disk or home: that has to be asked for.
    """
    kind = _too_wide().get(choice.root) if choice.project is None else None
    if kind is not None:
        raise ProjectNotFound(
            f"{choice.root} is {kind}, and not indexed. Name a project in it, or if all of it is meant, run: "
            f"codecompass index {choice.root}",
            workspace=str(choice.root),
        )
    return registered(registry, choice)


def registered(registry: Registry, choice: Choice) -> Project:
    """Returns the project of a choice, registered now if it was not."""
    return registry.register(choice.root) if choice.project is None else choice.project


def _named(registry: Registry, workspace: str) -> Choice:
    path = canonical_root(os.path.expanduser(workspace))
    if not path.exists():
        raise ProjectNotFound(f"the directory {path} does not exist. Correct the path.", workspace=str(path))
    directory = path if path.is_dir() else path.parent
    return _known(registry, directory) or Choice(directory, registry.at(directory))


def _here(registry: Registry, may_be_empty: bool) -> Choice:
    here = working_directory()
    if here is None:
        raise ProjectNotFound(GONE_DIRECTORY)
    directory = canonical_root(here)
    known = _known(registry, directory)
    if known is not None:
        return known
    never = frozenset(_too_wide())
    marked = marked_root(directory, never)
    if marked is not None:
        return Choice(marked, registry.at(marked))
    if directory in never or not (may_be_empty or any(directory.iterdir())):
        kind = _too_wide().get(directory, "empty")
        raise ProjectNotFound(
            f"there is no project here: {directory} is {kind}. Change into one, or pass --workspace PATH.",
            workspace=str(directory),
        )
    return Choice(directory, None)


def _too_wide() -> dict[Path, str]:
    """Directories that are no project unless somebody says so, and what each is."""
    return {canonical_root(os.path.expanduser("~")): "your home directory", Path("/"): "the root of the disk"}


def _known(registry: Registry, directory: Path) -> Choice | None:
    nearest = registry.containing(directory)
    root = enclosing_root(directory, None if nearest is None else nearest.root)
    if root is None:
        return None
    return Choice(root, nearest if nearest is not None and nearest.root == root else registry.at(root))
