"""Haskell: `Data.Foo.Bar` is a file whose path ends in `Data/Foo/Bar`, below any source directory."""

from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import dependency_tail, last_part, nearest
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_SOURCE_ROOTS: Final = frozenset({"app", "bench", "benchmarks", "lib", "library", "src", "test", "tests"})
_EXTENSIONS: Final = (".hs", ".lhs", ".hsc", ".hs-boot")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two parts of the module's name."""
    return (dependency_tail(item.spec.replace(".", "/")),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module. A name of one part is not searched for in directories that begin in upper case."""
    tail = last_part(item.spec, ".")
    module = item.spec.replace(".", "/")
    for extension in _EXTENSIONS if paths.files_with_tail(tail) else ():
        matches = paths.files_ending(tail, module + extension)
        found = [path for path in matches if not _is_inside(path[: -len(module + extension)], "/" not in module)]
        if found:
            return nearest(found, from_path)
    return ""


def _is_inside(directory: str, is_single: bool) -> bool:
    """Whether `directory` is part of a module's name, so that no module name can begin below it.

    `src/Text/Readers/Djot.hs` is `Text.Readers.Djot` and nothing else. A directory in upper case may also be a project
    (`Cabal/Distribution/Simple.hs`), but hardly one below `src`.
    """
    parts = directory.split("/")[:-1]
    while parts and parts[-1][:1].isupper():
        if is_single or (len(parts) > 1 and parts[-2] in _SOURCE_ROOTS):
            return True
        parts.pop()
    return False


HASKELL_IMPORTS: Final = ImportRules(tails=tails, resolve=resolve)
