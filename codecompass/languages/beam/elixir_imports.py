"""Elixir: `MyApp.Foo.Bar` is by convention in `lib/my_app/foo/bar.ex`.

The convention makes no difference between slashes, dots and underscores (`Mix.Tasks.Phx.New` is `mix/tasks/phx.new.ex`), so
names and paths are compared with underscores for all three.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import MAX_SAME_SUFFIX, nearest
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

_ROLES: Final = frozenset({"channels", "components", "controllers", "live", "plugs", "schemas", "test", "views"})
"""Directories that are not part of the module's name."""

_SOURCE_ROOTS: Final = frozenset({"lib", "src", "test", "web"})
_TASKS: Final = ["mix", "tasks"]
_WORD_AFTER_WORD: Final = lazy.pattern(r"([a-z\d])([A-Z])|([A-Z]+)([A-Z][a-z])")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the file name of the module and, if its file may be named after another part, that part."""
    parts = _parts(item)
    # The file of a task is named by all its parts with dots between them, and a tail ends at the first dot.
    other = parts[2:3] if parts[:2] == _TASKS else parts[-2:-1] if len(parts) > 2 else []
    return tuple(dict.fromkeys([parts[-1], *other]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module, or of the module that it is nested in."""
    parts = _parts(item)
    found = _file_of_module(parts, [path for tail in tails(item, from_path) for path in _files(paths, tail)], from_path)
    if found or parts[:2] == _TASKS:
        return found
    if "test" in from_path:
        # Test helpers have the application's name but are not in its directory.
        support = [path for path in _files(paths, parts[-1]) if _is_support(path, parts[-1])]
        if support:
            return nearest(support, from_path)
    # `MyApp.Error` is not looked for in `my_app.ex`: an application in one file is too rare.
    return _file_of_module(parts[:-1], _files(paths, parts[-2]), from_path) if len(parts) > 2 else ""


def _files(paths: PathIndex, tail: str) -> Sequence[str]:
    """Returns the files with a tail; none if there are so many that they must be copies of a template."""
    found = paths.files_with_tail(tail)
    return found if len(found) <= MAX_SAME_SUFFIX else ()


def _parts(item: Import) -> list[str]:
    written = f"{item.spec}.{item.name}" if item.name[:1].isupper() else item.spec
    return [underscore(part) for part in written.removeprefix("Elixir.").split(".")]


def underscore(name: str) -> str:
    """Returns the file name of a module name: `HTTPClient` is `http_client`, `MyApp` is `my_app`."""
    return _WORD_AFTER_WORD.sub(lambda match: f"{match[1] or match[3]}_{match[2] or match[4]}", name).lower()


def _file_of_module(parts: Sequence[str], candidates: Sequence[str], from_path: str) -> str:
    name = "_".join(parts)
    return nearest([path for path in candidates if name in _module_names(path)], from_path)


def _module_names(path: str) -> Iterator[str]:
    """Yields the modules that a file may define by its path, one for each directory in which sources may begin."""
    stem, _, extension = path.rpartition(".")
    if extension not in ("ex", "exs") or path.endswith("_test.exs"):
        return
    names = stem.split("/")
    for start in range(len(names)):
        if start == 0 or names[start - 1] in _SOURCE_ROOTS:
            inner = [part for part in names[start:-1] if part not in _ROLES]
            yield "_".join([*inner, names[-1]]).replace(".", "_")


def _is_support(path: str, name: str) -> bool:
    return path.endswith((f"/support/{name}.ex", f"/support/{name}.exs"))


ELIXIR_IMPORTS: Final = ImportRules(tails=tails, resolve=resolve)
