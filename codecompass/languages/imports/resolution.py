"""Entry points for all languages: the tails that an import depends on, its target, and the tails that a change of files affects.

Invariant by which an incremental update equals a full build: the result of `resolve` for an import changes only when
`affected_tails` of the change has one of its `import_tails`, or when a module root of its ecosystem changes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final

from msgspec import Struct

from codecompass.languages.imports import (
    bash,
    c,
    csharp,
    elixir,
    go,
    haskell,
    javascript,
    jvm,
    lua,
    php,
    python,
    ruby,
    rust,
    swift,
    typescript_config,
    zig,
)
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import dependency_tail, dependency_tails, directory_tail, package_of
from codecompass.languages.records import Import


class LanguageRules(Struct, frozen=True):
    tails: Callable[[Import, str], tuple[str, ...]]
    resolve: Callable[[Import, str, PathIndex], str]


MAX_DIRECTORIES: Final = 64
"""Directories above an importing file, each of which resolving may try; imports of deeper files are not resolved. The deepest of
32 known repositories has 14."""

MAX_PATH_LENGTH: Final = 1_024
"""Characters of an importing file's path; imports of files with longer paths are not resolved."""

_JAVASCRIPT: Final = LanguageRules(javascript.tails, javascript.resolve)
_PYTHON: Final = LanguageRules(python.tails, python.resolve)
_JVM: Final = LanguageRules(jvm.tails, jvm.resolve)
_C: Final = LanguageRules(c.tails, c.resolve)

RULES: Final[Mapping[str, LanguageRules]] = {
    "astro": _JAVASCRIPT,
    "bash": LanguageRules(bash.tails, bash.resolve),
    "c": _C,
    "cpp": _C,
    "csharp": LanguageRules(csharp.tails, csharp.resolve),
    "elixir": LanguageRules(elixir.tails, elixir.resolve),
    "go": LanguageRules(go.tails, go.resolve),
    "groovy": _JVM,
    "haskell": LanguageRules(haskell.tails, haskell.resolve),
    "java": _JVM,
    "javascript": _JAVASCRIPT,
    "jupyter": _PYTHON,
    "kotlin": _JVM,
    "lua": LanguageRules(lua.tails, lua.resolve),
    "objectivec": _C,
    "php": LanguageRules(php.tails, php.resolve),
    "python": _PYTHON,
    "ruby": LanguageRules(ruby.tails, ruby.resolve),
    "rust": LanguageRules(rust.tails, rust.resolve),
    "scala": _JVM,
    "svelte": _JAVASCRIPT,
    "swift": LanguageRules(swift.tails, swift.resolve),
    "tsx": _JAVASCRIPT,
    "typescript": _JAVASCRIPT,
    "vue": _JAVASCRIPT,
    "zig": LanguageRules(zig.tails, zig.resolve),
}

_LANGUAGES_OF: Final[Mapping[str, tuple[str, ...]]] = {
    csharp.ECOSYSTEM: ("csharp",),
    go.ECOSYSTEM: ("go",),
    javascript.ECOSYSTEM: ("astro", "javascript", "svelte", "tsx", "typescript", "vue"),
    jvm.ECOSYSTEM: ("groovy", "java", "kotlin", "scala"),
    php.ECOSYSTEM: ("php",),
    python.ECOSYSTEM: ("jupyter", "python"),
    rust.ECOSYSTEM: ("rust",),
    swift.ECOSYSTEM: ("swift",),
    typescript_config.RECORDS: ("javascript", "tsx", "typescript"),
    zig.ECOSYSTEM: ("zig",),
}


def languages_of(ecosystem: str) -> tuple[str, ...]:
    """Returns the languages whose imports depend on the module roots of an ecosystem."""
    return _LANGUAGES_OF.get(ecosystem, ())


def import_tails(language: str, item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the tails on which the target of an import depends: none, one or two."""
    rules = _rules(language, from_path)
    return () if rules is None else tuple(tail for tail in rules.tails(item, from_path) if tail)


def resolve(language: str, item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the target of an import in the file `from_path`.

    The target is the path of a file, a directory with `/` at its end if packages are directories (`/` alone is the root of the
    repository), or empty if it is outside the repository or unknown.
    """
    rules = _rules(language, from_path)
    return "" if rules is None else rules.resolve(item, from_path, paths)


def _rules(language: str, from_path: str) -> LanguageRules | None:
    is_too_deep = len(from_path) > MAX_PATH_LENGTH or from_path.count("/") > MAX_DIRECTORIES
    return None if is_too_deep else RULES.get(language)


def affected_tails(added: Collection[str], removed: Collection[str], paths: PathIndex) -> set[str]:
    """Returns the tails whose imports must be resolved again after files were added and removed.

    `paths` is the repository after the change, configuration included. A file of which only the content changed is in neither
    collection. A package directory counts only when it appears or disappears as a whole: one more file in it changes no
    target.
    """
    tails: set[str] = set()
    package_changes: dict[tuple[str, str], int] = {}
    for files, change in ((added, 1), (removed, -1)):
        for path in files:
            package = package_of(path)
            if package is not None:
                package_changes[package] = package_changes.get(package, 0) + change
            if package is None or package[0] != go.ECOSYSTEM:
                tails.update(dependency_tails(path))
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
    # Whether an import means a package or a file is unknown until it is resolved, so it has the same tails for both.
    yield directory_tail(directory)[:-1]
    yield dependency_tail(directory)
    for root in paths.roots(ecosystem).by_directory.get(directory, ()):
        if root.directory == directory:
            yield directory_tail(root.prefix + "/")[:-1]
