"""Which workspace a request means, and whether this server may answer for it.

    argument > ?project_path= where pinned > pin                              pinned: nothing else is asked
    argument > client roots > ?project_path= > environment                    not pinned; the first one decides
             > active project of a peer > cwd > default

Whatever names it: real path, allowed roots, the nearest registered project (a git work tree inside it is one of its own).
A source that is there but broken is an error, never a reason to try the next: an answer from another project would look
like a good one. The exceptions are client roots that do not exist, and a peer that cannot be asked or names no project that
is registered here (seed 003). Owns no state but what eviction needs and what the peer has said.
"""

import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

import structlog
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound
from codecompass.identity import project_id
from codecompass.projects.caller import Caller
from codecompass.projects.errors import gone, missing, no_project_path, not_allowed, not_registered, shown
from codecompass.projects.eviction import FULL, AutoWorkspaces
from codecompass.projects.paths import Place, is_absolute, is_within, look, owner
from codecompass.projects.rules import PROJECT_VARIABLES, ActiveProjectPeer, RoutingRules
from codecompass.protocol.requests import IndexRepo, IndexRepository, IndexStatus, Request
from codecompass.scan.git_repository import read_head
from codecompass.store.registry import Project, Registry, check_alias
from codecompass.units import MINUTES

if TYPE_CHECKING:
    from codecompass.projects.active_project import ActiveProject


SourceName = Literal[
    "workspace",
    "project_id",
    "project_path",
    "--workspace",
    "client roots",
    "CODECOMPASS_PROJECT",
    "CLAUDE_PROJECT_DIR",
    "active project",
    "current directory",
    "default project",
]

HINT: Final = "Tip: Use Claude Code for automatic project detection"
NOTHING_DETECTED: Final = "No project detected. Set CODECOMPASS_PROJECT or use --project-from-cwd."
"""Seed 004, word for word."""

REMEDY: Final = (
    " Or pass workspace, the absolute path of the repository, with each call; over stdio, index_repo with it takes up a new one."
)
"""For whoever can do neither: an agent has tools, no environment and no command line."""

TOUCH_SECONDS: Final = 1 * MINUTES
"""A project used more recently than this is not noted as used again: a question should not write."""

_WALKS_UP: Final = frozenset({"client roots", "CLAUDE_PROJECT_DIR", "current directory"})
"""Sources that name where somebody stands, not what they want: their project is the one around it."""

_OF_THE_CLIENT: Final = frozenset({"client roots", *PROJECT_VARIABLES, "current directory"})
"""Sources by which the one client of a stdio server says where it works: its own editor or shell has set them."""

_HINTED: Final = frozenset({*PROJECT_VARIABLES, "current directory"})


class Routed(Struct, frozen=True, kw_only=True):
    """The project of a request. `warnings` and `hint` go into the answer's metadata.

    Ask the supervisor for its workspace before the next checkpoint: it is not evicted as long as it has a question.
    """

    project: Project
    source: SourceName
    warnings: tuple[str, ...] = ()
    hint: str = ""
    names_project: bool = False


class Spot(Struct, frozen=True, kw_only=True):
    """Where a source points: the root of a project, and the project if it is registered. `is_evicted` where it was once."""

    source: SourceName
    root: Path
    project: Project | None
    is_evicted: bool = False


