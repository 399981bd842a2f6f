"""What repositories are called in questions and answers, among those that one viewer may see. Pure.

A repository answers to its name (`pallets/flask`), the end of its address (`flask`, `github.com/pallets/flask`), the whole
address, its id, and the label that answers show: the shortest of these that no other one has.
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
from codecompass.protocol.named_projects import several_projects
from codecompass.protocol.requests import ALL_PROJECTS
from codecompass.scan.git_remotes import parse_url
from codecompass.store.registry import Project

MAX_SELECTED: Final = 10_000
"""Repositories that one question may be about: all that an organisation can have."""

SHOWN_NAMES: Final = 20
"""Names that an error lists."""

_PROTOCOLS: Final = ("https", "http", "ssh", "git", "file")


class Shelf(Struct, frozen=True):
    """The repositories that a viewer may see, by name, with their labels by id and the groups that the viewer can name."""

    repositories: tuple[Repository, ...]
    labels: Mapping[str, str]
    groups: Mapping[str, tuple[Repository, ...]]


def shelf(viewer: Viewer, repositories: Sequence[Repository]) -> Shelf:
    """Returns the shelf of a viewer; `repositories` are those that the viewer may see, and no others.

    Of their groups only those of the viewer can be named: the names of others are nobody else's business.
    """
    nameable = {EVERYONE, *viewer.groups, *(group for each in repositories if viewer.is_admin for group in each.groups)}
    groups: dict[str, list[Repository]] = {}
    for each in repositories:
        for group in each.groups:
            if group in nameable:
                groups.setdefault(group, []).append(each)
    return Shelf(tuple(repositories), _labels(repositories), {name: tuple(members) for name, members in groups.items()})


def project_of(repository: Repository, label: str, now: float) -> Project:
    """Returns a repository as the project that tools know; its root is no directory of this machine and never looked at."""
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
    """Returns `host/path` of an address, without what differs between addresses of one repository; of other text the text."""
    try:
        return parse_url(text, _PROTOCOLS).key.strip("/")
    except InvalidInput:
        return text.strip().strip("/").removesuffix(".git")


@lru_cache(maxsize=MAX_SELECTED)
def _key_of(url: str) -> str:
    """The `address_key` of a repository: each question to all takes those of all."""
    return address_key(url)


def named(on: Shelf, text: str) -> Repository | None:
    """Returns the repository that `text` means; None where it means none. Raises ProjectNotFound where it means several."""
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
        names = ", ".join(each.name for each in found[:SHOWN_NAMES]) + (", ..." if len(found) > SHOWN_NAMES else "")
        raise ProjectNotFound(f"{len(found)} repositories end with {wanted[:200]!r}: {names}. Pass one of these names.")
    return found[0] if found else None


def several(on: Shelf, workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names where `workspace` means several repositories: `*`, a list, a group; None where it is one or none."""
    names = several_projects(workspace)
    if names is not None or workspace is None:
        return names
    text = workspace.strip()
    if "," in text:
        # Names of repositories have slashes, but no commas.
        return tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip()))) or None
    return (text,) if text in on.groups and named(on, text) is None else None


def select(on: Shelf, names: Sequence[str], now: float) -> tuple[SelectedProject, ...]:
    """Returns the repositories that `names` mean, each once: in the order of the names, those of a group and all by name.

    Raises ProjectNotFound for a name that none has, InvalidInput for more than MAX_SELECTED.
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


def not_found(on: Shelf, name: str) -> ProjectNotFound:
    """Returns the error for a name that means nothing that the viewer may see, whether or not there is such a repository."""
    if not on.repositories:
        return ProjectNotFound(
            "no repository is open to you here. Ask whoever runs this server which group you are in, and to have repositories "
            "added to it."
        )
    labels = sorted([*on.labels.values(), *on.groups])
    near = difflib.get_close_matches(name, labels, n=1)
    meant = f" Did you mean {near[0]!r}?" if near else ""
    shown = ", ".join(labels[:SHOWN_NAMES]) + (", ..." if len(labels) > SHOWN_NAMES else "")
    return ProjectNotFound(
        f"no repository or group is called {name[:200]!r}.{meant} Known: {shown}. Pass one of them, or '*' for all.",
        project_id=name[:200],
    )


def _labels(repositories: Sequence[Repository]) -> dict[str, str]:
    """The last part of the name where no other repository has it, else the whole name, else the id."""
    last = {each.repo_id: each.name.rpartition("/")[2] for each in repositories}
    taken = Counter(last.values())
    taken.update(each.name for each in repositories if "/" in each.name)
    return {
        each.repo_id: next((name for name in (last[each.repo_id], each.name) if taken[name] == 1), each.repo_id)
        for each in repositories
    }
