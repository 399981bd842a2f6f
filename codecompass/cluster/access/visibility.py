"""Which viewer may see which repositories: those that share a group with them.

    bearer token | headers of a trusted proxy -> Identity -> Viewer -> visible(viewer, repositories)

All code is read through `serving/library.py`, which serves one viewer and calls `visible`.
"""

from collections.abc import Collection, Iterable
from typing import Final, Protocol, TypeVar

from msgspec import Struct

EVERYONE: Final = "everyone"
"""The group whose repositories every viewer may see, a member of it or not."""


class Viewer(Struct, frozen=True):
    """An identified caller and the groups they belong to. An administrator may see everything."""

    name: str
    groups: frozenset[str]
    is_admin: bool = False


class Grouped(Protocol):
    """The part of a repository that `visible` needs."""

    @property
    def groups(self) -> Collection[str]:
        """The groups that may see it. Without any, only administrators may."""


GroupedT = TypeVar("GroupedT", bound=Grouped)


def visible(viewer: Viewer, repositories: Iterable[GroupedT]) -> tuple[GroupedT, ...]:
    """Returns the repositories that `viewer` may see, in their order. The only place that decides this."""
    return tuple(
        each
        for each in repositories
        if viewer.is_admin or EVERYONE in each.groups or any(group in viewer.groups for group in each.groups)
    )
