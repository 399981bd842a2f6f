"""Which projects exist for clients of a server: one rule for lists, names, groups, health, metrics, the page, the warm set.

A project outside of the allowed roots exists for nobody. It is in no list and no count, its name means nothing, and its index is
not opened, not even as the base of another. A path outside is refused in the same way whether or not a project is there.
"""

from collections.abc import Iterable

from codecompass.actors.async_registry import AsyncRegistry
from codecompass.errors import CodeCompassError
from codecompass.projects.detection import RoutingRules
from codecompass.projects.path_resolution import is_within
from codecompass.store.nearest import Bases
from codecompass.store.registry import Project, Registry


def visible(projects: Iterable[Project], rules: RoutingRules) -> tuple[Project, ...]:
    """Returns the projects that exist for clients, in the same order. `projects` are all that are registered, or at least the
    default project and those in question. Pure."""
    projects = tuple(projects)
    default = next((each.root for each in projects if each.is_default), None)
    allowed = rules.visible_roots(default)
    return tuple(each for each in projects if is_within(each.root, allowed))


async def visible_bases(registry: AsyncRegistry, rules: RoutingRules) -> Bases:
    """Returns the ids of the projects whose indexes may be forked for clients; none if the registry cannot be read.

    An index without a registered project is not among them: nobody knows where its files were.
    """
    if not rules.allowed_roots:
        return None
    try:
        projects = await registry.run(Registry.projects)
    except CodeCompassError:
        return frozenset()
    return frozenset(each.project_id for each in visible(projects, rules))
