"""C#: a namespace is the directory that spells it, below a project's root namespace or at the end of a path."""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.imports.paths import ROOT_TARGET, nearest
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

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
    around = (*_said(parts[:-1], paths), *_spelled(parts[:-1], paths)) if paths.files_with_tail(parts[-1]) else ()
    files = [directory + name for directory in dict.fromkeys(around) if paths.has_file(directory + name)]
    if files or not _is_type(item):
        return nearest(files, from_path)
    namespaces = list(_namespaces(parts[:-1], paths)) if len(parts) > 1 else []
    return nearest(namespaces, from_path) or (ROOT_TARGET if namespaces else "")


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
    if not is_said:
        for directory in _spelled(parts, paths):
            if paths.package_size(ECOSYSTEM, directory):
                yield directory


def _said(parts: list[str], paths: PathIndex) -> Iterator[str]:
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(parts), 0, -1):
        rest = "".join(part + "/" for part in parts[count:])
        for root in roots.get("/".join(parts[:count]), ()):
            yield root.directory + rest


def _spelled(parts: list[str], paths: PathIndex) -> Sequence[str]:
    # A directory may hold several parts of the name: `Company.Core/Models` is `Company.Core.Models`.
    # One part alone would be any directory that is called `Collections`.
    return paths.namespaces_ending(parts[-1] + "/", "/".join(parts) + "/") if len(parts) > 1 else ()
