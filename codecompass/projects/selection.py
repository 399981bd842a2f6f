"""Which projects a question means that names several: registered ones, within the allowed roots; by name, id, name of the
directory, group, or all.
"""

import difflib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.projects.path_resolution import is_within
from codecompass.protocol.decode import may_be_elsewhere
from codecompass.protocol.requests import ALL_PROJECTS
from codecompass.store.registry import Project, Registry, project_groups

MAX_PROJECTS: Final = 1_000
"""Projects that one question may be about. More are refused by name, never left out in silence."""

SHOWN_NAMES: Final = 20
"""Known names that an error lists."""


class SelectedProject(Struct, frozen=True):
    """A project, and the label by which an answer names it: its alias, else the name of its directory where no other project has
    it, else its id. `is_named` says that the question names it by itself, and not as one of a group or of all."""

    project: Project
    label: str
    is_named: bool = False


class KnownProjects(Struct, frozen=True):
    """What the registry has: all projects by root, and the members of each group."""

    projects: tuple[Project, ...]
    groups: Mapping[str, tuple[Project, ...]]


def known_projects(registry: Registry) -> KnownProjects:
    """Reads the registry. Blocking."""
    return KnownProjects(registry.projects(), {group.name: group.projects for group in project_groups(registry)})


def labels(projects: Iterable[Project]) -> dict[str, str]:
    """Returns the label of each project by its id."""
    projects = tuple(projects)
    taken = Counter(project.root.name for project in projects)
    taken.update(project.alias for project in projects if project.alias is not None)
    return {
        project.project_id: project.alias or (project.root.name if taken[project.root.name] == 1 else "") or project.project_id
        for project in projects
    }


def select_projects(
    known: KnownProjects, names: Sequence[str], allowed: Sequence[Path], unknown: list[str] | None = None
) -> tuple[SelectedProject, ...]:
    """Returns the projects that `names` mean, each once: in the order of the names, those of a group and all by root.

    `allowed` are the roots that projects may lie in; none allow all. A project elsewhere is as good as unknown. Raises
    ProjectNotFound for a name that no project has, InvalidInput for more than MAX_PROJECTS. With `unknown`, such a name is put
    into it where it can be one elsewhere, and `*` may mean none.
    """
    visible = tuple(project for project in known.projects if is_within(project.root, allowed))
    named = labels(visible)
    groups = {
        name: tuple(project for project in members if is_within(project.root, allowed)) for name, members in known.groups.items()
    }
    chosen: dict[str, SelectedProject] = {}
    for name in names:
        together = visible if name == ALL_PROJECTS else groups.get(name, ())
        found = together or _one(name, visible, named)
        if not found and unknown is not None and (name == ALL_PROJECTS or may_be_elsewhere(name)):
            unknown += [] if name == ALL_PROJECTS else [name]
            continue
        if not found:
            raise _unknown(name, [*named.values(), *(each for each, members in groups.items() if members)])
        for project in found:
            chosen.setdefault(project.project_id, SelectedProject(project, named[project.project_id], is_named=not together))
    if len(chosen) > MAX_PROJECTS:
        raise InvalidInput(
            f"{len(chosen):,} projects are meant; a question may be about {MAX_PROJECTS:,}. Name fewer in workspace, or a group.",
            field="workspace",
            constraint=f"at most {MAX_PROJECTS} projects",
        )
    return tuple(chosen.values())


def _one(name: str, visible: Sequence[Project], named: Mapping[str, str]) -> tuple[Project, ...]:
    return tuple(project for project in visible if name in (project.project_id, named[project.project_id]))


def _unknown(name: str, known: Sequence[str]) -> ProjectNotFound:
    if not known:
        return ProjectNotFound("no project is registered here yet. Call index_repo with workspace, the path of a repository.")
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(sorted(known)[:SHOWN_NAMES]) + (", ..." if len(known) > SHOWN_NAMES else "")
    return ProjectNotFound(
        f"no project or group is called {name!r}.{meant} Known: {shown}. Pass one of them, or an absolute path.", project_id=name
    )
