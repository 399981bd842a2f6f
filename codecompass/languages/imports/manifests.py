"""What the readers of configuration files share: joins of directories, tables within tables, where packages are importable."""

from collections.abc import Mapping
from typing import Any, Final

from codecompass.languages.imports.paths import join

_FIXTURE_DIRECTORIES: Final = frozenset(
    {"__fixtures__", "example", "examples", "fixture", "fixtures", "samples", "templates", "test_data", "testdata"}
)


def package_scope(directory: str) -> str:
    """Returns the `scope` in which the packages of a directory are importable by name: empty (everywhere), or the directory of
    examples or fixtures around it, because a fixture often has the name of a well-known package."""
    parts = directory.split("/")
    for position, part in enumerate(parts):
        if part in _FIXTURE_DIRECTORIES:
            return "/".join(parts[: position + 1]) + "/"
    return ""


def joined_directory(directory: str, relative: str) -> str | None:
    """Returns `join` of the two with a slash at its end, empty for the root."""
    joined = join(directory, relative)
    return None if joined is None else joined.rstrip("/") + "/" if joined else ""


def table_at(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Returns the table at the path `keys`; an empty one if there is none."""
    for key in keys:
        inner = table.get(key)
        if not isinstance(inner, dict):
            return {}
        table = inner
    return table


def as_list(value: object) -> list[object]:
    """Returns a list, or the list of a single value."""
    return value if isinstance(value, list) else [value]
