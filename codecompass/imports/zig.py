"""Zig: `@import` of a file beside, or of a module that the build script names."""

from collections.abc import Iterator
from typing import Final

from codecompass.imports.paths import ancestors, awaited_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

ECOSYSTEM: Final = "zig"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the place of a file, or the name of a module."""
    spec = item.spec
    return (awaited_tail(join(directory_of(from_path), spec) or "") if "." in spec else tail_of(last_part(spec)),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file; a module without a root in the build script is looked for in `src/` under its own name."""
    spec = item.spec
    if "." in spec:
        place = join(directory_of(from_path), spec)
        return place if place is not None and paths.has_file(place) else ""
    roots = paths.roots(ECOSYSTEM).by_prefix.get(spec, ())
    found = [root.directory for root in roots if from_path.startswith(root.scope) and paths.has_file(root.directory)]
    if found:
        return nearest(found, from_path)
    for directory in ancestors(from_path):
        place = f"{directory}src/{spec}.zig"
        if paths.has_file(place):
            return place
    return ""


def configured_tails(path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the modules that `path` is the root of."""
    for root in paths.roots(ECOSYSTEM).by_directory.get(directory_of(path), ()):
        if root.directory == path:
            yield tail_of(last_part(root.prefix))