class Router:
    """See the module. One for a server."""

    def __init__(
        self, rules: RoutingRules, registry: AsyncRegistry, auto_workspaces: AutoWorkspaces, blocking: BlockingCalls
    ) -> None:
        self._rules = rules
        self._registry = registry
        self._auto = auto_workspaces
        self._active = None if rules.active_project is None else _active_project(rules.active_project)
        self._blocking = blocking
        self._log = structlog.get_logger(__name__)

    async def register_pinned(self) -> tuple[Project, ...]:
        """Makes the workspaces of `--workspace` known, at the start, and returns their projects in that order."""
        projects = []
        for root in self._rules.pinned:
            spot = await self._spot("--workspace", str(root))
            project = spot.project
            if project is None:
                project = await self._registry.run(Registry.register, spot.root)
            if project.is_auto_discovered:
                # Whoever pins a workspace wants it kept, by all servers.
                project = await self._registry.run(Registry.adopt, project.project_id, as_default=False)
            projects.append(project)
        return tuple(projects)

    async def check_project_path(self, path: str) -> None:
        """Raises InvalidInput for a `?project_path=` that an HTTP transport answers with status 400.

        Outside of the allowed roots nothing is said here: the call itself is refused then, whether or not it exists.
        """
        place = await self._look(path)
        if not path.startswith("/") or (place.is_allowed and not place.exists):
            raise no_project_path(path)

    async def route(self, request: Request, caller: Caller) -> Routed:
        """Returns the project that `request` means, registered now if it is to be taken up.

        Raises ProjectNotFound, WorkspaceNotRegistered, WorkspaceNotAllowed, WorkspaceLimitExceeded, or InvalidInput
        where arguments contradict each other or a `?project_path=` is broken.
        """
        while True:
            if isinstance(request, IndexRepository):
                routed = await self._repository(request, caller)
            elif request.project_id is not None:
                routed = await self._named(request.project_id, request.workspace)
            elif request.workspace is not None:
                spot = await self._spot("workspace", request.workspace)
                routed = Routed(project=await self._admit(spot, request, caller), source="workspace")
            else:
                routed = await self._detected(request, caller)
            await self._touch(routed.project)
            # From here to the caller's question there is no checkpoint, and a workspace with a question is never evicted.
            if not self._auto.is_leaving(routed.project.project_id):
                if self._auto.is_full and isinstance(request, IndexStatus):
                    return replace(routed, warnings=(*routed.warnings, FULL))
                return routed
            await self._auto.wait_settled()

    async def head_ref(self, project: Project) -> str:
        """Returns the branch that the tree of a project is on, as answers name it. Raises FileSystemUnresponsive."""
        return await self._blocking.run(lambda _call: read_head(str(project.root)).ref, project.root)

    # what a request names

    async def _named(self, name: str, workspace: str | None) -> Routed:
        project, evicted = await self._registry.run(lambda registry: registry.find_or_evicted_root(name))
        if project is None:
            if evicted is None:
                raise ProjectNotFound(
                    f"no project is called {name!r}. Pass the path as workspace, or a project_id that health_check lists "
                    "(on the command line: codecompass projects list)",
                    project_id=name,
                )
            project = await self._auto.admit((await self._spot("project_id", str(evicted))).root)
        if workspace is not None:
            spot = await self._spot("workspace", workspace)
            if spot.root != project.root:
                raise InvalidInput(
                    f"workspace and project_id name different projects: {shown(str(spot.root))} and {name}. Give one of them.",
                    field="workspace",
                    value=shown(workspace),
                    constraint="the same project as project_id",
                )
        await self._require_there(project)
        return Routed(project=project, source="project_id", names_project=True)

    async def _repository(self, request: IndexRepository, caller: Caller) -> Routed:
        if not is_absolute(request.repo_path):
            raise InvalidInput(
                f"repo_path must be absolute, got: {shown(request.repo_path)}",
                field="repo_path",
                value=shown(request.repo_path),
                constraint="absolute path",
            )
        spot = await self._spot("workspace", request.repo_path)
        if request.workspace is not None and (await self._spot("workspace", request.workspace)).root != spot.root:
            raise InvalidInput("workspace and repo_path name different projects. Leave workspace out.", field="workspace")
        name = request.project_id
        if name is not None:
            holder = await self._registry.run(Registry.find, name)
            is_taken = holder is not None and holder.root != spot.root
            is_renamed = holder is None and spot.project is not None and spot.project.alias is not None
            if is_taken or is_renamed:
                called = f"{spot.project.name!r} already" if is_renamed and spot.project else "the name of another project"
                raise InvalidInput(
                    f"{shown(str(spot.root))} cannot be called {name!r}: it is {called}. Leave project_id out, or use another.",
                    field="project_id",
                    value=name,
                    constraint="one name for one project",
                )
            if holder is None and name != project_id(spot.root):
                check_alias(name)
        project = await self._admit(spot, request, caller)
        if name is not None and name not in (project.project_id, project.alias):
            project = await self._registry.run(Registry.rename, project.project_id, name)
        return Routed(project=project, source="workspace", names_project=name is not None)

    # what the surroundings name

    async def _detected(self, request: Request, caller: Caller) -> Routed:
        unusable: list[str] = []
        async with aclosing(self._sources(caller, unusable)) as sources:
            decided = await anext(sources, None)
            if decided is None:
                raise ProjectNotFound(NOTHING_DETECTED + REMEDY + "".join(f" Besides, {warning}." for warning in unusable))
            others: list[Spot] = []
            if not self._rules.pinned:
                try:
                    async for other in sources:
                        others.append(other)  # noqa: PERF401 (what was found before one is broken counts)
                except CodeCompassError as error:
                    self._log.info("project_source_broken", cause=error.message, decided_by=decided.source)
        warnings = disagreements(decided, others)
        if warnings:
            self._log.warning("project_sources_disagree", decided_by=decided.source, root=str(decided.root), others=warnings)
        project = await self._admit(decided, request, caller)
        hint = HINT if decided.source in _HINTED and caller.take_hint() else ""
        return Routed(project=project, source=decided.source, warnings=(*unusable, *warnings), hint=hint)

    async def _sources(self, caller: Caller, unusable: list[str] | None = None) -> AsyncGenerator[Spot, None]:
        """Yields where each source points, the strongest first. Raises what is wrong with one when its turn comes.

        A peer is asked only where `unusable` is given, which takes what is wrong with its answer, and where nothing stronger
        is there: it may take a second, and what it says does not matter otherwise.
        """
        path = caller.project_path
        if self._rules.pinned:
            if path is not None:
                yield await self._project_path(path)
            yield await self._spot("--workspace", str(self._rules.pinned[0]))
            return
        rooted = await self._client_root(caller)
        if rooted is not None:
            yield rooted
        if path is not None:
            yield await self._project_path(path)
        for name, value in self._rules.environment:
            yield await self._spot(name, value)
        if unusable is not None and rooted is None and path is None and not self._rules.environment:
            active = await self._active_project(unusable)
            if active is not None:
                yield active
        here = await self._current_directory(caller)
        if here is not None:
            yield here
        default = await self._registry.run(Registry.default)
        if default is not None:
            await self._require_there(default)
            yield Spot(source="default project", root=default.root, project=default)

    async def _client_root(self, caller: Caller) -> Spot | None:
        for root in await caller.roots():
            place = await self._look(root)
            if not place.is_allowed:
                raise not_allowed(root)
            if place.is_directory:
                return await self._spot_at("client roots", root, place)
        return None

    async def _project_path(self, path: str) -> Spot:
        await self.check_project_path(path)
        return await self._spot("project_path", path)

    async def _active_project(self, unusable: list[str]) -> Spot | None:
        name = None if self._active is None else await self._active.project_id()
        if name is None:
            return None
        project, evicted = await self._registry.run(lambda registry: registry.find_or_evicted_root(name))
        if project is not None:
            await self._require_there(project)
            return Spot(source="active project", root=project.root, project=project)
        if evicted is not None:
            return await self._spot("active project", str(evicted))
        unusable.append(
            f"the active project {name!r} of the configured server is not registered here and was passed over; index_repository "
            "with its repo_path and this project_id registers it"
        )
        return None

    async def _current_directory(self, caller: Caller) -> Spot | None:
        cwd = self._rules.cwd
        if cwd is None or not (self._rules.project_from_cwd or caller.transport == "stdio"):
            return None
        place = await self._look(str(cwd))
        if not place.is_allowed:
            if self._rules.project_from_cwd:
                raise not_allowed(str(cwd))
            return None
        if not place.exists:
            if self._rules.project_from_cwd:
                raise gone("the current directory", cwd)
            return None
        spot = await self._spot_at("current directory", str(cwd), place)
        is_project = spot.project is not None or place.marked is not None
        is_taken_as_it_is = self._rules.project_from_cwd and spot.root not in self._rules.never
        return spot if is_project or is_taken_as_it_is else None

    # from a path to a project

    async def _spot(self, source: SourceName, path: str) -> Spot:
        place = await self._look(path)
        if not place.is_allowed:
            raise not_allowed(path)
        if not place.exists:
            raise missing(source, path, place.path)
        return await self._spot_at(source, path, place)

    async def _spot_at(self, source: SourceName, path: str, place: Place) -> Spot:
        """Returns the project that an existing place belongs to, or would make."""
        nearest, evicted = await self._registry.run(_around, place.directory)
        allowed = await self._allowed()
        known = [each for each in (None if nearest is None else nearest.root, evicted) if each is not None]
        root = owner(place, max(known, key=lambda each: len(each.parts), default=None))
        if root is None:
            marked = place.marked if source in _WALKS_UP else None
            root = marked if marked is not None and is_within(marked, allowed) else place.directory
        if not is_within(root, allowed):
            # Registered above the allowed roots: its answers would come from outside of them.
            raise not_allowed(path)
        project = nearest if nearest is not None and nearest.root == root else await self._registry.run(Registry.at, root)
        return Spot(source=source, root=root, project=project, is_evicted=evicted == root)

    async def _require_there(self, project: Project) -> None:
        """Raises WorkspaceNotAllowed or ProjectNotFound unless the root of `project` is what it was when registered."""
        place = await self._look(str(project.root))
        if not place.is_allowed:
            raise not_allowed(project.name)
        if not place.is_directory or place.path != project.root:
            raise gone(f"project {project.name}", project.root)

    async def _look(self, path: str) -> Place:
        allowed, never = await self._allowed(), self._rules.never
        # Relative to where we stand; what is not a path at all is told so by `look`.
        place = path if path.startswith("/") else str(self._rules.cwd or "/")
        return await self._blocking.run(lambda call: look(path, allowed, never, call), place)

    async def _allowed(self) -> tuple[Path, ...]:
        """The roots that workspaces may lie in; empty for anywhere. What the user pinned or made the default counts."""
        if not self._rules.allowed_roots:
            return ()
        default = await self._registry.run(Registry.default)
        return (*self._rules.allowed_roots, *self._rules.pinned, *(() if default is None else (default.root,)))

    # taking up what is not registered

    async def _admit(self, spot: Spot, request: Request, caller: Caller) -> Project:
        if spot.project is not None:
            return spot.project
        if spot.root in self._rules.pinned:
            return await self._registry.run(Registry.register, spot.root)
        if spot.root not in self._rules.never:
            is_taken_up = self._rules.auto_workspace and is_within(spot.root, self._rules.allowed_roots)
            if is_taken_up or spot.is_evicted:
                # What was evicted is not unknown: it comes back, also at a server that discovers nothing.
                return await self._auto.admit(spot.root)
            # Over stdio there is one client, who is the user: what indexing it is told to do, or what it stands in, is meant.
            is_ordered = isinstance(request, IndexRepo | IndexRepository)
            if caller.transport == "stdio" and (is_ordered or await self._stands_in(spot, caller)):
                return await self._registry.run(Registry.register, spot.root)
        raise not_registered(
            spot.root,
            is_named=spot.source == "workspace",
            is_project=spot.root not in self._rules.never,
        )

    async def _stands_in(self, spot: Spot, caller: Caller) -> bool:
        """Whether the client of a stdio server has said by itself that it works in that project."""
        if self._rules.pinned:
            return False
        if spot.source in _OF_THE_CLIENT:
            return True
        try:
            async with aclosing(self._sources(caller)) as sources:
                async for other in sources:
                    if other.source in _OF_THE_CLIENT and other.root == spot.root:
                        return True
        except CodeCompassError as error:
            # One that is broken is an error for whom it decides.
            self._log.info("project_source_broken", cause=error.message, decided_by=spot.source)
        return False

    async def _touch(self, project: Project) -> None:
        if time.time() - project.last_used_at > TOUCH_SECONDS:
            try:
                await self._registry.run(Registry.touch, project.project_id)
            except CodeCompassError as error:
                # A registry that is locked or read-only must not fail a question.
                self._log.warning("touch_failed", project=project.name, cause=error.message)


def _around(registry: Registry, path: Path) -> tuple[Project | None, Path | None]:
    """Returns the nearest project at or above `path`, and the nearest root of an evicted one."""
    return registry.containing(path), registry.evicted_root_containing(path)


def disagreements(decided: Spot, others: Sequence[Spot]) -> tuple[str, ...]:
    """Returns what is to be said of weaker sources that name another project. Pure.

    A default project is what is left when nobody says anything: it disagrees with nobody.
    """
    return tuple(
        f"{other.source} names another project: {other.root}; this answer is from {decided.root}, named by {decided.source}"
        for other in others
        if other.source != "default project" and other.root != decided.root
    )


def _active_project(peer: ActiveProjectPeer) -> "ActiveProject":
    # An HTTP client that nearly nobody needs must not delay the first answer of every server.
    from codecompass.projects.active_project import ActiveProject

    return ActiveProject(peer)
