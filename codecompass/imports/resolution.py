"""The one door to all languages: what an import depends on, where it leads, and what a change of files touches.

The promise that makes incremental updates equal to a full build: the answer of `resolve` for an import can change only
when `affected_tails` of the change has one of its `import_tails`, or when a module root of its ecosystem changes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec import Struct

from codecompass.imports import bash, c, csharp, elixir, go, haskell, javascript, jvm, lua, php, python, ruby, rust, swift, zig
from codecompass.imports.paths import awaited_tail, awaited_tails, directory_tail, package_of
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import


class _Rules(Struct, frozen=True):
    tails: Callable[[Import, str], tuple[str, ...]]
    resolve: Callable[[Import, str, PathIndex], str]


MAX_DIRECTORIES: Final = 64
"""Directories above an importing file, of which resolving may try each. The deepest of 32 known repositories has 14; of a file
further down, nothing is resolved."""

MAX_PATH_LENGTH: Final = 1_024
"""The same in characters."""

_JAVASCRIPT: Final = _Rules(javascript.tails, javascript.resolve)
_JVM: Final = _Rules(jvm.tails, jvm.resolve)
_C: Final = _Rules(c.tails, c.resolve)

_RULES: Final[Mapping[str, _Rules]] = {
    "bash": _Rules(bash.tails, bash.resolve),
    "c": _C,
    "cpp": _C,
    "csharp": _Rules(csharp.tails, csharp.resolve),
    "elixir": _Rules(elixir.tails, elixir.resolve),
    "go": _Rules(go.tails, go.resolve),
    "groovy": _JVM,
    "haskell": _Rules(haskell.tails, haskell.resolve),
    "java": _JVM,
    "javascript": _JAVASCRIPT,
    "kotlin": _JVM,
    "lua": _Rules(lua.tails, lua.resolve),
    "objectivec": _C,
    "php": _Rules(php.tails, php.resolve),
    "python": _Rules(python.tails, python.resolve),
    "ruby": _Rules(ruby.tails, ruby.resolve),
    "rust": _Rules(rust.tails, rust.resolve),
    "scala": _JVM,
    "swift": _Rules(swift.tails, swift.resolve),
    "tsx": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "zig": _Rules(zig.tails, zig.resolve),
}

_LANGUAGES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    csharp.ECOSYSTEM: ("csharp",),
    go.ECOSYSTEM: ("go",),
    javascript.ECOSYSTEM: ("javascript", "tsx", "typescript"),
    jvm.ECOSYSTEM: ("groovy", "java", "kotlin", "scala"),
    php.ECOSYSTEM: ("php",),
    python.ECOSYSTEM: ("python",),
    rust.ECOSYSTEM: ("rust",),
    swift.ECOSYSTEM: ("swift",),
    zig.ECOSYSTEM: ("zig",),
}


def languages_of(ecosystem: str) -> tuple[str, ...]:
    """Returns the languages whose imports the module roots of an ecosystem decide about."""
    return _LANGUAGES_OF.get(ecosystem, ())


def import_tails(language: str, item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the strings on which the target of an import depends: none, one or two."""
    rules = _rules(language, from_path)
    return () if rules is None else tuple(tail for tail in rules.tails(item, from_path) if tail)


def resolve(language: str, item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns where an import in the file `from_path` leads.

    That is the path of a file, the path of a directory with `/` at its end where a package is a directory (`/` alone is
    the root of the repository), or the empty string: outside of the repository, or not known.
    """
    rules = _rules(language, from_path)
    return "" if rules is None else rules.resolve(item, from_path, paths)


def _rules(language: str, from_path: str) -> _Rules | None:
    is_too_deep = len(from_path) > MAX_PATH_LENGTH or from_path.count("/") > MAX_DIRECTORIES
    return None if is_too_deep else _RULES.get(language)


def affected_tails(added: Collection[str], removed: Collection[str], paths: PathIndex) -> set[str]:
    """Returns the tails whose imports must be resolved again after files came and went.

    `paths` is the repository after the change, configuration included. A file whose content alone changed is in neither
    collection. A package directory counts only when it appears or disappears as a whole: one more file in it leads no
    import elsewhere.
    """
    tails: set[str] = set()
    package_changes: dict[tuple[str, str], int] = {}
    for files, change in ((added, 1), (removed, -1)):
        for path in files:
            package = package_of(path)
            if package is not None:
                package_changes[package] = package_changes.get(package, 0) + change
            if package is None or package[0] != go.ECOSYSTEM:
                tails.update(awaited_tails(path))
            for configured in (javascript, rust, zig):
                tails.update(configured.configured_tails(path, paths))
        tails.update(python.configured_tails(files, paths))
    for package, change in package_changes.items():
        size = paths.package_size(*package)
        if change and (size == 0 or size == change):
            tails.update(_package_tails(*package, paths))
    tails.discard("")
    return tails


def _package_tails(ecosystem: str, directory: str, paths: PathIndex) -> Iterator[str]:
    if ecosystem == go.ECOSYSTEM:
        yield from go.package_tails(directory, paths)
        return
    # Imports do not tell packages from files before they are resolved, so they wait for both in the same way.
    yield directory_tail(directory)[:-1]
    yield awaited_tail(directory)
    for root in paths.roots(ecosystem).by_directory.get(directory, ()):
        if root.directory == directory:
            yield directory_tail(root.prefix + "/")[:-1]
