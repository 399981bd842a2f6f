"""Selects the repository that a question means, among those that its viewer may see.

    project_id > workspace > ?project_path= > the only repository

Invisible repositories are not searched at all, so they cannot be told from ones that do not exist: the message and the time
taken are the same.
"""

import time
from collections.abc import Sequence

from codecompass.cluster import naming
from codecompass.cluster.library import Library, unknown
from codecompass.cluster.naming import Shelf, shelf
from codecompass.cluster.repositories import Repository
from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound
from codecompass.projects.caller import Caller
from codecompass.projects.detection import SourceName
from codecompass.projects.router import Routed
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.requests import IndexRepo, IndexRepository, Request, SyncRepo
from codecompass.store.registry import Project


class IndexedElsewhere(CodeCompassError):
    """The tool changes an index or needs a working tree, and this server has neither."""

    code = "not_here"


def indexed_by_workers() -> IndexedElsewhere:
    """Returns the error for a tool that would index."""
    return IndexedElsewhere(
        "nothing is indexed from here: the workers of this organisation keep each repository at its newest commit by themselves. "
        "index_status says which commit answers; ask whoever runs them to have a repository added (codecompass cluster add URL)."
    )


def needs_clone(what: str) -> IndexedElsewhere:
    """Returns the error for a question that needs git."""
    return IndexedElsewhere(
        f"{what} needs a clone of the repository, and this server answers from an index alone. Ask a codecompass that runs "
        "beside a clone; without a comparison, search_code and the others answer here."
    )


class LibraryRouter:
    """Implements `services.Routing` for one question. `library` is the viewer's, for this question."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._shelf: Shelf | None = None

    async def route(self, request: Request, caller: Caller) -> Routed:
        """Returns the repository that `request` means, in its current state.

        Raises ProjectNotFound, InvalidInput if arguments contradict each other, IndexedElsewhere for a tool that indexes,
        EngineUnavailable.
        """
        if isinstance(request, IndexRepo | SyncRepo | IndexRepository):
            raise indexed_by_workers()
        source: SourceName = "workspace"
        if request.project_id is not None:
            source, repository = "project_id", await self._one(request.project_id)
            if request.workspace is not None and (await self._one(request.workspace)).repo_id != repository.repo_id:
                raise InvalidInput("workspace and project_id name different repositories. Give one of them.", field="workspace")
        elif request.workspace is not None:
            repository = await self._one(request.workspace)
        elif caller.project_path:
            source, repository = "project_path", await self._one(caller.project_path)
        else:
            source, repository = "default project", await self._only_one()
        newest = await self._library.newest(repository.repo_id)
        return Routed(
            project=(await self._project(newest)),
            source=source,
            names_project=request.project_id is not None,
        )

    async def several(self, workspace: str | None) -> tuple[str, ...] | None:
        """Returns the names in `workspace` if it means several repositories or a group, else None."""
        return naming.several(await self._on_shelf(), workspace)

    async def select(self, names: Sequence[str]) -> tuple[SelectedProject, ...]:
        """Returns the repositories that these names mean. Raises the same errors as `naming.select`."""
        return naming.select(await self._on_shelf(), names, time.time())

    async def require_present(self, project: Project) -> None:
        """Does nothing: a repository has no directory here."""

    async def head_ref(self, project: Project) -> str:
        """Returns the ref that answers if none is asked for."""
        return (await self._library.newest(project.project_id)).default_ref

    async def _one(self, name: str) -> Repository:
        on = await self._on_shelf()
        found = naming.named(on, name)
        if found is None:
            raise naming.not_found(on, name)
        return found

    async def _only_one(self) -> Repository:
        on = await self._on_shelf()
        if len(on.repositories) == 1:
            return on.repositories[0]
        if not on.repositories:
            raise naming.not_found(on, "")
        shown = naming.shown_names(sorted(on.labels.values()))
        raise ProjectNotFound(
            f"name a repository: pass one of {shown} as workspace; search_code, locate_symbol and find_references take '*' for "
            "all of them, a group, or a list."
        )

    async def _project(self, repository: Repository) -> Project:
        label = (await self._on_shelf()).labels.get(repository.repo_id)
        if label is None:
            raise unknown(repository.repo_id)
        return naming.project_of(repository, label, time.time())

    async def _on_shelf(self) -> Shelf:
        if self._shelf is None:
            self._shelf = shelf(self._library.viewer, await self._library.repositories())
        return self._shelf
