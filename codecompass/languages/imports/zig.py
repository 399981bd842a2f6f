"""Zig: `@import` of a file by its path, or of a module that the build script declares."""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.records import Import

ECOSYSTEM: Final = "zig"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of a file's path, or the name of a module."""
    spec = item.spec
    return (dependency_tail(join(directory_of(from_path), spec) or "") if "." in spec else tail_of(last_part(spec)),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file. A module that the build script does not declare is looked for in `src/` by its name."""
    spec = item.spec
    if "." in spec:
        path = join(directory_of(from_path), spec)
        return path if path is not None and paths.has_file(path) else ""
    roots = paths.roots(ECOSYSTEM).by_prefix.get(spec, ())
    found = [root.directory for root in roots if from_path.startswith(root.scope) and paths.has_file(root.directory)]
    if found:
        return nearest(found, from_path)
    for directory in ancestors(from_path):
        path = f"{directory}src/{spec}.zig"
        if paths.has_file(path):
            return path
    return ""


def configured_tails(path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of the modules whose root file is `path`."""
    for root in paths.roots(ECOSYSTEM).by_directory.get(directory_of(path), ()):
        if root.directory == path:
            yield tail_of(last_part(root.prefix))
