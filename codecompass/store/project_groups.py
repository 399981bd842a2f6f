"""Groups of projects in the registry: names that a person gave to several projects, to ask questions about all of them.

Removing a project removes it from its groups; a group without projects does not exist.
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
    """A group and its projects, sorted by root."""

    name: str
    projects: tuple[Project, ...]


def project_groups(registry: Registry) -> tuple[ProjectGroup, ...]:
    """Returns all groups, sorted by name."""
    members: dict[str, set[str]] = {}
    for name, project_id in registry.rows("SELECT name, project_id FROM project_groups ORDER BY name"):
        members.setdefault(name, set()).add(project_id)
    projects = registry.projects() if members else ()
    return tuple(
        ProjectGroup(name, tuple(project for project in projects if project.project_id in ids)) for name, ids in members.items()
    )


def set_project_group(registry: Registry, name: str, projects: Sequence[Project]) -> ProjectGroup:
    """Makes `name` the group of exactly these projects, and returns it. Auto-discovered projects count as explicitly registered
    from now on, so they are not evicted.

    Raises InvalidInput for a name that is malformed or taken by a project, and for too many groups or projects.
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
    """Returns the group with this name. Raises ProjectNotFound."""
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
    """Removes a group but not its projects. Raises ProjectNotFound."""
    require_project_group(registry, name)
    with registry.transaction() as connection:
        connection.execute("DELETE FROM project_groups WHERE name = ?", (name,))


def _invalid(name: str, message: str) -> InvalidInput:
    return InvalidInput(message, field="name", value=name)
