"""Resolves the names of repositories in questions, and labels them in answers, among those that one viewer may see. Pure.

A repository can be named by its name (`pallets/flask`), the end of its address (`flask`, `github.com/pallets/flask`), the whole
address, its id, and the label that answers show: the shortest of these that is unique.
"""

import difflib
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cluster.access import EVERYONE, Viewer
from codecompass.cluster.repositories import Repository
from codecompass.errors import InvalidInput, ProjectNotFound
from codecompass.identity import ProjectId
from codecompass.projects.selection import SelectedProject
from codecompass.protocol.decode import several_projects
from codecompass.protocol.requests import ALL_PROJECTS
from codecompass.scan.git_remotes import parse_url
from codecompass.store.registry import Project

MAX_SELECTED: Final = 10_000
"""Repositories that one question may be about: as many as an organisation can have."""

SHOWN_NAMES: Final = 20
"""Names that an error lists."""

_PROTOCOLS: Final = ("https", "http", "ssh", "git", "file")


class Shelf(Struct, frozen=True):
    """The repositories that a viewer may see."""

    repositories: tuple[Repository, ...]
    """Sorted by name."""
    labels: Mapping[str, str]
    """By the ids of repositories."""
    groups: Mapping[str, tuple[Repository, ...]]
    """The groups that the viewer can name, with their members."""


def shelf(viewer: Viewer, repositories: Sequence[Repository]) -> Shelf:
    """Returns the shelf of a viewer; `repositories` are exactly those that the viewer may see.

    A viewer can name only their own groups, so that the names of other groups are not revealed.
    """
    nameable = {EVERYONE, *viewer.groups, *(group for each in repositories if viewer.is_admin for group in each.groups)}
    groups: dict[str, list[Repository]] = {}
    for each in repositories:
        for group in each.groups:
            if group in nameable:
                groups.setdefault(group, []).append(each)
    return Shelf(tuple(repositories), _labels(repositories), {name: tuple(members) for name, members in groups.items()})


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


def address_key(text: str) -> str:
    """Returns `host/path` of an address, the same for all addresses of one repository; other text is returned trimmed."""
    try:
        return parse_url(text, _PROTOCOLS).key.strip("/")
    except InvalidInput:
        return text.strip().strip("/").removesuffix(".git")


@lru_cache(maxsize=MAX_SELECTED)
def _key_of(url: str) -> str:
    """Like `address_key`, cached: a question to all repositories needs the keys of all."""
    return address_key(url)


def named(on: Shelf, text: str) -> Repository | None:
    """Returns the repository that `text` names, or None if there is none. Raises ProjectNotFound if it names several."""
    wanted = text.strip()
    for each in on.repositories:
        if wanted in (each.repo_id, each.name, on.labels[each.repo_id]):
            return each
    key = address_key(wanted)
    if not key:
        return None
    keys = [(_key_of(each.url), each) for each in on.repositories]
    found = [each for known, each in keys if known == key] or [each for known, each in keys if known.endswith(f"/{key}")]
    if len(found) > 1:
        names = shown_names([each.name for each in found])
        raise ProjectNotFound(f"{len(found)} repositories end with {wanted[:200]!r}: {names}. Pass one of these names.")
    return found[0] if found else None


def several(on: Shelf, workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names in `workspace` if it means several repositories (`*`, a list, a group), or None if one or none."""
    names = several_projects(workspace)
    if names is not None or workspace is None:
        return names
    text = workspace.strip()
    if "," in text:
        # Names of repositories have slashes, but no commas.
        return tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip()))) or None
    return (text,) if text in on.groups and named(on, text) is None else None


def select(on: Shelf, names: Sequence[str], now: float) -> tuple[SelectedProject, ...]:
    """Returns the repositories that `names` mean, without duplicates, in the order of `names`; those of a group and of `*` are
    sorted by name.

    Raises ProjectNotFound for an unknown name, InvalidInput for more than MAX_SELECTED.
    """
    chosen: dict[str, SelectedProject] = {}
    for name in names:
        together = on.repositories if name.strip() == ALL_PROJECTS else ()
        one = None if together else named(on, name)
        found = together or ((one,) if one is not None else on.groups.get(name.strip(), ()))
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


def not_found(on: Shelf, name: str) -> ProjectNotFound:
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
