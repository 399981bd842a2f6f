"""Go: a package is a directory, found by the module path in a `go.mod`."""

from collections.abc import Iterator
from typing import Final

from codecompass.imports.path_index import PathIndex
from codecompass.imports.paths import ROOT_TARGET, ancestors, directory_of, join, nearest
from codecompass.languages.records import Import

ECOSYSTEM: Final = "go"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two elements of the package path."""
    spec = item.spec
    return (_tail(join(directory_of(from_path), spec) or "" if spec.startswith(".") else spec),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of the package: in a module of the repository, else a vendored one."""
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
        # Only the standard library has paths without a host name, and it is never vendored.
        return ""
    for directory in ancestors(from_path):
        found_vendored = _package(f"{directory}vendor/{spec}/", paths)
        if found_vendored:
            return found_vendored
    return ""


def package_tails(directory: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of the imports that may lead to a package directory."""
    yield _tail(directory)
    parts = directory.split("/")
    for position, part in enumerate(parts):
        if part == "vendor":
            yield _tail("/".join(parts[position + 1 :]))
    modules = paths.roots(ECOSYSTEM).by_directory
    for above in (directory, *ancestors(directory[:-1])):
        for root in modules.get(above, ()):
            if root.directory == above:
                yield _tail(f"{root.prefix}/{directory[len(above) :]}")


def _tail(package: str) -> str:
    parts = package.strip("/").rsplit("/", 2)
    return "/".join(parts[-2:])


def _package(directory: str, paths: PathIndex) -> str:
    return directory if paths.package_size(ECOSYSTEM, directory) else ""
