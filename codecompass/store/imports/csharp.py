"""C#: a namespace is the directory that spells it, below a project's root namespace or at the end of a path."""

from collections.abc import Iterator
from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import ROOT_TARGET, directory_of, ending, nearest
from codecompass.store.records import Import

ECOSYSTEM: Final = "dotnet"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last name, be it a type or a namespace, and the namespace that a type would be in."""
    parts = _parts(item)
    return tuple(dict.fromkeys(parts[:-3:-1] if _is_type(item) else parts[-1:]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of a namespace; for a type imported by name its file, or again its namespace."""
    parts = _parts(item)
    found = list(_namespaces(parts, paths))
    if found:
        return nearest(found, from_path) or ROOT_TARGET
    name = f"{parts[-1]}.cs"
    files = [path for path in paths.files_with_tail(parts[-1]) if _is_in(path, name, parts[:-1], paths)]
    if files or not _is_type(item):
        return nearest(files, from_path)
    around = list(_namespaces(parts[:-1], paths)) if len(parts) > 1 else []
    return nearest(around, from_path) or (ROOT_TARGET if around else "")


def _is_type(item: Import) -> bool:
    """Says whether a type of the namespace is taken (`using X = A.B.C`), not all that is in it."""
    return item.name not in ("", "*")


def _parts(item: Import) -> list[str]:
    written = item.spec
    if _is_type(item):
        written = f"{item.spec}.{item.name}" if item.spec else item.name
    return written.removeprefix("global::").split(".")


def _namespaces(parts: list[str], paths: PathIndex) -> Iterator[str]:
    """Yields the directories of a namespace: those that projects say, and only without one those that spell it."""
    is_said = False
    for directory in _said(parts, paths):
        if paths.package_size(ECOSYSTEM, directory):
            is_said = True
            yield directory
    if not is_said and len(parts) > 1:
        for directory in paths.package_directories(parts[-1] + "/"):
            if paths.package_size(ECOSYSTEM, directory) and _spells(directory, parts):
                yield directory


def _said(parts: list[str], paths: PathIndex) -> Iterator[str]:
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(parts), 0, -1):
        rest = "".join(part + "/" for part in parts[count:])
        for root in roots.get("/".join(parts[:count]), ()):
            yield root.directory + rest


def _spells(directory: str, parts: list[str]) -> bool:
    # A directory may hold several parts of the name: `Company.Core/Models` is `Company.Core.Models`.
    # One part alone would be any directory that is called `Collections`.
    return len(parts) > 1 and bool(ending([directory.replace(".", "/")], "/".join(parts) + "/"))


def _is_in(path: str, name: str, namespace: list[str], paths: PathIndex) -> bool:
    directory = directory_of(path)
    return path == directory + name and (_spells(directory, namespace) or directory in _said(namespace, paths))
