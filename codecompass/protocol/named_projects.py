"""How one argument says that several projects are meant: `*`, a list, or names with commas between.

A list reaches the request as one text, whose items end with NUL: no path and no name has that character.
"""

from collections.abc import Iterable
from typing import Final

from codecompass.protocol.requests import ALL_PROJECTS

_END: Final = "\0"


def listed_projects(names: Iterable[str]) -> str:
    """Returns the text for a list of names or paths of projects."""
    return "".join(name + _END for name in names)


def several_projects(workspace: str | None) -> tuple[str, ...] | None:
    """Returns the names or paths of the projects that a `workspace` lists, `*` for all; None where it is one path.

    A text with commas is a list where no item has a slash: `api,web`, and not `/srv/a,b`.
    """
    if workspace is None:
        return None
    text = workspace.strip()
    if text == ALL_PROJECTS:
        return (ALL_PROJECTS,)
    if _END in workspace:
        return tuple(dict.fromkeys(workspace.split(_END)[:-1]))
    items = tuple(dict.fromkeys(item for part in text.split(",") if (item := part.strip())))
    is_list = "," in text and bool(items) and not any("/" in item for item in items)
    return items if is_list else None
