"""Haskell: `Data.Foo.Bar` is a file whose path ends in `Data/Foo/Bar`, below any source directory."""

from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import directory_of, ending, last_part, nearest
from codecompass.store.records import Import

_EXTENSIONS: Final = (".hs", ".lhs", ".hsc", ".hs-boot")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last name of the module."""
    return (last_part(item.spec, "."),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module. One with a single name must stand where sources begin."""
    candidates = paths.files_with_tail(last_part(item.spec, "."))
    module = item.spec.replace(".", "/")
    for extension in _EXTENSIONS if candidates else ():
        found = ending(candidates, module + extension)
        if "/" not in module:
            # `Readers/Djot.hs` is `Readers.Djot`: directories in upper case are part of the module's name.
            found = [path for path in found if not last_part(directory_of(path)[:-1])[:1].isupper()]
        if found:
            return nearest(found, from_path)
    return ""
