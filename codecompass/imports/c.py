"""C, C++, Objective-C: a quoted include beside the including file, else whatever ends in the path that is written."""

from typing import Final

from codecompass.imports.paths import awaited_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

_INCLUDE_DIRECTORIES: Final = frozenset({"", "inc", "include", "includes", "public"})


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the path that is written."""
    place = join("", item.spec)
    if place is None:
        # A path that climbs can only be meant from the including file.
        place = join(directory_of(from_path), item.spec) or ""
    return (awaited_tail(place),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the header or source included. `<stdio.h>` must be in an include directory to be one of ours."""
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
