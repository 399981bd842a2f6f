"""Which projects a question about several means: registered ones within the allowed roots, by label, id, group or `*`."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.projects.path_resolution import is_within
from codecompass.protocol.decode import may_be_elsewhere
from codecompass.protocol.requests import ALL_PROJECTS
from codecompass.store.project_names import normalised_name
from codecompass.store.registry import Project, Registry, project_groups

MAX_PROJECTS: Final = 1_000
"""Projects that one question may be about. More are refused, never left out silently."""

SHOWN_NAMES: Final = 20
"""Known names that an error lists."""


class SelectedProject(Struct, frozen=True):
    """A project, and its label in answers: its name. `is_named`: the
    question names it individually, not as part of a group or of all."""

    project: Project
    label: str
    is_named: bool = False


class KnownProjects(Struct, frozen=True):
    """The contents of the registry: all projects ordered by root, and the members of each group."""

    projects: tuple[Project, ...]
    groups: Mapping[str, tuple[Project, ...]]


def known_projects(registry: Registry) -> KnownProjects:
    """Reads all projects and groups from the registry. Blocking."""
    return KnownProjects(registry.projects(), {group.name: group.projects for group in project_groups(registry)})


def labels(projects: Iterable[Project]) -> dict[str, str]:
    """Returns the label of each project, its name, by project id."""
    return {project.project_id: project.name for project in projects}


def select_projects(
    known: KnownProjects, names: Sequence[str], allowed: Sequence[Path], unknown: list[str] | None = None
) -> tuple[SelectedProject, ...]:
    """Returns the projects that `names` mean, each once: in the order of the names; those of a group or of `*` by root.

    `allowed` are the roots within which projects may lie (empty: anywhere); projects elsewhere count as unknown. Raises
    ProjectNotFound for an unknown name, InvalidInput for more than MAX_PROJECTS. With `unknown`, an unknown name that may be one
    elsewhere is appended to it instead, and `*` may mean none.
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
    wanted = (name, normalised_name(name))
    found = [project for project in visible if project.project_id == name or named[project.project_id] in wanted]
    return tuple(found[:1])


def _unknown(name: str, known: Sequence[str]) -> ProjectNotFound:
    if not known:
        return ProjectNotFound("no project is registered here yet. Call index_repo with workspace, the path of a repository.")
    near = difflib.get_close_matches(name, known, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(sorted(known)[:SHOWN_NAMES]) + (", ..." if len(known) > SHOWN_NAMES else "")
    return ProjectNotFound(
        f"no project or group is called {name!r}.{meant} Known: {shown}. Pass one of them, or an absolute path.", project_id=name
    )
