"""Ruby: `require` looks in the load path, which by convention is a gem's `lib/` and the directory of its tests."""

from collections.abc import Iterator
from typing import Final

from codecompass.imports.paths import ancestors, awaited_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

_LOAD_PATH: Final = ("lib/", "spec/", "test/", "app/", "")
_EXTENSIONS: Final = ("", ".rb")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the path that is written."""
    spec = item.spec
    if item.kind == "relative" or spec.startswith("."):
        spec = join(directory_of(from_path), spec) or ""
    return (awaited_tail(spec),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file; a gem elsewhere in the repository is found by its `lib/`."""
    tail = tail_of(last_part(item.spec))
    if not paths.files_with_tail(tail):
        return ""
    for place in _places(item, from_path):
        for extension in _EXTENSIONS:
            if paths.has_file(place + extension):
                return place + extension
    if item.kind == "relative" or item.spec.startswith("."):
        return ""
    suffix = "lib/" + (item.spec if item.spec.endswith(".rb") else item.spec + ".rb")
    return nearest(paths.files_ending(tail, suffix), from_path)


def _places(item: Import, from_path: str) -> Iterator[str]:
    if item.kind == "relative" or item.spec.startswith("."):
        place = join(directory_of(from_path), item.spec)
        if place is not None:
            yield place
        return
    for directory in ancestors(from_path):
        name = last_part(directory[:-1]) + "/"
        if name in _LOAD_PATH or not directory:
            yield directory + item.spec
        for layout in _LOAD_PATH[:-1]:
            yield directory + layout + item.spec
