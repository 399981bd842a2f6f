"""Shell: `source` of a file beside the script, or below a directory above it; variables stand for such a directory."""

import re
from typing import Final

from codecompass.imports.paths import ancestors, awaited_tail, join, last_part, nearest, tail_of
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

_EXTENSIONS: Final = ("", ".sh", ".bash")
_VARIABLE_DIRECTORIES: Final = re.compile(r"^.*(?:\$\w+|\$\{[^}]*\}|\$\(.*\)|`.*`)[^/]*/")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the path; only the name of the file when the directory depends on the importer's."""
    place = _place(item)
    plain = join("", place)
    return (tail_of(last_part(place)) if plain is None else awaited_tail(plain),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file; what follows a variable directory may also be found by the end of the path."""
    place = _place(item)
    tail = tail_of(last_part(place))
    if not paths.files_with_tail(tail):
        return ""
    for directory in ancestors(from_path):
        for extension in _EXTENSIONS:
            found = join(directory, place + extension)
            if found is not None and paths.has_file(found):
                return found
    if place == item.spec and "/" not in place:
        return ""
    for extension in _EXTENSIONS:
        matches = paths.files_ending(tail, place + extension)
        if matches:
            return nearest(matches, from_path)
    return ""


def _place(item: Import) -> str:
    """Returns the path without the directory that only the running script knows; empty when nothing else is left."""
    place = _VARIABLE_DIRECTORIES.sub("", item.spec).strip("\"'")
    return "" if "$" in place or "`" in place or place.startswith(("/", "~")) else place.removeprefix("./")
