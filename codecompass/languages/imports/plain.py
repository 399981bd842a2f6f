"""Imports that name a file by its path, or a module whose parts are directories, and that no configuration concerns."""

from collections.abc import Callable, Iterator
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_NEAR: Final = 3
"""Directories above the importing file from which a path may begin, besides the root."""


def plain_imports(
    *,
    endings: tuple[str, ...] = ("",),
    separator: str = "/",
    relative: tuple[str, ...] = (),
    path_of: Callable[[Import], str] = lambda item: item.spec,
    is_anywhere: bool = True,
) -> ImportRules:
    """Returns the rules of a language in which an import names a file.

    Args:
        endings: what may follow the name, in the order in which it is tried: `.dart`, `/init.lua`.
        separator: between the parts of the name.
        relative: kinds of imports that begin at the directory of the importing file and lead nowhere else.
        path_of: returns the written name of an import, '' if it names no file of the repository.
        is_anywhere: whether a name of several parts, or one with its extension, is also looked for in other directories.
    """

    def written(item: Import) -> str:
        path = path_of(item).strip()
        return (path if separator == "/" else path.replace(separator, "/")).strip("/")

    def tails(item: Import, from_path: str) -> tuple[str, ...]:
        path = written(item)
        joined = join(directory_of(from_path), path) if path else None
        return tuple(dict.fromkeys(dependency_tail(each) for each in (path if ".." not in path else "", joined or "") if each))

    def starts(from_path: str) -> Iterator[str]:
        above = list(ancestors(from_path))
        yield from above[:_NEAR]
        yield from above[-1:]

    def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
        path = written(item)
        if not path:
            return ""
        for directory in (directory_of(from_path),) if item.kind in relative else starts(from_path):
            joined = join(directory, path)
            for ending in endings if joined else ():
                if paths.has_file(f"{joined}{ending}"):
                    return f"{joined}{ending}"
        if item.kind in relative or not is_anywhere or ".." in path:
            return ""
        for ending in endings:
            if "/" in path or not ending or separator != "/":
                found = paths.files_ending(tail_of(last_part(path)), path.removeprefix("./") + ending)
                if found:
                    return nearest(found, from_path)
        return ""

    return ImportRules(tails=tails, resolve=resolve)
