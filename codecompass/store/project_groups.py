"""Groups of projects: names that a person gave to several, for questions about all of them. In the registry, shared by all
processes; a project that is removed leaves its groups, and a group without projects is gone.
"""

import difflib
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.store.registry import Project, Registry, check_alias

MAX_GROUPS: Final = 1_000
MAX_MEMBERS: Final = 1_000


class ProjectGroup(Struct, frozen=True):
    """A group and its projects, by root."""

    name: str
    projects: tuple[Project, ...]


def project_groups(registry: Registry) -> tuple[ProjectGroup, ...]:
    """Returns all groups by name."""
    members: dict[str, set[str]] = {}
    for name, project_id in registry.rows("SELECT name, project_id FROM project_groups ORDER BY name"):
        members.setdefault(name, set()).add(project_id)
    projects = registry.projects() if members else ()
    return tuple(
        ProjectGroup(name, tuple(project for project in projects if project.project_id in ids)) for name, ids in members.items()
    )


def set_project_group(registry: Registry, name: str, projects: Sequence[Project]) -> ProjectGroup:
    """Makes `name` the group of `projects`, which replace those it had, and returns it. They are kept from now on: a project that
    a server took up by itself counts as registered by a person.

    Raises InvalidInput for a name that is malformed or a project's, and for too many groups or projects.
    """
    check_alias(name)
    holder = registry.find(name)
    if holder is not None:
        raise _invalid(name, f"a group cannot be called {name!r}: the project at {holder.root} is. Choose another name.")
    if len(projects) > MAX_MEMBERS:
        raise _invalid(name, f"a group has at most {MAX_MEMBERS:,} projects, not {len(projects):,}. Make several groups.")
    with registry.transaction() as connection:
        (n_others,) = connection.execute("SELECT count(DISTINCT name) FROM project_groups WHERE name != ?", (name,)).fetchone()
        if n_others >= MAX_GROUPS:
            raise _invalid(name, f"there are {n_others:,} groups, and no more are kept. Remove one: codecompass projects ungroup")
        connection.execute("DELETE FROM project_groups WHERE name = ?", (name,))
        ids = sorted({project.project_id for project in projects})
        connection.executemany("INSERT INTO project_groups (name, project_id) VALUES (?, ?)", [(name, each) for each in ids])
        connection.executemany("UPDATE projects SET is_auto_discovered = 0 WHERE project_id = ?", [(each,) for each in ids])
    return require_project_group(registry, name)


def require_project_group(registry: Registry, name: str) -> ProjectGroup:
    """Returns a group. Raises ProjectNotFound."""
    groups = project_groups(registry)
    found = next((group for group in groups if group.name == name), None)
    if found is None:
        near = difflib.get_close_matches(name, [group.name for group in groups], n=1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        raise ProjectNotFound(
            f"no group is called {name!r}.{meant} List the known ones with: codecompass projects groups", project_id=name
        )
    return found


def remove_project_group(registry: Registry, name: str) -> None:
    """Removes a group; its projects stay. Raises ProjectNotFound."""
    require_project_group(registry, name)
    with registry.transaction() as connection:
        connection.execute("DELETE FROM project_groups WHERE name = ?", (name,))


def _invalid(name: str, message: str) -> InvalidInput:
    return InvalidInput(message, field="name", value=name)
