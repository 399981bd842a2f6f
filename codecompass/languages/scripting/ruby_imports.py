"""Ruby: `require` searches the load path, by convention a gem's `lib/` and the directory of its tests."""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_LOAD_PATH: Final = ("lib/", "spec/", "test/", "app/", "")
_EXTENSIONS: Final = ("", ".rb")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the written path."""
    spec = item.spec
    if item.kind == "relative" or spec.startswith("."):
        spec = join(directory_of(from_path), spec) or ""
    return (dependency_tail(spec),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file: in the load path, else in the `lib/` of another gem in the repository."""
    tail = tail_of(last_part(item.spec))
    if not paths.files_with_tail(tail):
        return ""
    for path in _candidates(item, from_path):
        for extension in _EXTENSIONS:
            if paths.has_file(path + extension):
                return path + extension
    if item.kind == "relative" or item.spec.startswith("."):
        return ""
    suffix = "lib/" + (item.spec if item.spec.endswith(".rb") else item.spec + ".rb")
    return nearest(paths.files_ending(tail, suffix), from_path)


def _candidates(item: Import, from_path: str) -> Iterator[str]:
    if item.kind == "relative" or item.spec.startswith("."):
        path = join(directory_of(from_path), item.spec)
        if path is not None:
            yield path
        return
    for directory in ancestors(from_path):
        name = last_part(directory[:-1]) + "/"
        if name in _LOAD_PATH or not directory:
            yield directory + item.spec
        for layout in _LOAD_PATH[:-1]:
            yield directory + layout + item.spec


RUBY_IMPORTS: Final = ImportRules(tails=tails, resolve=resolve)
