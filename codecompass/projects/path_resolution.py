"""Resolves a path that a client or setting named to the project that it belongs to, within the allowed roots.

The real path is found first. Outside of the allowed roots nothing else is read, and errors repeat what was asked and reveal
nothing that was found: neither where a link leads, nor whether anything exists there. Which directory above a path is the
project's root is decided by the rule in `projects/detection.py`.
"""

import os
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound, WorkspaceNotAllowed, WorkspaceNotRegistered
from codecompass.projects.detection import DISK_ROOT, PROJECT_VARIABLES, WORKING_PLACES, RoutingRules, SourceName, project_root
from codecompass.projects.kept_routes import Place, deciding, places_to
from codecompass.projects.unmarked import Doubt
from codecompass.protocol.decode import well_formed
from codecompass.scan.roots import git_root_between, marked_root
from codecompass.store.registry import Project, Registry

_MAX_LINKS: Final = 40
"""Number of symbolic links that Linux follows in one path; more are a loop."""

SHOWN_PATH_LENGTH: Final = 200
"""Characters of a refused path that an error repeats."""


class PathFacts(Struct, frozen=True, kw_only=True):
    """What the file system says of a path. If it is not allowed, the other facts are those of a path that does not exist."""

    path: Path
    """Canonical, as is `directory`."""
    directory: Path
    """The path itself, or the directory of a file."""
    is_allowed: bool = True
    """Whether it lies within the allowed roots."""
    exists: bool = False
    is_directory: bool = False
    git_root: Path | None = None
    """The innermost git work tree at or above `directory`."""
    marked: Path | None = None
    """The project root that markers at or above `directory` give."""
    places: tuple[Place, ...] = ()
    """What leads there, as it was before any of this was read."""


def is_absolute(path: str) -> bool:
    """Whether `path` is independent of the current directory. Does not read the disk."""
    return path.startswith(("/", "~/")) or path == "~"


def is_within(path: Path, roots: Sequence[Path]) -> bool:
    """Whether the canonical `path` is one of `roots` or below one, by whole components. True if there are no roots."""
    return not roots or any(path.is_relative_to(root) for root in roots)


def inspect_path(path: str, allowed: Sequence[Path], never: frozenset[Path], call: BlockingCall) -> PathFacts:
    """Returns the facts of `path`, which may be relative or any text that a client sends. Blocking.

    Markers in directories of `never` do not count. Raises FileSystemUnresponsive if earlier calls hang in the same file system.
    """
    try:
        # Only `~` is expanded: `~user` would query the system's users.
        written = os.path.expanduser(path) if is_absolute(path) else os.path.join(os.getcwd(), path)
        places = places_to(written)
        real = _real_path(written, call)
    except (ValueError, OSError):
        # Relative without a current directory, a NUL, characters that cannot be encoded: not a path of this machine.
        return PathFacts(path=DISK_ROOT, directory=DISK_ROOT, is_allowed=not allowed)
    if not is_within(real, allowed):
        return PathFacts(path=real, directory=real, is_allowed=False)
    try:
        call.enter(str(real))
        # One stat() call: between two, the path could appear or vanish, and be neither a directory nor missing.
        is_directory = stat.S_ISDIR(os.stat(real).st_mode)
    except (ValueError, OSError):
        return PathFacts(path=real, directory=real)
    directory = real if is_directory else real.parent
    # A file that is itself an allowed root does not make its directory allowed.
    places += places_to(str(directory))
    return PathFacts(
        path=real,
        directory=directory,
        is_allowed=is_within(directory, allowed),
        exists=True,
        is_directory=is_directory,
        git_root=git_root_between(directory, DISK_ROOT),
        marked=marked_root(directory, never),
        places=places,
    )


