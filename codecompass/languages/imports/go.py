"""Go: a package is a directory, found by the module path in a `go.mod`.

A repository without one, from before modules, is imported by the path of its root in a GOPATH, which no file says: then the
longest end of the import path that is the whole path of a directory, or lies below a `src`, is the package.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ROOT_TARGET, ancestors, directory_of, join, last_part, nearest
from codecompass.languages.records import Import
from codecompass.languages.words import word_set

ECOSYSTEM: Final = "go"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two elements of the package path, and its last one."""
    spec = item.spec
    tail = _tail(join(directory_of(from_path), spec) or "" if spec.startswith(".") else spec)
    return tuple(dict.fromkeys((tail, last_part(tail))))


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
    first = spec.partition("/")[0]
    if first in _STANDARD or spec == "C":
        return ""
    # Only paths with a host name are vendored.
    for directory in ancestors(from_path) if "." in first else ():
        found_vendored = _package(f"{directory}vendor/{spec}/", paths)
        if found_vendored:
            return found_vendored
    return "" if modules else _without_module(spec, from_path, paths)


def _without_module(spec: str, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of a package in a repository without a `go.mod`."""
    for directory in ancestors(from_path):
        if not directory or last_part(directory[:-1]) == "src":
            found = _package(f"{directory}{spec}/", paths) or (not directory and _package(f"src/{spec}/", paths))
            if found:
                return found
    parts = spec.split("/")
    # A repository has at least the name of its host, and on a code host those of its owner and its own.
    for count in range(_ROOT_PARTS.get(parts[0], 1 if "." not in parts[0] else 2), len(parts)):
        rest = "/".join(parts[count:]) + "/"
        found = _package(rest, paths)
        if found:
            return found
    return ""


_ROOT_PARTS: Final = {"bitbucket.org": 3, "codeberg.org": 3, "github.com": 3, "gitlab.com": 3}
"""Elements of the path of a repository's root, by host; elsewhere two, and one without a host."""

_STANDARD: Final = word_set(
    "archive bufio bytes cmp compress container context crypto database debug embed encoding errors expvar flag fmt go hash "
    "html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices sort strconv strings "
    "structs sync syscall testing text time unicode unique unsafe weak"
)
"""First elements of the paths of the standard library, which have no host name."""


def package_tails(directory: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of the imports that may lead to a package directory."""
    yield _tail(directory)
    if not paths.roots(ECOSYSTEM).all:
        yield last_part(directory[:-1])
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
