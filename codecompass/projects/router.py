"""Routes requests: decides which project a request means, and whether this server answers for it.

Arguments decide, else the sources in `projects/sources.py`; the order is in `projects/detection.py`. An unregistered project is
registered here if the rules of the server allow it.
"""

import time
from collections.abc import Awaitable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Final

import structlog
from msgspec import Struct
from msgspec.structs import replace

from codecompass import hints
from codecompass.actors.answering import is_touch_due
from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.errors import (
    CodeCompassError,
    InvalidInput,
    ProjectNotFound,
    StoreRefused,
    WorkspaceNotAllowed,
    WorkspaceNotRegistered,
)
from codecompass.identity import project_id
from codecompass.projects.caller import Caller
from codecompass.projects.detection import PROJECT_VARIABLES, RoutingRules, SourceName
from codecompass.projects.eviction import FULL, AutoWorkspaces
from codecompass.projects.kept_routes import KeptRoutes, Trail
from codecompass.projects.path_resolution import (
    NamedProject,
    PathResolver,
    is_absolute,
    is_within,
    not_meant,
    not_registered,
    shown,
)
from codecompass.projects.selection import SelectedProject, known_projects, select_projects
from codecompass.projects.sources import SET_BY_CLIENT, ProjectSources, disagreements
from codecompass.projects.unmarked import doubt_about
from codecompass.protocol.decode import may_be_elsewhere, several_projects
from codecompass.protocol.requests import IndexRepo, IndexRepository, IndexStatus, Request, SyncRepo
from codecompass.scan.git_repository import read_head
from codecompass.store.registry import Project, Registry, check_alias

HINT: Final = "Tip: Use Claude Code for automatic project detection"
NOTHING_DETECTED: Final = "No project detected. Set CODECOMPASS_PROJECT or use --project-from-cwd."
REMEDY: Final = " Or pass workspace, the absolute path of the repository, with each call; over stdio, that takes up a new one."
"""For agents, which can do neither of NOTHING_DETECTED: they have tools, but no environment and no command line."""

MAX_PLACES: Final = 32
"""Directories in which a project is looked for by its name."""

_HINTED: Final = frozenset({*PROJECT_VARIABLES, "current directory"})


class Routed(Struct, frozen=True, kw_only=True):
    """The project of a request, and the source that named it. `warnings` and `hint` go into the answer's metadata.

    The workspace has to be asked before the next checkpoint: one with a pending question is not evicted.
    """

    project: Project
    source: SourceName
    warnings: tuple[str, ...] = ()
    hint: str = ""
    names_project: bool = False


class _RouteKey(Struct, frozen=True):
    """What decides which project is meant, besides the registry, the rules of the server and the disk."""

    workspace: str | None
    project_id: str | None
    is_ordered: bool
    """Whether the request is to index."""
    is_alone: bool
    """Whether the caller is the one client of a server over stdio."""
    project_path: str | None
    roots: tuple[str, ...]


