"""Lua: `require "a.b"` is `a/b.lua` or `a/b/init.lua` below an entry of the search path."""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_LAYOUTS: Final = ("", "lua/", "src/", "lib/")
_MODULE_DIRECTORIES: Final = frozenset({"lua", "src", "lib"})
_PROGRAMS: Final = ("main.lua", "conf.lua", ".luarc.json", ".luacheckrc")
"""Files in the directory from which a program runs."""

_EXTENSIONS: Final = (".lua", "/init.lua", ".luau")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last two parts of the module's name."""
    return (dependency_tail(_module(item)),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file: below a directory above the importing file, of several the nearest that the search path may name; else
    in the `lua/` directory of a plugin, else below any directory if the name has several parts."""
    module = _module(item)
    tail = tail_of(last_part(module))
    if not paths.files_with_tail(tail):
        return ""
    above = [(root, path) for root, path in _candidates(module, from_path) if paths.has_file(path)]
    for root, path in above if len(above) > 1 else ():
        if _is_entry(root, paths):
            return path
    if above:
        return above[0][1]
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


def _candidates(module: str, from_path: str) -> Iterator[tuple[str, str]]:
    """Yields (directory that may be on the search path, path of the module below it), the nearest first."""
    for directory in ancestors(from_path):
        for layout in _LAYOUTS:
            for extension in _EXTENSIONS:
                yield directory + layout, f"{directory}{layout}{module}{extension}"


def _is_entry(root: str, paths: PathIndex) -> bool:
    """Whether the search path is likely to name a directory: the root, one for modules, or that of a program."""
    is_for_modules = not root or last_part(root.rstrip("/")) in _MODULE_DIRECTORIES
    return is_for_modules or any(paths.has_file(root + name) for name in _PROGRAMS)


def _module(item: Import) -> str:
    return item.spec.replace(".", "/").strip("/")


_SOURCE_DIRECTORIES: Final = frozenset({"src", "lib"})


def lua_module(path: str) -> tuple[str, ...]:
    """Returns the name by which the file is required: `lua/a/b.lua` and `x/lua/a/b/init.lua` are `a.b`."""
    parts = path.rsplit(".", 1)[0].split("/")
    if "lua" in parts[:-1]:
        parts = parts[len(parts) - parts[::-1].index("lua") :]
    elif len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES:
        parts = parts[1:]
    if parts[-1] == "init" and len(parts) > 1:
        parts = parts[:-1]
    return tuple(parts)


LUA_IMPORTS: Final = ImportRules(tails=tails, resolve=resolve)
