"""The registry: all projects of a user, their groups, and the roots of evicted projects. `job_log.py` adds the jobs.

A `Registry` is for one caller at a time. Losing it loses no index, because ids are derived from paths: only the aliases and
groups that people named are lost.
"""

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from codecompass import lazy
from codecompass.errors import InvalidInput, PermissionDenied, ProjectNotFound
from codecompass.identity import ProjectId, project_id
from codecompass.protocol.requests import MAX_PROJECT_ID_LENGTH, PROJECT_ID_PATTERN
from codecompass.store.layout import HomeLayout
from codecompass.store.project_names import looks_like_id, name_unnamed, normalised_name
from codecompass.store.registry_database import DEFAULT_BUSY_TIMEOUT_MS, RegistryDatabase, registry_guard

ALIAS: Final = lazy.pattern(PROJECT_ID_PATTERN.strip("^$"))
MAX_ALIAS_LENGTH: Final = MAX_PROJECT_ID_LENGTH

KEPT_EVICTED: Final = 1000
"""How many evicted projects are remembered; the most recent ones."""

MAX_GROUPS: Final = 1_000
MAX_MEMBERS: Final = 1_000

_COLUMNS: Final = "project_id, alias, root, is_auto_discovered, is_default, created_at, last_used_at"
_OWN_NAME: Final = "(SELECT name FROM project_names WHERE project_names.root = projects.root)"


class Project(Struct, frozen=True, kw_only=True):
    """The registry's entry of a workspace. Times are in seconds since 1970."""

    project_id: ProjectId
    alias: str | None
    root: Path
    """The canonical root of the workspace."""
    is_auto_discovered: bool
    """Whether a server added it automatically; only such a project is ever evicted."""
    is_default: bool
    """Whether requests mean it that name no project and come from no workspace."""
    created_at: float
    last_used_at: float
    own_name: str = ""
    """Its directory's name in the form of all names, made unique; empty if it has an alias."""

    @property
    def name(self) -> str:
        """The name in answers and lists, which every command and tool takes: the alias, otherwise the directory's name."""
        return self.alias or self.own_name or self.project_id

    @property
    def schema_name(self) -> str:
        """The name reported for the project's store."""
        return schema_name(self.name)


def schema_name(project: str) -> str:
    """Returns the name reported for the store of a project with this name."""
    return "project_" + project.replace("-", "_")


