"""Shell: `source` of a file beside the script or below a directory above it; a variable may stand for such a directory."""

import re
from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, join, last_part, nearest, tail_of
from codecompass.languages.records import Import

_EXTENSIONS: Final = ("", ".sh", ".bash")
_VARIABLE_DIRECTORIES: Final = re.compile(r"^.*(?:\$\w+|\$\{[^}]*\}|\$\(.*\)|`.*`)[^/]*/")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the path; only the name of the file if the path leaves the importing file's directory (`..`)."""
    path = _fixed_part(item)
    plain = join("", path)
    return (tail_of(last_part(path)) if plain is None else dependency_tail(plain),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file: below a directory above the script; else, after a variable directory, one whose path ends in the rest."""
    path = _fixed_part(item)
    tail = tail_of(last_part(path))
    if not paths.files_with_tail(tail):
        return ""
    for directory in ancestors(from_path):
        for extension in _EXTENSIONS:
            found = join(directory, path + extension)
            if found is not None and paths.has_file(found):
                return found
    if path == item.spec and "/" not in path:
        return ""
    for extension in _EXTENSIONS:
        matches = paths.files_ending(tail, path + extension)
        if matches:
            return nearest(matches, from_path)
    return ""


def _fixed_part(item: Import) -> str:
    """Returns the path without a directory that is known only at run time; empty if no fixed path is left."""
    path = _VARIABLE_DIRECTORIES.sub("", item.spec).strip("\"'")
    return "" if "$" in path or "`" in path or path.startswith(("/", "~")) else path.removeprefix("./")
