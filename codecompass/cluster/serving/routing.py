"""Selects the repositories that a question means, among those that its viewer may see, and labels them for answers.

    project_id > workspace > ?project_path= > the only repository

A repository can be named by its name (`pallets/flask`), the end of its address (`flask`, `github.com/pallets/flask`), the whole
address, its id, and the label that answers show: the shortest of these that is unique.

Invisible repositories are not searched at all, so they cannot be told from ones that do not exist: the message and the time
taken are the same.
"""

import difflib
import time
from collections import Counter, OrderedDict
from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from operator import is_
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cluster.access.visibility import EVERYONE, Viewer
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.library import Library, unknown
from codecompass.errors import CodeCompassError, InvalidInput, ProjectNotFound
from codecompass.identity import ProjectId
from codecompass.projects.caller import Caller
from codecompass.projects.detection import SourceName
from codecompass.projects.router import Routed
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.decode import several_projects
from codecompass.protocol.requests import ALL_PROJECTS, IndexRepo, IndexRepository, Request, SyncRepo
from codecompass.scan.git_remotes import address_key
from codecompass.store.registry import Project

MAX_SELECTED: Final = 10_000
"""Repositories that one question may be about: as many as an organisation can have."""

MAX_KEPT: Final = 64
"""Views of different groups that are kept; that of 2,000 repositories takes 2 MB."""

SHOWN_NAMES: Final = 20
"""Names that an error lists."""


class IndexedElsewhere(CodeCompassError):
    """The tool changes an index or needs a working tree, and this server has neither."""

    code = "not_here"


def indexed_by_workers() -> IndexedElsewhere:
    """Returns the error for a tool that would index."""
    return IndexedElsewhere(
        "nothing is indexed from here: the workers of this organisation keep each repository at its newest commit by themselves. "
        "index_status says which commit answers; ask whoever runs them to have a repository added (codecompass cluster add URL)."
    )


def needs_history(what: str) -> IndexedElsewhere:
    """Returns the error for a question about a history that is not published."""
    return IndexedElsewhere(
        f"{what} needs the history, and none of this is published here: workers publish that of the default branch with its "
        "next commit, unless cluster.history is 0. Ask a codecompass that runs beside a full clone (git clone, then codecompass "
        "search there); without it, search_code answers here, for each ref that list_refs shows."
    )


class VisibleRepositories(Struct, frozen=True, dict=True):
    """The repositories that a viewer may see. What is derived from them is made when it is first needed, and kept."""

    repositories: tuple[Repository, ...]
    """Sorted by name."""
    labels: Mapping[str, str]
    """By the ids of repositories."""
    groups: Mapping[str, tuple[Repository, ...]]
    """The groups that the viewer can name, with their members."""

    @cached_property
    def everything(self) -> tuple[SelectedProject, ...]:
        """All of them as projects, as `*` means them."""
        now = time.time()
        return tuple(
            [
                SelectedProject(project_of(each, self.labels[each.repo_id], now), self.labels[each.repo_id])
                for each in self.repositories
            ]
        )

    @cached_property
    def by_name(self) -> Mapping[str, Repository]:
        """The first one that is called so: by its id, its name or its label."""
        found: dict[str, Repository] = {}
        for each in self.repositories:
            for name in (each.repo_id, each.name, self.labels[each.repo_id]):
                found.setdefault(name, each)
        return found


class KeptViews:
    """What viewers see, kept while the list of repositories is the same: names and labels of thousands take milliseconds to make,
    and the questions of a moment need the same ones. For one event loop."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[frozenset[str], bool], VisibleRepositories] = OrderedDict()

    def of(self, viewer: Viewer, repositories: Sequence[Repository]) -> VisibleRepositories:
        """Returns what `visible_repositories` does."""
        key = (viewer.groups, viewer.is_admin)
        kept = self._kept.get(key)
        if kept is None or len(kept.repositories) != len(repositories) or not all(map(is_, kept.repositories, repositories)):
            kept = self._kept[key] = visible_repositories(viewer, repositories)
        self._kept.move_to_end(key)
        if len(self._kept) > MAX_KEPT:
            self._kept.popitem(last=False)
        return kept


def visible_repositories(viewer: Viewer, repositories: Sequence[Repository]) -> VisibleRepositories:
    """Returns the repositories of a viewer with labels and groups; `repositories` are exactly those that the viewer may see.

    A viewer can name only their own groups, so that the names of other groups are not revealed.
    """
    nameable = {EVERYONE, *viewer.groups, *(group for each in repositories if viewer.is_admin for group in each.groups)}
    groups: dict[str, list[Repository]] = {}
    for each in repositories:
        for group in each.groups:
            if group in nameable:
                groups.setdefault(group, []).append(each)
    return VisibleRepositories(
        tuple(repositories), _labels(repositories), {name: tuple(members) for name, members in groups.items()}
    )


class LibraryRouter:
    """Implements `services.Routing` for one question. `library` is the viewer's, for this question; `views` are of all."""

    def __init__(self, library: Library, views: KeptViews) -> None:
        self._library = library
        self._views = views
        self._cached: VisibleRepositories | None = None

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
        return several(await self._visible(), workspace)

    async def select(self, names: Sequence[str]) -> tuple[SelectedProject, ...]:
        """Returns the repositories that these names mean. Raises the same errors as the function `select`."""
        return select(await self._visible(), names, time.time())

    async def require_present(self, project: Project) -> None:
        """Does nothing: a repository has no directory here."""

    async def head_ref(self, project: Project) -> str:
        """Returns the ref that answers if none is asked for."""
        return (await self._library.newest(project.project_id)).default_ref

    async def _one(self, name: str) -> Repository:
        on = await self._visible()
        found = named(on, name)
        if found is None:
            raise not_found(on, name)
        return found

    async def _only_one(self) -> Repository:
        on = await self._visible()
        if len(on.repositories) == 1:
            return on.repositories[0]
        if not on.repositories:
            raise not_found(on, "")
        shown = shown_names(sorted(on.labels.values()))
        raise ProjectNotFound(
            f"name a repository: pass one of {shown} as workspace; search_code, locate_symbol and find_references take '*' for "
            "all of them, a group, or a list."
        )

    async def _project(self, repository: Repository) -> Project:
        label = (await self._visible()).labels.get(repository.repo_id)
        if label is None:
            raise unknown(repository.repo_id)
        return project_of(repository, label, time.time())

    async def _visible(self) -> VisibleRepositories:
        if self._cached is None:
            self._cached = self._views.of(self._library.viewer, await self._library.repositories())
        return self._cached


