"""Elixir: `MyApp.Foo.Bar` is by convention in `lib/my_app/foo/bar.ex`."""

import re
from typing import Final

from codecompass.store.imports.index import PathIndex
from codecompass.store.imports.places import ending, nearest
from codecompass.store.records import Import

_EXTENSIONS: Final = (".ex", ".exs")
_ROLES: Final = frozenset({"channels", "components", "controllers", "live", "plugs", "schemas", "views"})
"""Directories of a web application that are not part of the module's name."""

_WORD_AFTER_WORD: Final = re.compile(r"([a-z\d])([A-Z])|([A-Z]+)([A-Z][a-z])")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the file names of the module and of the one around it."""
    parts = _parts(item)
    return tuple(dict.fromkeys(parts[-1:] + (parts[-2:-1] if len(parts) > 2 else [])))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module, or of the module that it is nested in."""
    parts = _parts(item)
    found = _file(parts, from_path, paths)
    # `MyApp.Error` is not in `my_app.ex`: that a whole application is one file is too rare.
    if not found and len(parts) > 2:
        found = _file(parts[:-1], from_path, paths)
    return found


def _parts(item: Import) -> list[str]:
    written = item.spec if item.name in ("", "*") or not item.name[:1].isupper() else f"{item.spec}.{item.name}"
    return [underscore(part) for part in written.removeprefix("Elixir.").split(".")]


def underscore(name: str) -> str:
    """Returns the file name of a module name: `HTTPClient` is `http_client`, `MyApp` is `my_app`."""
    return _WORD_AFTER_WORD.sub(lambda match: f"{match[1] or match[3]}_{match[2] or match[4]}", name).lower()


def _file(parts: list[str], from_path: str, paths: PathIndex) -> str:
    candidates = paths.files_with_tail(parts[-1])
    found = []
    for path in candidates:
        stem, dot, extension = path.rpartition(".")
        if dot + extension not in _EXTENSIONS:
            continue
        places = stem.split("/")
        if len(places) > len(parts) and places[-2] in _ROLES:
            places.pop(-2)
        plain = "/".join(places)
        if ending([plain], "/".join(parts)) and _is_library(plain[: len(plain) - len("/".join(parts))]):
            found.append(path)
    return nearest(found, from_path)


def _is_library(directory: str) -> bool:
    return directory == "" or directory.endswith(("lib/", "test/", "support/", "web/", "src/"))