class Router:
    """Routes requests to projects. One instance a server; its parts keep the state: evictions, routes, the answer of a peer."""

    def __init__(
        self,
        rules: RoutingRules,
        registry: AsyncRegistry,
        own: OwnRegistrations,
        auto_workspaces: AutoWorkspaces,
        blocking: BlockingCalls,
    ) -> None:
        self._rules = rules
        self._registry = registry
        self._own = own
        self._auto = auto_workspaces
        self._blocking = blocking
        self._paths = PathResolver(rules, registry, self._blocking)
        self._sources = ProjectSources(rules, registry, self._paths)
        self._kept: KeptRoutes[Routed] = KeptRoutes(registry, blocking)
        self._log = structlog.get_logger(__name__)

    async def register_pinned(self) -> tuple[Project, ...]:
        """Registers the workspaces of `--workspace`, at the start, and returns their projects in the same order."""
        projects = []
        for root in self._rules.pinned:
            named = await self._paths.resolve("--workspace", str(root))
            project = named.project
            try:
                if project is None:
                    project = await self._registry.run(Registry.register, named.root)
                if project.is_auto_discovered:
                    # A pinned workspace must not be evicted, by any server.
                    project = await self._registry.run(Registry.adopt, project.project_id, as_default=False)
            except StoreRefused as error:
                project = project or self._own.assume(named.root, error, auto_discovered=False)
            projects.append(project)
        return tuple(projects)

    async def check_project_path(self, path: str) -> None:
        """Raises InvalidInput for a `?project_path=` that the HTTP transport answers with status 400."""
        await self._paths.check_project_path(path)

    async def route(self, request: Request, caller: Caller) -> Routed:
        """Returns the project that `request` means, registered now if it was not.

        Raises ProjectNotFound, WorkspaceNotRegistered, WorkspaceNotAllowed, WorkspaceLimitExceeded, or InvalidInput if arguments
        contradict each other or a `?project_path=` is broken.
        """
        key = None if isinstance(request, IndexRepository) else await self._key(request, caller)
        while True:
            generation = await self._kept.generation()
            routed = None if key is None else await self._kept.find(key, generation)
            if routed is None:
                trail = Trail()
                routed = await self._found(request, caller, trail)
                if key is not None:
                    self._kept.keep(key, routed, trail, generation)
            if routed.source in _HINTED and caller.take_hint():
                routed = replace(routed, hint=HINT)
            if is_touch_due(routed.project, time.time()):
                if key is not None:
                    self._kept.drop(key)
                await self._touch(routed.project)
            # There is no checkpoint between here and the caller's question, and a workspace with a question is never evicted.
            if not self._auto.is_leaving(routed.project.project_id):
                if self._auto.is_full and isinstance(request, IndexStatus):
                    return replace(routed, warnings=(*routed.warnings, FULL))
                return routed
            await self._auto.wait_settled()

    async def _key(self, request: Request, caller: Caller) -> "_RouteKey":
        """Returns what decides, of a request and its caller, which project is meant."""
        is_detected = request.project_id is None and request.workspace is None
        is_rooted = is_detected and not self._rules.pinned
        return _RouteKey(
            request.workspace,
            request.project_id,
            is_ordered=isinstance(request, IndexRepo),
            is_alone=caller.transport == "stdio",
            project_path=caller.project_path if is_detected else None,
            roots=await caller.roots() if is_rooted else (),
        )

    async def _found(self, request: Request, caller: Caller, trail: Trail) -> Routed:
        """Returns the project that `request` means, found anew; adds to `trail` by what it was decided."""
        if isinstance(request, IndexRepository):
            return await self._by_repo_path(request, caller)
        if request.project_id is not None:
            return await self._by_name(request.project_id, request.workspace, trail)
        if request.workspace is not None:
            return await self._by_workspace(request.workspace, request, caller, trail)
        return await self._detected(request, caller, trail)

    async def several(self, workspace: str | None) -> tuple[str, ...] | None:
        """Returns the names or paths in a `workspace` that means several projects or a group; None if it means one, or none."""
        names = several_projects(workspace)
        if names is None and workspace is not None and "/" not in workspace:
            group = workspace.strip()
            if group in await self._groups():
                return (group,)
        return names

    async def _groups(self) -> frozenset[str]:
        """Returns the names of the groups with a visible member: any other one does not exist for clients."""
        known, allowed = await self._registry.run(known_projects), await self._paths.allowed()
        return frozenset(name for name, of in known.groups.items() if any(is_within(each.root, allowed) for each in of))

    async def select(self, names: Sequence[str], unknown: list[str] | None = None) -> tuple[SelectedProject, ...]:
        """Returns the registered projects that `names` mean; see `select_projects`, whose errors it raises.

        Raises WorkspaceNotRegistered or WorkspaceNotAllowed for a path. With `unknown`, names that mean nothing here and may be
        names elsewhere are appended to it instead.
        """
        known = await self._registry.run(known_projects)
        allowed = await self._paths.allowed()
        by_root = {str(project.root): project for project in known.projects if is_within(project.root, allowed)}
        named: list[str] = []
        for name in names:
            if "/" not in name or name in by_root:
                named.append(by_root[name].project_id if name in by_root else name)
                continue
            try:
                found = await self._paths.resolve("workspace", name)
            except (WorkspaceNotRegistered, WorkspaceNotAllowed):
                if unknown is None or not may_be_elsewhere(name):
                    raise
                unknown.append(name)
                continue
            if found.project is None:
                raise not_registered(found.root, is_named=True, is_project=found.root not in self._rules.never)
            named.append(found.project.project_id)
        return select_projects(known, named, allowed, unknown)

    async def require_present(self, project: Project) -> None:
        """Raises WorkspaceNotAllowed or ProjectNotFound if the root of `project` is gone or now leads elsewhere."""
        await self._paths.require_present(project)

    async def head_ref(self, project: Project) -> str:
        """Returns the branch that a project's tree is on, as answers name it. Raises FileSystemUnresponsive."""
        root = str(project.root)
        roots = self._rules.git_roots.and_root(root)
        return await self._blocking.run(lambda _call: read_head(root, roots).ref, project.root)

    # named by arguments

    async def _by_name(self, name: str, workspace: str | None, trail: Trail) -> Routed:
        project, evicted = await self._paths.named(name)
        if project is None and evicted is None:
            project = await self._called(name)
        if project is None:
            if evicted is None:
                raise ProjectNotFound(
                    f"no project is called {name!r}. Pass the path as workspace, or a project_id that {hints.PROJECTS} lists",
                    project_id=name,
                )
            root = (await self._paths.resolve("project_id", str(evicted))).root
            project = await self._auto.admit(root, was_evicted=True)
        if workspace is not None:
            named = await self._paths.resolve("workspace", workspace)
            trail.add(named.places)
            if named.root != project.root:
                raise InvalidInput(
                    f"workspace and project_id name different projects: {shown(str(named.root))} and {name}. Give one of them.",
                    field="workspace",
                    value=shown(workspace),
                    constraint="the same project as project_id",
                )
        trail.add(await self._paths.require_present(project))
        return Routed(project=project, source="project_id", names_project=True)

    async def _by_workspace(self, workspace: str, request: Request, caller: Caller, trail: Trail) -> Routed:
        try:
            named = await self._paths.resolve("workspace", workspace)
        except (WorkspaceNotRegistered, WorkspaceNotAllowed):
            # A name, which as a path would be one below the directory that the server was started in.
            project = await self._called(workspace.strip())
            if project is not None:
                # A directory of this name may come to exist.
                trail.is_whole = False
                await self._paths.require_present(project)
                return Routed(project=project, source="workspace")
            found = await self._beside(workspace.strip(), caller)
            if found is None:
                raise
            named = found
        trail.add(named.places if named.project is not None else ())
        return Routed(project=await self._admit(named, request, caller), source="workspace")

    async def _called(self, name: str) -> Project | None:
        """Returns the project with the label `name`; None if there is none or it is a group."""
        known = await self._registry.run(known_projects)
        if "/" in name or name in await self._groups():
            return None
        try:
            (selected,) = select_projects(known, (name,), await self._paths.allowed())
        except ProjectNotFound:
            return None
        return selected.project

    async def _beside(self, name: str, caller: Caller) -> NamedProject | None:
        """Returns the project that is the directory `name` beside a known project or directly below an allowed root.

        None if there is none, or this client may not have it registered. Raises InvalidInput if there are several.
        """
        takes_up = self._rules.auto_workspace or caller.transport == "stdio"
        if not takes_up or not name or "/" in name or name in (".", ".."):
            return None
        projects = await self._registry.run(Registry.projects)
        allowed = await self._paths.allowed()
        places = [*allowed, *(project.root.parent for project in projects), *self._rules.pinned]
        places += [] if self._rules.cwd is None else [self._rules.cwd, self._rules.cwd.parent]
        found: dict[Path, NamedProject] = {}
        for place in list(dict.fromkeys(each for each in places if is_within(each, allowed)))[:MAX_PLACES]:
            facts = await self._paths.inspect(str(place / name))
            if facts.is_allowed and facts.is_directory and facts.marked == facts.directory:
                found[facts.directory] = await self._paths.resolve_facts("workspace", str(facts.directory), facts)
        if len(found) > 1:
            raise InvalidInput(
                f"several directories are called {shown(name)}: {', '.join(sorted(map(str, found)))}. Pass the path of one.",
                field="workspace",
                value=shown(name),
                constraint="one project",
            )
        return next(iter(found.values()), None)

    async def _by_repo_path(self, request: IndexRepository, caller: Caller) -> Routed:
        if not is_absolute(request.repo_path):
            raise InvalidInput(
                f"repo_path must be absolute, got: {shown(request.repo_path)}",
                field="repo_path",
                value=shown(request.repo_path),
                constraint="absolute path",
            )
        named = await self._paths.resolve("workspace", request.repo_path)
        if request.workspace is not None and (await self._paths.resolve("workspace", request.workspace)).root != named.root:
            raise InvalidInput("workspace and repo_path name different projects. Leave workspace out.", field="workspace")
        name = request.project_id
        if name is not None:
            await self._require_name(name, named)
        project = await self._admit(named, request, caller)
        if name is not None and name not in (project.project_id, project.alias):
            project = await self._registry.run(Registry.rename, project.project_id, name)
        return Routed(project=project, source="workspace", names_project=name is not None)

    async def _require_name(self, name: str, named: NamedProject) -> None:
        """Raises InvalidInput unless `name` is a name of the project, or can become its alias.

        A name that is taken outside of the allowed roots is refused without saying by what. Whether one is taken there matters
        only for a project without alias; an id of a project there is refused like any other.
        """
        alias = None if named.project is None else named.project.alias
        if name in (project_id(named.root), alias):
            return
        allowed = await self._paths.allowed()
        holder = await self._registry.run(Registry.find, name)
        if holder is not None and name in (holder.project_id, holder.alias) and is_within(holder.root, allowed):
            raise _not_its_name(named.root, name, "the name of another project")
        if alias is not None:
            raise _not_its_name(named.root, name, f"{alias!r} already")
        check_alias(name)
        try:
            await self._registry.run(Registry.require_free, name, project_id(named.root))
        except InvalidInput:
            if allowed:
                raise _not_its_name(named.root, name, "not a name to be given here") from None
            raise

    # named by the sources

    async def _detected(self, request: Request, caller: Caller, trail: Trail) -> Routed:
        unusable: list[str] = []
        async with aclosing(self._sources.detect(caller, unusable, trail)) as sources:
            decided = await anext(sources, None)
            if decided is None:
                raise ProjectNotFound(NOTHING_DETECTED + REMEDY + "".join(f" Besides, {warning}." for warning in unusable))
            others: list[NamedProject] = []
            if not self._rules.pinned:
                try:
                    async for other in sources:
                        others.append(other)  # noqa: PERF401 (those before a broken one count)
                except CodeCompassError as error:
                    trail.is_whole = False
                    self._log.info("project_source_broken", cause=error.message, decided_by=decided.source)
        for each in (decided, *others):
            trail.add(each.places if each.project is not None else ())
        warnings = disagreements(decided, others)
        if warnings:
            self._log.warning("project_sources_disagree", decided_by=decided.source, root=str(decided.root), others=warnings)
        project = await self._admit(decided, request, caller)
        return Routed(project=project, source=decided.source, warnings=(*unusable, *warnings))

    # registration

    async def _admit(self, named: NamedProject, request: Request, caller: Caller) -> Project:
        if named.project is not None:
            return named.project
        if named.root in self._rules.pinned:
            pinned = self._registry.run(Registry.register, named.root)
            return await self._or_assumed(named.root, request, pinned, is_discovered=False)
        is_alone = caller.transport == "stdio"
        if named.root not in self._rules.never:
            # A directory inside of a project means that project, unless the directory itself is to be indexed.
            is_ordered = isinstance(request, IndexRepo | IndexRepository)
            root = named.root if named.marked is None or is_ordered else named.marked
            if named.is_evicted:
                # An evicted workspace is known: it comes back, also at a server without --auto-workspace.
                return await self._or_assumed(named.root, request, self._auto.admit(named.root, was_evicted=True))
            if self._rules.auto_workspace and is_within(root, self._rules.allowed_roots):
                if not is_ordered:
                    await self._require_undoubted(named)
                return self._forgotten(root, request) or await self._or_assumed(root, request, self._auto.admit(root))
            # The one client over stdio acts for the user: what it orders to be indexed and where it works may be registered.
            if is_alone and is_ordered:
                return await self._own.register(named.root)
            if is_alone and await self._works_in(named, caller):
                await self._require_undoubted(named)
                return self._forgotten(named.root, request) or await self._or_assumed(
                    named.root, request, self._own.register(named.root), is_discovered=False
                )
            if is_alone and named.marked is not None:
                return self._forgotten(root, request) or await self._or_assumed(root, request, self._auto.admit(root))
        raise not_registered(
            named.root,
            is_named=named.source == "workspace",
            is_project=named.root not in self._rules.never,
            is_alone=is_alone,
            is_marked=named.marked is not None,
        )

    async def _or_assumed(
        self, root: Path, request: Request, registering: Awaitable[Project], *, is_discovered: bool = True
    ) -> Project:
        """Returns the project that is being registered; if the registry cannot be written, an assumed entry, for any request that
        is not to index: its files are there to be asked."""
        try:
            return await registering
        except StoreRefused as error:
            if isinstance(request, IndexRepo | IndexRepository | SyncRepo):
                raise
            return self._own.assume(root, error, auto_discovered=is_discovered)

    def _forgotten(self, root: Path, request: Request) -> Project | None:
        """Returns the removed entry of a project whose first index came to nothing, for a request that is not to register it
        again: any question during the pause after the failure, and one about its state at any time."""
        if isinstance(request, IndexRepo | IndexRepository | SyncRepo):
            return None
        return self._own.forgotten(project_id(root), in_pause=not isinstance(request, IndexStatus))

    async def _require_undoubted(self, named: NamedProject) -> None:
        """Raises WorkspaceNotRegistered for a directory without a marker that is probably not meant; see `doubt_about`."""
        if named.marked is not None:
            return
        roots = [project.root for project in await self._registry.run(Registry.projects)]
        root, limit = named.root, self._rules.max_unmarked_files
        doubt = await self._blocking.run(lambda _call: doubt_about(root, roots, limit), root)
        if doubt is not None:
            raise not_meant(doubt)

    async def _works_in(self, named: NamedProject, caller: Caller) -> bool:
        """Whether a source that the client itself has set names this project."""
        if self._rules.pinned:
            return False
        if named.source in SET_BY_CLIENT:
            return True
        try:
            async with aclosing(self._sources.detect(caller)) as sources:
                async for other in sources:
                    if other.source in SET_BY_CLIENT and other.root == named.root:
                        return True
        except CodeCompassError as error:
            self._log.info("project_source_broken", cause=error.message, decided_by=named.source)
        return False

    async def _touch(self, project: Project) -> None:
        try:
            await self._registry.run(Registry.touch, project.project_id)
        except CodeCompassError as error:
            # A locked or read-only registry must not fail a question.
            self._log.warning("touch_failed", project=project.name, cause=error.message)


def _not_its_name(root: Path, name: str, called: str) -> InvalidInput:
    return InvalidInput(
        f"{shown(str(root))} cannot be called {name!r}: it is {called}. Leave project_id out, or use another.",
        field="project_id",
        value=name,
        constraint="one name for one project",
    )