def _real_path(path: str, call: BlockingCall) -> Path:
    """Returns the path without symbolic links, like `os.path.realpath`, and moves `call` to each step."""
    result = "/" if path.startswith("/") else os.getcwd()
    pending = path.split("/")[::-1]
    n_links = 0
    while pending:
        name = pending.pop()
        if name == "..":
            result = os.path.dirname(result)
        elif name not in ("", "."):
            step = os.path.join(result, name)
            call.enter(step)
            try:
                target = os.readlink(step)
            except OSError:  # no link, missing or not readable: the name is taken literally
                result = step
                continue
            n_links += 1
            if n_links > _MAX_LINKS:
                result = step
                continue
            if target.startswith("/"):
                result = "/"
            pending.extend(reversed(target.split("/")))
    return Path(result)


def _present(root: str, call: BlockingCall) -> tuple[Path | None, tuple[Place, ...]]:
    """Returns the real path of the directory `root`, None if there is no such directory, and what leads there. Blocking."""
    try:
        places = places_to(root)
        real = _real_path(root, call)
        call.enter(str(real))
        return (real if stat.S_ISDIR(os.stat(real).st_mode) else None), deciding(places, Path(root), Path(root))
    except (ValueError, OSError):
        return None, ()


class NamedProject(Struct, frozen=True, kw_only=True):
    """The project that a source names: its root, and its entry if it is registered. `is_evicted`: it was until its eviction."""

    source: SourceName
    root: Path
    project: Project | None
    is_evicted: bool = False
    marked: Path | None = None
    """The root that markers at or above the named directory give, if it is within the allowed roots."""
    places: tuple[Place, ...] = ()
    """The directories by which this was decided."""


class PathResolver:
    """Finds the projects of paths. One instance a server; stateless."""

    def __init__(self, rules: RoutingRules, registry: AsyncRegistry, blocking: BlockingCalls) -> None:
        self._rules = rules
        self._registry = registry
        self._blocking = blocking

    async def inspect(self, path: str) -> PathFacts:
        """Returns the facts of `path`. Raises FileSystemUnresponsive."""
        allowed, never = await self.allowed(), self._rules.never
        # The place says which file system may not answer; `inspect_path` handles texts that are no paths.
        place = path if path.startswith("/") else str(self._rules.cwd or "/")
        return await self._blocking.run(lambda call: inspect_path(path, allowed, never, call), place)

    async def resolve(self, source: SourceName, path: str) -> NamedProject:
        """Returns the project that `path` belongs to, or would become. Raises the errors of `missing` and `not_allowed`."""
        facts = await self.inspect(path)
        if not facts.is_allowed:
            raise not_allowed(path)
        if not facts.exists:
            raise missing(source, path, facts.path)
        return await self.resolve_facts(source, path, facts)

    async def resolve_facts(self, source: SourceName, path: str, facts: PathFacts) -> NamedProject:
        """Returns the project of an existing path. Raises WorkspaceNotAllowed if its root is outside of the allowed roots."""
        allowed = await self.allowed()
        nearest, evicted = await self._registry.run(_around, facts.directory)
        # One above the allowed roots does not exist here: its answers would contain files outside of them.
        nearest = nearest if nearest is not None and is_within(nearest.root, allowed) else None
        evicted = evicted if evicted is not None and is_within(evicted, allowed) else None
        known = [each for each in (None if nearest is None else nearest.root, evicted) if each is not None]
        marked = facts.marked if facts.marked is not None and is_within(facts.marked, allowed) else None
        found = project_root(
            registered=max(known, key=lambda each: len(each.parts), default=None),
            git_root=facts.git_root,
            marked=marked if source in WORKING_PLACES else None,
        )
        root = facts.directory if found is None else found
        if not is_within(root, allowed):
            raise not_allowed(path)
        project = nearest if nearest is not None and nearest.root == root else await self._registry.run(Registry.at, root)
        places = deciding(facts.places, facts.directory, None if project is None else root)
        return NamedProject(source=source, root=root, project=project, is_evicted=evicted == root, marked=marked, places=places)

    async def require_present(self, project: Project) -> tuple[Place, ...]:
        """Returns what leads to the root of `project`. Raises WorkspaceNotAllowed or ProjectNotFound if it is gone or now leads
        elsewhere."""
        allowed, root = await self.allowed(), str(project.root)
        found, places = await self._blocking.run(lambda call: _present(root, call), root)
        if found is not None and not is_within(found, allowed):
            raise not_allowed(project.name)
        if found != project.root:
            raise gone(f"project {project.name}", project.root)
        return places

    async def check_project_path(self, path: str) -> None:
        """Raises InvalidInput for a `?project_path=` that the HTTP transport answers with status 400.

        Not for a path outside of the allowed roots: the call itself is refused then, whether or not the path exists.
        """
        facts = await self.inspect(path)
        if not path.startswith("/") or (facts.is_allowed and not facts.exists):
            raise no_project_path(path)

    async def allowed(self) -> tuple[Path, ...]:
        """Returns the roots within which workspaces may lie, pinned and default projects included; empty for anywhere."""
        if not self._rules.allowed_roots:
            return ()
        default = await self._registry.run(Registry.default)
        return self._rules.visible_roots(None if default is None else default.root)

    async def named(self, name: str) -> tuple[Project | None, Path | None]:
        """Returns the project with this id or name, and the root of an evicted one; None for each that is not visible."""
        project, evicted = await self._registry.run(lambda registry: registry.find_or_evicted_root(name))
        allowed = await self.allowed()
        return (
            project if project is not None and is_within(project.root, allowed) else None,
            evicted if evicted is not None and is_within(evicted, allowed) else None,
        )


