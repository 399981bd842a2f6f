"""How one argument says that several projects are meant: `*`, a list, or names with commas between; and which names can be those
of an organisation's repositories.

A list reaches the request as one text, whose items end with NUL: no path and no name has that character.
"""

import re
from collections.abc import Iterable
from typing import Final

from codecompass.protocol.requests import ALL_PROJECTS

ORGANISATION: Final = "org:"
"""What the labels of an organisation's repositories begin with. A name that begins so is asked for there alone."""

MAX_ORGANISATION_NAME: Final = 300

_END: Final = "\0"
_ELSEWHERE: Final = re.compile(r"[\w][\w.+@~-]*(?:[/:][\w.+@~-]+)*(?:://[\w.+@~:/-]+)?", re.ASCII)
"""A name, `owner/name`, an address. No path: what begins with `/`, `.` or `~` is of this machine, and told to nobody."""


def listed_projects(names: Iterable[str]) -> str:
    """Returns the text for a list of names or paths of projects."""
    return "".join(name + _END for name in names)


def several_projects(workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names or paths of the projects that a `workspace` lists, `*` for all; None where it is one path.

    A text with commas is a list where no item has a slash: `api,web`, and not `/srv/a,b`; but `api,org:shop/web` is one.
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
    """Returns what `org:NAME` names in the organisation; None for a name without that prefix."""
    return name.strip().removeprefix(ORGANISATION) or None if name.strip().startswith(ORGANISATION) else None


def may_be_elsewhere(name: str) -> bool:
    """Whether `name`, which nothing here has, can be that of a repository or a group of an organisation, and is no path."""
    text = name.strip()
    is_plain = len(text) <= MAX_ORGANISATION_NAME and _ELSEWHERE.fullmatch(text) is not None
    return is_plain and not {".", ".."}.intersection(text.split("/"))
