"""Haskell: `Data.Foo.Bar` is a file whose path ends in `Data/Foo/Bar`, below any source directory."""

from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import directory_of, ending, last_part, nearest
from codecompass.store.records import Import

_EXTENSIONS: Final = (".hs", ".lhs", ".hsc", ".hs-boot")
_SOURCE_ROOTS: Final = frozenset({"", "app", "bench", "benchmarks", "lib", "library", "src", "test", "tests"})


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last name of the module."""
    return (last_part(item.spec, "."),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module; one with a single name must begin a source directory, or lie above."""
    candidates = paths.files_with_tail(last_part(item.spec, "."))
    module = item.spec.replace(".", "/")
    for extension in _EXTENSIONS if candidates else ():
        found = ending(candidates, module + extension)
        if "/" not in module:
            found = [path for path in found if _is_root(directory_of(path), from_path)]
        if found:
            return nearest(found, from_path)
    return ""


def _is_root(directory: str, from_path: str) -> bool:
    return from_path.startswith(directory) or last_part(directory[:-1]) in _SOURCE_ROOTS