def _around(registry: Registry, path: Path) -> tuple[Project | None, Path | None]:
    """Returns the nearest project at or above `path`, and the nearest root of an evicted one."""
    return registry.containing(path), registry.evicted_root_containing(path)


# the errors of projects that cannot be used, each with what to do next


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
        f"the directory of {what} is gone, or is a link to elsewhere now: {root}. Restore it, or pass another workspace "
        "(on the command line: codecompass projects gc forgets it).",
        workspace=str(root),
    )


def not_meant(doubt: Doubt) -> WorkspaceNotRegistered:
    """Returns the error for a directory that a question alone does not index."""
    root = shown(str(doubt.root))
    return WorkspaceNotRegistered(
        f"{root} is not indexed: it {doubt.reason}. Pass the directory of one project in it as workspace. If all of it is meant: "
        f'index_repo with workspace: "{root}" (on the command line: codecompass index {root}).',
        workspace=root,
    )


def not_registered(
    root: Path, *, is_named: bool, is_project: bool, is_alone: bool = False, is_marked: bool = True
) -> WorkspaceNotRegistered:
    """Returns the error for a project that a question does not register here.

    `is_named`: an argument named it. `is_project` is False for a directory of `never_projects`. `is_alone`: the client
    is the only one of this server, and may order an index. `is_marked`: something in the directory says that it is a project.
    """
    command = f"codecompass index {root}"
    if not is_project:
        remedy = "It is a home directory, one of the system or the whole disk: pass the directory of one project as workspace."
    elif is_alone:
        remedy = (
            f"A question registers a directory only if it has a project marker such as .git or pyproject.toml. To index it as it "
            f'is: index_repo with workspace: "{root}" (on the command line: {command}).'
        )
    elif is_named:
        remedy = (
            f"No call of this client can change that. Who runs this server can: {command}, or start it with --auto-workspace "
            f"--allowed-root {root.parent if is_marked else root}"
        )
        remedy += "." if is_marked else ", and put a project marker such as .git into it."
    else:
        remedy = f'Call index_repo with workspace: "{root}" (over stdio), or pass a workspace that health_check lists.'
    if is_named:
        message = f"{root} is not registered. {remedy}"
    else:
        # Clients rely on the first two sentences; the remedy is for those without a shell.
        message = f"Project detected at {root} but not indexed. Run {command} first. {remedy}"
    return WorkspaceNotRegistered(message, workspace=str(root))
