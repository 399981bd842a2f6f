"""The argument `workspace` for several projects: `*`, a list, or comma-separated names; and the names of an organisation's
repositories.

A list is stored in the request as one text whose items end with NUL, which no path and no name contains.
"""

import re
from collections.abc import Iterable
from typing import Final

from codecompass.protocol.requests import ALL_PROJECTS

ORGANISATION: Final = "org:"
"""Prefix of the labels of an organisation's repositories. A name with this prefix is only looked up there."""

MAX_ORGANISATION_NAME: Final = 300

_END: Final = "\0"
_ELSEWHERE: Final = re.compile(r"[\w][\w.+@~-]*(?:[/:][\w.+@~-]+)*(?:://[\w.+@~:/-]+)?", re.ASCII)
"""A name, `owner/name`, or an address. Not a path: what begins with `/`, `.` or `~` is local and must not be sent to a server."""


def listed_projects(names: Iterable[str]) -> str:
    """Returns the `workspace` text for a list of names or paths of projects."""
    return "".join(name + _END for name in names)


def several_projects(workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names or paths of the projects that a `workspace` lists, `*` for all; None if it is one path.

    A text with commas is a list if no item has a slash: `api,web`, but not `/srv/a,b`. Items with the prefix `org:` may have
    slashes: `api,org:shop/web` is a list.
    """
    if workspace is None:
        return None
    text = workspace.strip()
    if text == ALL_PROJECTS:
        return (ALL_PROJECTS,)
    if _END in workspace:
        return tuple(dict.fromkeys(workspace.split(_END)[:-1]))
    items = tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip())))
    is_list = "," in text and bool(items) and not any("/" in item and not item.startswith(ORGANISATION) for item in items)
    return items if is_list else None


def asked_elsewhere(name: str) -> str | None:
    """Returns NAME for `org:NAME`; None for a name without that prefix, or nothing after it."""
    return name.strip().removeprefix(ORGANISATION) or None if name.strip().startswith(ORGANISATION) else None


def may_be_elsewhere(name: str) -> bool:
    """Returns whether `name`, which is unknown locally, may be a repository or group of an organisation, and is not a path."""
    text = name.strip()
    is_plain = len(text) <= MAX_ORGANISATION_NAME and _ELSEWHERE.fullmatch(text) is not None
    return is_plain and not {".", ".."}.intersection(text.split("/"))
