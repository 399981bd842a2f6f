"""Lua: `require "a.b"` is `a/b.lua` or `a/b/init.lua` below an entry of the search path."""

from collections.abc import Iterator
from typing import Final

from codecompass.imports.path_index import PathIndex
from codecompass.imports.paths import ancestors, dependency_tail, last_part, nearest, tail_of
from codecompass.languages.records import Import

_LAYOUTS: Final = ("", "lua/", "src/", "lib/")
_EXTENSIONS: Final = (".lua", "/init.lua", ".luau")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two parts of the module's name."""
    return (dependency_tail(_module(item)),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file: below a directory above the importing file, else in the `lua/` directory of a plugin, else
    below any directory if the name has several parts."""
    module = _module(item)
    tail = tail_of(last_part(module))
    if not paths.files_with_tail(tail):
        return ""
    for path in _candidates(module, from_path):
        if paths.has_file(path):
            return path
    for extension in _EXTENSIONS:
        found = paths.files_ending(tail, f"lua/{module}{extension}")
        if found:
            return nearest(found, from_path)
    # The search path is set by the program that runs it. A name of several parts is found below any directory.
    for extension in _EXTENSIONS if "/" in module else ():
        found = paths.files_ending(tail, module + extension)
        if found:
            return nearest(found, from_path)
    return ""


def _candidates(module: str, from_path: str) -> Iterator[str]:
    for directory in ancestors(from_path):
        for layout in _LAYOUTS:
            for extension in _EXTENSIONS:
                yield f"{directory}{layout}{module}{extension}"


def _module(item: Import) -> str:
    return item.spec.replace(".", "/").strip("/")