def project_of(repository: Repository, label: str, now: float) -> Project:
    """Returns a repository as the project that tools see. Its root is not a directory of this machine and never accessed."""
    return Project(
        project_id=ProjectId(repository.repo_id),
        alias=label,
        root=Path("/" + _key_of(repository.url)),
        is_auto_discovered=False,
        is_default=False,
        created_at=repository.added_at,
        last_used_at=now,
    )


@lru_cache(maxsize=MAX_SELECTED)
def _key_of(url: str) -> str:
    """Like `address_key`, cached: a question to all repositories needs the keys of all."""
    return address_key(url)


def named(on: VisibleRepositories, text: str) -> Repository | None:
    """Returns the repository that `text` names, or None if there is none. Raises ProjectNotFound if it names several."""
    wanted = text.strip()
    called = on.by_name.get(wanted)
    if called is not None:
        return called
    key = address_key(wanted)
    if not key:
        return None
    keys = [(_key_of(each.url), each) for each in on.repositories]
    found = [each for known, each in keys if known == key] or [each for known, each in keys if known.endswith(f"/{key}")]
    if len(found) > 1:
        names = shown_names([each.name for each in found])
        raise ProjectNotFound(f"{len(found)} repositories end with {wanted[:200]!r}: {names}. Pass one of these names.")
    return found[0] if found else None


def several(on: VisibleRepositories, workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names in `workspace` if it means several repositories (`*`, a list, a group), or None if one or none."""
    names = several_projects(workspace)
    if names is not None or workspace is None:
        return names
    text = workspace.strip()
    if "," in text:
        # Names of repositories have slashes, but no commas.
        return tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip()))) or None
    return (text,) if text in on.groups and named(on, text) is None else None


def select(on: VisibleRepositories, names: Sequence[str], now: float) -> tuple[SelectedProject, ...]:
    """Returns the repositories that `names` mean, without duplicates, in the order of `names`; those of a group and of `*` are
    sorted by name.

    Raises ProjectNotFound for an unknown name, InvalidInput for more than MAX_SELECTED.
    """
    chosen: dict[str, SelectedProject] = {}
    for name in names:
        if name.strip() == ALL_PROJECTS and on.repositories:
            for selected in on.everything:
                chosen.setdefault(selected.project.project_id, selected)
            continue
        one = named(on, name)
        found = (one,) if one is not None else on.groups.get(name.strip(), ())
        if not found:
            raise not_found(on, name)
        for each in found:
            label = on.labels[each.repo_id]
            project = project_of(each, label, now)
            chosen.setdefault(each.repo_id, SelectedProject(project, label, is_named=one is not None))
    if len(chosen) > MAX_SELECTED:
        raise InvalidInput(
            f"{len(chosen):,} repositories are meant; a question may be about {MAX_SELECTED:,}. Name fewer, or a group.",
            field="workspace",
            constraint=f"at most {MAX_SELECTED} repositories",
        )
    return tuple(chosen.values())


def shown_names(names: Sequence[str]) -> str:
    """Returns the first SHOWN_NAMES names for a message."""
    return ", ".join(names[:SHOWN_NAMES]) + (", ..." if len(names) > SHOWN_NAMES else "")


def not_found(on: VisibleRepositories, name: str) -> ProjectNotFound:
    """Returns the error for a name that the viewer may not see, the same whether or not such a repository exists."""
    if not on.repositories:
        return ProjectNotFound(
            "no repository is open to you here. Ask whoever runs this server which group you are in, and to have repositories "
            "added to it."
        )
    labels = sorted([*on.labels.values(), *on.groups])
    near = difflib.get_close_matches(name, labels, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    return ProjectNotFound(
        f"no repository or group is called {name[:200]!r}.{meant} Known: {shown_names(labels)}. "
        "Pass one of them, or '*' for all.",
        project_id=name[:200],
    )


def _labels(repositories: Sequence[Repository]) -> dict[str, str]:
    """Returns labels by id: the last part of the name if it is unique, else the whole name, else the id."""
    last = {each.repo_id: each.name.rpartition("/")[2] for each in repositories}
    taken = Counter(last.values())
    taken.update(each.name for each in repositories if "/" in each.name)
    return {
        each.repo_id: next((name for name in (last[each.repo_id], each.name) if taken[name] == 1), each.repo_id)
        for each in repositories
    }