class Registry(RegistryDatabase):
    """Projects by id, alias and path. Get one from `open_registry`; for one thread at a time."""

    def projects(self) -> tuple[Project, ...]:
        """Returns all projects, sorted by root."""
        return self._projects("ORDER BY root")

    def find(self, name: str) -> Project | None:
        """Returns the project with this id or name; the name of a directory may be in its own spelling."""
        return self._named(name) or (self._named(normalised_name(name)) if ALIAS.fullmatch(name) is None else None)

    def _named(self, name: str) -> Project | None:
        return self._first(f"WHERE project_id = ? OR coalesce(alias, {_OWN_NAME}) = ?", (name, name))

    def require(self, name: str) -> Project:
        """Returns the project with this id or name. Raises ProjectNotFound."""
        import difflib

        found = self.find(name)
        if found is None:
            near = difflib.get_close_matches(name, [project.name for project in self.projects()], n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise ProjectNotFound(
                f"no project is called {name!r}.{meant} List the known ones with: codecompass projects list", project_id=name
            )
        return found

    def at(self, root: Path) -> Project | None:
        """Returns the project whose canonical root is `root`."""
        return self._first("WHERE root = ?", (os.fsencode(root),))

    def containing(self, path: Path) -> Project | None:
        """Returns the project with the nearest root at or above the canonical `path`."""
        roots = [os.fsencode(directory) for directory in (path, *path.parents)]
        placeholders = ",".join("?" * len(roots))
        return self._first(f"WHERE root IN ({placeholders}) ORDER BY length(root) DESC LIMIT 1", roots)

    def default(self) -> Project | None:
        """Returns the default project."""
        return self._first("WHERE is_default = 1")

    def register(self, root: Path, *, auto_discovered: bool = False) -> Project:
        """Returns the project at the canonical `root`, and adds it if it does not exist. An existing one is not changed.

        An evicted project gets its alias back, unless another project has it now.
        """
        now = time.time()
        with self.transaction() as connection:
            connection.execute(
                f"INSERT INTO projects ({_COLUMNS}) VALUES (?, NULL, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING",
                (project_id(root), os.fsencode(root), auto_discovered, now, now),
            )
            connection.execute(
                "UPDATE OR IGNORE projects SET alias = (SELECT alias FROM evicted WHERE evicted.root = projects.root) "
                "WHERE root = ? AND alias IS NULL",
                (os.fsencode(root),),
            )
            connection.execute("DELETE FROM evicted WHERE root = ?", (os.fsencode(root),))
            name_unnamed(connection)
        found = self.at(root)
        if found is None:
            raise ProjectNotFound(f"the project at {root} was removed by another process. Run again.")
        return found

    def adopt(self, project: str, *, alias: str | None = None, as_default: bool | None = None) -> Project:
        """Marks a project as explicitly registered, so that it is not evicted; sets its alias if one is given; returns it.

        It becomes the default if `as_default` is True, or if that is None and there is no default yet. Raises InvalidInput for a
        malformed or taken alias.
        """
        if alias is not None:
            self.rename(project, alias)
        with self.transaction() as connection:
            connection.execute("UPDATE projects SET is_auto_discovered = 0 WHERE project_id = ?", (project,))
            # As long as it has no index, the time says that a person has registered it since a server did: see `forget`.
            connection.execute(
                "UPDATE projects SET created_at = ? WHERE project_id = ? AND NOT EXISTS "
                "(SELECT 1 FROM jobs WHERE jobs.project_id = projects.project_id AND status = 'published')",
                (time.time(), project),
            )
            has_default = connection.execute("SELECT 1 FROM projects WHERE is_default = 1").fetchone() is not None
            if as_default or (as_default is None and not has_default):
                connection.execute("UPDATE projects SET is_default = 0 WHERE is_default = 1")
                connection.execute("UPDATE projects SET is_default = 1 WHERE project_id = ?", (project,))
        return self.require(project)

    def rename(self, project: str, alias: str | None) -> Project:
        """Sets the alias of a project, or removes it (None). Raises InvalidInput for one that is malformed or taken."""
        if alias is not None:
            check_alias(alias)
        with self.transaction() as connection:
            if alias is not None:
                self.require_free(alias, project)
            connection.execute("UPDATE projects SET alias = ? WHERE project_id = ?", (alias, project))
            # A name that somebody gives is theirs: a project that only has it from its directory gets another.
            connection.execute("DELETE FROM project_names WHERE name = ?", (alias,))
            name_unnamed(connection)
        return self.require(project)

    def require_free(self, alias: str, project: str | None) -> None:
        """Raises InvalidInput if a group, or another project than `project`, has this name."""
        if self._connection.execute("SELECT 1 FROM project_groups WHERE name = ?", (alias,)).fetchone() is not None:
            raise InvalidInput(
                f"a group of projects is called {alias!r}. Choose another name, or remove the group with: "
                f"codecompass projects ungroup {alias}",
                field="project_id",
                value=alias,
                constraint="unique",
            )
        row = self._connection.execute("SELECT root, project_id FROM projects WHERE alias = ?", (alias,)).fetchone()
        if row is not None and row[1] != project:
            raise InvalidInput(
                f"the project at {os.fsdecode(row[0])} is called {alias!r} already. Choose another name, "
                f"or free it with: codecompass projects rename {alias} NEW_NAME",
                field="project_id",
                value=alias,
                constraint="unique",
            )

    def touch(self, project: str) -> None:
        """Records that the project was used just now."""
        with self.transaction() as connection:
            connection.execute("UPDATE projects SET last_used_at = ? WHERE project_id = ?", (time.time(), project))

    def remove(self, project: str) -> None:
        """Removes a project and its jobs, but no files on disk. Ignores unknown ids. Needs no free disk space."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM projects WHERE project_id = ?", (project,))
            connection.execute("DELETE FROM evicted WHERE project_id = ?", (project,))

        self._delete(delete)

    def forget(self, project: Project) -> bool:
        """Removes an entry as `remove` does, unless a person has named, grouped or registered the project since it was made, or
        any process has a job for it. Returns whether the project is registered no longer.
        """
        is_unclaimed = (
            "created_at = ? AND alias IS NULL AND is_default = 0 "
            "AND NOT EXISTS (SELECT 1 FROM project_groups AS held WHERE held.project_id = projects.project_id) "
            "AND NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.project_id = projects.project_id AND status IN ('queued', 'running'))"
        )

        def delete(connection: sqlite3.Connection) -> None:
            statement = f"DELETE FROM projects WHERE project_id = ? AND {is_unclaimed}"
            connection.execute(statement, (project.project_id, project.created_at))

        self._delete(delete)
        return self.at(project.root) is None

    def _delete(self, delete: Callable[[sqlite3.Connection], None]) -> None:
        """Makes a change that only deletes, also on a full disk."""
        try:
            with self.transaction() as connection:
                delete(connection)
        except PermissionDenied:
            if not self.write_without_space(delete):
                raise

    def evict(self, project_id: str) -> bool:
        """Removes an auto-discovered project but remembers its root and alias.

        Returns False and changes nothing if there is no such project, or if it was registered explicitly or is the default.
        """
        found = "FROM projects WHERE project_id = ? AND is_auto_discovered = 1 AND is_default = 0"
        with self.transaction() as connection:
            connection.execute(
                f"INSERT OR REPLACE INTO evicted SELECT project_id, alias, root, ? {found}", (time.time(), project_id)
            )
            n_removed = connection.execute(f"DELETE {found}", (project_id,)).rowcount
            connection.execute(
                "DELETE FROM evicted WHERE project_id NOT IN (SELECT project_id FROM evicted ORDER BY evicted_at DESC LIMIT ?)",
                (KEPT_EVICTED,),
            )
        return n_removed == 1

    def evicted_root(self, name: str) -> Path | None:
        """Returns the root of the evicted project with this id or name."""
        own_name = "(SELECT name FROM project_names WHERE project_names.root = evicted.root)"
        return self._evicted_root(f"project_id = ? OR coalesce(alias, {own_name}) = ?", (name, name))

    def named(self) -> tuple[tuple[object, ...], ...]:
        """Returns all that decides which project a path or a name means: projects, evicted ones, names, groups; not their use."""
        statements = (
            "SELECT project_id, alias, root, is_auto_discovered, is_default FROM projects ORDER BY project_id",
            "SELECT project_id, alias, root FROM evicted ORDER BY project_id",
            "SELECT root, name FROM project_names ORDER BY root",
            "SELECT name, project_id FROM project_groups ORDER BY name, project_id",
        )
        return tuple(row for statement in statements for row in self.rows(statement))

    def find_or_evicted_root(self, name: str) -> tuple[Project | None, Path | None]:
        """Returns the project with this id or alias, or else the root of the evicted project with that name.

        Finds it even if another process evicts or registers it meanwhile.
        """
        found = self.find(name)
        root = self.evicted_root(name) if found is None else None
        if found is None and root is None:
            # It may have been evicted at the first lookup and registered again by the second.
            found = self.find(name)
        return found, root

    def evicted_root_containing(self, path: Path) -> Path | None:
        """Returns the nearest root of an evicted project at or above the canonical `path`."""
        roots = [os.fsencode(directory) for directory in (path, *path.parents)]
        return self._evicted_root(f"root IN ({','.join('?' * len(roots))})", roots)

    def _evicted_root(self, condition: str, arguments: Sequence[object]) -> Path | None:
        rows = self.rows(f"SELECT root FROM evicted WHERE {condition} ORDER BY length(root) DESC LIMIT 1", arguments)
        return Path(os.fsdecode(rows[0][0])) if rows else None

    def _projects(self, rest: str, arguments: Sequence[object] = ()) -> tuple[Project, ...]:
        with registry_guard(self._path):
            statement = f"SELECT {_COLUMNS}, {_OWN_NAME} FROM projects {rest}"
            found = tuple(_project(row) for row in self.rows(statement, arguments))
            if all(project.alias or project.own_name for project in found):
                return found
            # An older program has registered it.
            with contextlib.suppress(PermissionDenied), self.transaction(may_be_of_copy=True) as connection:
                name_unnamed(connection)
            return tuple(_project(row) for row in self.rows(statement, arguments))

    def _first(self, rest: str, arguments: Sequence[object] = ()) -> Project | None:
        found = self._projects(rest, arguments)
        return found[0] if found else None


def _project(row: tuple[Any, ...]) -> Project:
    identifier, alias, root, is_auto_discovered, is_default, created_at, last_used_at, own_name = row
    # The id is derived from the root: if they do not match, one of them is damaged.
    if not isinstance(root, bytes) or identifier != project_id(Path(os.fsdecode(root))):
        raise sqlite3.DatabaseError("the entry of a project is damaged")
    return Project(
        project_id=identifier,
        alias=alias,
        root=Path(os.fsdecode(root)),
        is_auto_discovered=bool(is_auto_discovered),
        is_default=bool(is_default),
        created_at=created_at,
        last_used_at=last_used_at,
        own_name="" if alias or own_name is None else own_name,
    )


def assumed_project(root: Path, *, auto_discovered: bool) -> Project:
    """Returns the entry of a project at the canonical `root` that cannot be registered, because the registry cannot be written:
    its files can be asked all the same."""
    now = time.time()
    return Project(
        project_id=project_id(root),
        alias=None,
        root=root,
        is_auto_discovered=auto_discovered,
        is_default=False,
        created_at=now,
        last_used_at=now,
        own_name=normalised_name(root.name),
    )


def check_alias(alias: str) -> None:
    """Raises InvalidInput unless `alias` can name a project."""
    is_wellformed = ALIAS.fullmatch(alias) is not None and len(alias) <= MAX_ALIAS_LENGTH
    if not is_wellformed or looks_like_id(alias):
        constraint = "1 to 50 lower-case letters, digits and single hyphens between them, and not 16 hex characters"
        raise InvalidInput(
            f"a project cannot be called {alias!r}: a name is {constraint}.",
            field="project_id",
            value=alias,
            constraint=constraint,
        )


@contextmanager
def open_registry(home: HomeLayout, *, busy_timeout_ms: int = DEFAULT_BUSY_TIMEOUT_MS) -> Iterator[Registry]:
    """Yields the registry of a data directory, which is created if it does not exist, and closes it afterwards.

    If it cannot be written it can still be read; if it neither exists nor can be created, it is empty. Raises PermissionDenied if
    it cannot be read either, StoreNewer if a newer program wrote it, IndexDamaged if it is not a registry, DeadlineExceeded if
    another process locks it for longer than `busy_timeout_ms`.
    """
    with contextlib.closing(Registry(home.registry, busy_timeout_ms)) as registry:
        yield registry


class ProjectGroup(Struct, frozen=True):
    """A name that a person gave to several projects, to ask questions about all of them; `projects` are sorted by root.

    Removing a project removes it from its groups; a group without projects does not exist.
    """

    name: str
    projects: tuple[Project, ...]


def project_groups(registry: Registry) -> tuple[ProjectGroup, ...]:
    """Returns all groups, sorted by name."""
    members: dict[str, set[str]] = {}
    for name, member in registry.rows("SELECT name, project_id FROM project_groups ORDER BY name"):
        members.setdefault(name, set()).add(member)
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
    import difflib

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
