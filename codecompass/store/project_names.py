"""The names of projects that nobody gave one: those of their directories, in the form that every name has.

A name is kept as long as its project is known, so that it never comes to mean another one, unless somebody gives it to another.
"""

import os
import sqlite3
import unicodedata
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Final

from codecompass import lazy
from codecompass.protocol.requests import MAX_PROJECT_ID_LENGTH

NAMELESS: Final = "project"
"""The name of a directory whose own has no Latin letter or digit."""

_LOOKS_LIKE_ID: Final = lazy.pattern(r"[0-9a-f]{16}")
_OTHER: Final = lazy.pattern(r"[^a-z0-9]+")


def looks_like_id(name: str) -> bool:
    """Returns whether `name` could be the id of a project."""
    return _LOOKS_LIKE_ID.fullmatch(name) is not None


def normalised_name(text: str) -> str:
    """Returns `text` in the form of a project's name: lower-case letters and digits without accents, with single hyphens for all
    else, at most MAX_PROJECT_ID_LENGTH characters; '' if nothing is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return _OTHER.sub("-", plain).strip("-")[:MAX_PROJECT_ID_LENGTH].strip("-")


def directory_name(root: Path, taken: Container[str]) -> str:
    """Returns the name for the project at `root`: that of its directory, with as many of its parents before it as make it none
    of `taken`, or else with a number behind it."""
    return next(name for name in _candidates(root) if name not in taken and not looks_like_id(name))


def _candidates(root: Path) -> Iterator[str]:
    own = normalised_name(root.name) or NAMELESS
    yield own
    name = own
    for parent in root.parents:
        before = normalised_name(parent.name)
        if before:
            name = f"{before}-{name}"
            if len(name) > MAX_PROJECT_ID_LENGTH:
                break
            yield name
    number = 2
    while True:
        ending = f"-{number}"
        yield own[: MAX_PROJECT_ID_LENGTH - len(ending)].strip("-") + ending
        number += 1


def name_unnamed(connection: sqlite3.Connection) -> None:
    """Gives every project that has none a name, in the order in which they became known, and frees those of removed ones."""
    connection.execute(
        "DELETE FROM project_names WHERE root NOT IN (SELECT root FROM projects WHERE alias IS NULL) "
        "AND root NOT IN (SELECT root FROM evicted WHERE alias IS NULL)"
    )
    taken = {
        name
        for (name,) in connection.execute(
            "SELECT alias FROM projects WHERE alias IS NOT NULL UNION SELECT alias FROM evicted WHERE alias IS NOT NULL "
            "UNION SELECT name FROM project_groups UNION SELECT name FROM project_names"
        )
    }
    unnamed = connection.execute(
        "SELECT root FROM projects WHERE alias IS NULL AND root NOT IN (SELECT root FROM project_names) ORDER BY created_at, root"
    ).fetchall()
    for (root,) in unnamed:
        if not isinstance(root, bytes):
            continue  # damaged, which reading it will report
        name = directory_name(Path(os.fsdecode(root)), taken)
        taken.add(name)
        connection.execute("INSERT INTO project_names VALUES (?, ?)", (root, name))
