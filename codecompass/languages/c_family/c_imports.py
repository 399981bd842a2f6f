"""C, C++, Objective-C: a quoted include is beside the including file, else any file whose path ends in the written path."""

from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import dependency_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_INCLUDE_DIRECTORIES: Final = frozenset({"", "inc", "include", "includes", "public"})


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the written path."""
    path = join("", item.spec)
    if path is None:
        # A path that begins with `..` is relative to the including file.
        path = join(directory_of(from_path), item.spec) or ""
    return (dependency_tail(path),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the included file. A name alone in angle brackets (`<stdio.h>`) must be in an include directory."""
    spec = item.spec
    tail = tail_of(last_part(spec))
    if not paths.files_with_tail(tail):
        return ""
    if item.kind != "system":
        beside = join(directory_of(from_path), spec)
        if beside is not None and paths.has_file(beside):
            return beside
    spec = spec.removeprefix("./")
    found = paths.files_ending(tail, spec)
    if item.kind == "system" and "/" not in spec:
        found = [path for path in found if last_part(directory_of(path)[:-1]) in _INCLUDE_DIRECTORIES]
    return nearest(found, from_path)


C_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    # The target of a Swift package may be written in these languages.
    importers=("swift",),
    is_part_of_outer_packages=True,
)
