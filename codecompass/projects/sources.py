"""The sources that name a request's project if its arguments name none: the client, the server's flags and environment, a peer.

The order is in `projects/detection.py`. A source that is set but broken is an error, never a reason to try the next: an answer
from another project would look like a good one. The exceptions are client roots that do not exist, and a peer that does not
answer or names a project that is not registered here.
"""

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Final

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.projects.caller import Caller
from codecompass.projects.detection import PROJECT_VARIABLES, RoutingRules, SourceName
from codecompass.projects.kept_routes import Trail
from codecompass.projects.path_resolution import NamedProject, PathResolver, gone, not_allowed
from codecompass.store.registry import Registry

if TYPE_CHECKING:
    from codecompass.projects.active_project import ActiveProject

SET_BY_CLIENT: Final[frozenset[SourceName]] = frozenset({"client roots", *PROJECT_VARIABLES, "current directory"})
"""Sources that the one client of a stdio server sets itself, through its editor or shell, and so says where it works."""


class ProjectSources:
    """Finds the projects that the sources name. One instance a server; its only state is the cached answer of the peer."""

    def __init__(self, rules: RoutingRules, registry: AsyncRegistry, paths: PathResolver) -> None:
        self._rules = rules
        self._registry = registry
        self._paths = paths
        self._active: ActiveProject | None = None
        if rules.active_project is not None:
            # Imported lazily: the HTTP client is rarely needed and would delay the first answer of every server.
            from codecompass.projects import active_project

            self._active = active_project.ActiveProject(rules.active_project)

    async def detect(
        self, caller: Caller, unusable: list[str] | None = None, trail: Trail | None = None
    ) -> AsyncGenerator[NamedProject, None]:
        """Yields the project that each source names, the strongest first. Raises a source's error when its turn comes.

        What was read of sources that name none is added to `trail`. A peer, which may take a second, is queried only if no
        stronger source is set and `unusable` is given; a warning is appended to that if the peer names a project that is not
        registered here.
        """
        path, is_pinned, trail = caller.project_path, bool(self._rules.pinned), trail or Trail()
        rooted = None if is_pinned else await self._client_root(caller, trail)
        if rooted is not None:
            yield rooted
        if path is not None:
            yield await self._project_path(path)
        for source, value in self._rules.stated:
            yield await self._paths.resolve(source, value)
        if is_pinned:
            return
        if unusable is not None and rooted is None and path is None and not self._rules.stated:
            trail.is_whole = trail.is_whole and self._active is None
            active = await self._active_project(unusable)
            if active is not None:
                yield active
        here = await self._current_directory(caller, trail)
        if here is not None:
            yield here
        default = await self._registry.run(Registry.default)
        if default is not None:
            places = await self._paths.require_present(default)
            yield NamedProject(source="default project", root=default.root, project=default, places=places)

    async def _client_root(self, caller: Caller, trail: Trail) -> NamedProject | None:
        for root in await caller.roots():
            facts = await self._paths.inspect(root)
            if not facts.is_allowed:
                raise not_allowed(root)
            if facts.is_directory:
                return await self._paths.resolve_facts("client roots", root, facts)
            trail.add(())  # it may become a directory
        return None

    async def _project_path(self, path: str) -> NamedProject:
        await self._paths.check_project_path(path)
        return await self._paths.resolve("project_path", path)

    async def _active_project(self, unusable: list[str]) -> NamedProject | None:
        name = None if self._active is None else await self._active.project_id()
        if name is None:
            return None
        project, evicted = await self._paths.named(name)
        if project is not None:
            places = await self._paths.require_present(project)
            return NamedProject(source="active project", root=project.root, project=project, places=places)
        if evicted is not None:
            return await self._paths.resolve("active project", str(evicted))
        unusable.append(
            f"the active project {name!r} of the configured server is not registered here and was passed over; index_repository "
            "with its repo_path and this project_id registers it"
        )
        return None

    async def _current_directory(self, caller: Caller, trail: Trail) -> NamedProject | None:
        cwd = self._rules.cwd
        if cwd is None or not (self._rules.project_from_cwd or caller.transport == "stdio"):
            return None
        facts = await self._paths.inspect(str(cwd))
        if not facts.is_allowed or not facts.exists:
            if self._rules.project_from_cwd:
                raise gone("the current directory", cwd) if facts.is_allowed else not_allowed(str(cwd))
            trail.add(())
            return None
        named = await self._paths.resolve_facts("current directory", str(cwd), facts)
        is_project = named.project is not None or facts.marked is not None
        is_taken_as_it_is = self._rules.project_from_cwd and named.root not in self._rules.never
        if is_project or is_taken_as_it_is:
            return named
        trail.add(named.places)
        return None


def disagreements(decided: NamedProject, others: Sequence[NamedProject]) -> tuple[str, ...]:
    """Returns a warning for each weaker source that names another project. Pure.

    The default project is a mere fallback, so it never disagrees.
    """
    return tuple(
        f"{other.source} names another project: {other.root}; this answer is from {decided.root}, named by {decided.source}"
        for other in others
        if other.source != "default project" and other.root != decided.root
    )
