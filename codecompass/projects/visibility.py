"""Which projects exist for clients of a server: one rule for lists, names, groups, health, metrics, the page, the warm set.

A project outside of the allowed roots exists for nobody. It is in no list and no count, its name means nothing, and its index is
not opened. A path outside is refused in the same way whether or not a project is there.
"""

from collections.abc import Iterable

from codecompass.projects.detection import RoutingRules
from codecompass.projects.path_resolution import is_within
from codecompass.store.registry import Project


def visible(projects: Iterable[Project], rules: RoutingRules) -> tuple[Project, ...]:
    """Returns the projects that exist for clients, in the same order. `projects` are all that are registered, or at least the
    default project and those in question. Pure."""
    projects = tuple(projects)
    default = next((each.root for each in projects if each.is_default), None)
    allowed = rules.visible_roots(default)
    return tuple(each for each in projects if is_within(each.root, allowed))
