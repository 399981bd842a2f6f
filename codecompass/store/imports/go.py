"""Go: a package is a directory, and the module path of a `go.mod` says which."""

from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import ROOT_TARGET, ancestors, directory_of, directory_tail, join, nearest
from codecompass.store.records import Import

ECOSYSTEM: Final = "go"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last element of the package path."""
    spec = item.spec
    if spec.startswith("."):
        spec = join(directory_of(from_path), spec) or ""
    tail = directory_tail(spec.rstrip("/") + "/")[:-1]
    return (tail,) if tail else ()


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of the package; of a vendored one where the module says nothing."""
    spec = item.spec
    if spec.startswith("."):
        joined = join(directory_of(from_path), spec)
        return "" if not joined else _package(joined.rstrip("/") + "/", paths)
    modules = paths.roots(ECOSYSTEM).by_prefix
    end = len(spec)
    while end > 0:
        roots = modules.get(spec[:end])
        if roots is not None:
            rest = spec[end + 1 :]
            directories = [root.directory + rest + "/" if rest else root.directory for root in roots]
            found = [directory for directory in directories if paths.package_size(ECOSYSTEM, directory)]
            if found:
                return nearest(found, from_path) or ROOT_TARGET
        end = spec.rfind("/", 0, end)
    if "." not in spec.partition("/")[0]:
        # Only the standard library has paths without a host name, and nobody vendors it.
        return ""
    for directory in ancestors(from_path):
        found_vendored = _package(f"{directory}vendor/{spec}/", paths)
        if found_vendored:
            return found_vendored
    return ""


def _package(directory: str, paths: PathIndex) -> str:
    return directory if paths.package_size(ECOSYSTEM, directory) else ""
