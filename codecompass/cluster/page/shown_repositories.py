"""The repositories that the page shows to one viewer, as the projects that its pages know, and the groups to search."""

import time

from msgspec import Struct

from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.library import Library
from codecompass.cluster.serving.routing import project_of, visible_repositories
from codecompass.formatting import iso_time
from codecompass.transport.ui.search_form import Choices
from codecompass.transport.ui.shown_projects import ShownProject


class ShownRepositories(Struct, frozen=True):
    """What a viewer can choose from."""

    projects: tuple[ShownProject, ...]
    """By label, in any case."""
    choices: Choices


async def shown_repositories(library: Library) -> ShownRepositories:
    """Returns what the viewer of `library` can choose from, a moment old. Raises EngineUnavailable."""
    on = visible_repositories(library.viewer, await library.repositories())
    now = time.time()
    projects = sorted(
        (_shown(each, on.labels[each.repo_id], now) for each in on.repositories), key=lambda each: (each.label.lower(), each.root)
    )
    # A repository of the same name is meant before a group.
    taken = {text for each in projects for text in (each.label, each.name, each.root.rpartition("/")[2])}
    groups = sorted(name for name in on.groups if name not in taken)
    return ShownRepositories(tuple(projects), Choices(tuple(groups), begins_with_all=True))


def _shown(repository: Repository, label: str, now: float) -> ShownProject:
    project = project_of(repository, label, now)
    head = repository.default_head
    return ShownProject(
        project_id=project.project_id,
        name=repository.name,
        label=label,
        root=str(project.root).lstrip("/"),
        state="not_indexed" if head is None else "ready",
        freshness="fresh",
        residency="on_disk",
        ref=repository.default_ref,
        file_count=0 if head is None else head.file_count,
        symbol_count=0 if head is None else head.symbol_count,
        source_bytes=0 if head is None else head.source_bytes,
        last_indexed_at="" if head is None else iso_time(head.published_at),
        last_error="",
        last_used_at=0.0,
        is_home=False,
        job=None,
    )
