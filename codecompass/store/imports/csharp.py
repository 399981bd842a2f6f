"""C#: a namespace is the directory that spells it, below a project's root namespace or at the end of a path."""

from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import ROOT_TARGET, ending, nearest
from codecompass.store.records import Import

ECOSYSTEM: Final = "dotnet"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last name, be it a type or a namespace, and the namespace that a type would be in."""
    parts = _parts(item)
    return tuple(dict.fromkeys(parts[:-3:-1]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of a namespace, or the file of a type that is imported by name."""
    parts = _parts(item)
    found = _namespace(parts, from_path, paths)
    if found or len(parts) < 2:
        return found
    files = [path for path in paths.files_with_tail(parts[-1]) if path.endswith(f"{parts[-1]}.cs")]
    if not files:
        return ""
    namespace = _namespace(parts[:-1], from_path, paths)
    place = f"{namespace if namespace != ROOT_TARGET else ''}{parts[-1]}.cs"
    return place if namespace and place in files else ""


def _parts(item: Import) -> list[str]:
    written = item.spec if item.name in ("", "*") else f"{item.spec}.{item.name}" if item.spec else item.name
    return written.removeprefix("global::").split(".")


def _namespace(parts: list[str], from_path: str, paths: PathIndex) -> str:
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(parts), 0, -1):
        rest = "/".join(parts[count:])
        places = [root.directory + rest + "/" if rest else root.directory for root in roots.get("/".join(parts[:count]), ())]
        found = [place for place in places if paths.package_size(ECOSYSTEM, place)]
        if found:
            return nearest(found, from_path) or ROOT_TARGET
    if len(parts) < 2:
        return ""
    # A directory may hold several parts of the name: `Company.Core/Models` is `Company.Core.Models`.
    suffix = "/".join(parts) + "/"
    found = [
        directory
        for directory in paths.package_directories(parts[-1] + "/")
        if paths.package_size(ECOSYSTEM, directory) and ending([directory.replace(".", "/")], suffix)
    ]
    return nearest(found, from_path)
