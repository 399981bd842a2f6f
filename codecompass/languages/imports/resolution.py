"""Entry points for all languages: the tails that an import depends on, its target, and the tails that a change of files affects.

Invariant by which an incremental update equals a full build: the result of `resolve` for an import changes only when
`affected_tails` of the change has one of its `import_tails`, or when a module root of its ecosystem changes.
"""

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from codecompass.languages import described
from codecompass.languages.detect import EXTENSIONS
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import (
    dependency_tail,
    dependency_tails,
    directory_of,
    directory_tail,
    package_of,
    package_rules,
)
from codecompass.languages.records import Import
from codecompass.languages.table import ECOSYSTEMS

if TYPE_CHECKING:
    from codecompass.languages.imports.rules import ImportRules

MAX_DIRECTORIES: Final = 64
"""Directories above an importing file, each of which resolving may try; imports of deeper files are not resolved. The deepest of
32 known repositories has 14."""

MAX_PATH_LENGTH: Final = 1_024
"""Characters of an importing file's path; imports of files with longer paths are not resolved."""


def languages_of(ecosystem: str) -> tuple[str, ...]:
    """Returns the languages whose imports depend on the module roots of an ecosystem."""
    known = ECOSYSTEMS.get(ecosystem)
    if known is None:
        return ()
    rules = described(known.language).imports
    return (known.language,) if rules is None or not rules.family else rules.family


def import_tails(language: str, item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the tails on which the target of an import depends: none, one or two."""
    rules = _rules(language, from_path)
    return () if rules is None else _tails(rules, item, from_path)


def resolve(language: str, item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the target of an import in the file `from_path`.

    The target is the path of a file, a directory with `/` at its end if packages are directories (`/` alone is the root of the
    repository), or empty if it is outside the repository or unknown.
    """
    rules = _rules(language, from_path)
    return "" if rules is None else rules.resolve(item, from_path, paths)


class Resolver:
    """Resolves the imports of many files among paths that stay the same."""

    def __init__(self, paths: PathIndex) -> None:
        self._paths = paths
        self._known: dict[tuple[str, str, str], tuple[tuple[str, ...], str]] = {}
        """By language, directory of the importing file and spec, where these suffice."""

    def resolved(self, language: str, item: Import, from_path: str) -> tuple[tuple[str, ...], str]:
        """Returns `import_tails` and the result of `resolve` for an import."""
        rules = _rules(language, from_path)
        if rules is None:
            return (), ""
        if not rules.are_same_in_directory:
            return _tails(rules, item, from_path), rules.resolve(item, from_path, self._paths)
        key = (language, directory_of(from_path), item.spec)
        found = self._known.get(key)
        if found is None:
            if len(self._known) >= MAX_RESOLVED:
                self._known.clear()
            found = self._known[key] = _tails(rules, item, from_path), rules.resolve(item, from_path, self._paths)
        return found


MAX_RESOLVED: Final = 20_000
"""Imports that a `Resolver` remembers, 5 MB. Files come in the order of their directories, more or less."""


def _tails(rules: "ImportRules", item: Import, from_path: str) -> tuple[str, ...]:
    tails = rules.tails(item, from_path)
    return tails if all(tails) else tuple(tail for tail in tails if tail)


def _rules(language: str, from_path: str) -> "ImportRules | None":
    is_too_deep = len(from_path) > MAX_PATH_LENGTH or from_path.count("/") > MAX_DIRECTORIES
    return None if is_too_deep else described(language).imports


def affected_tails(added: Collection[str], removed: Collection[str], paths: PathIndex) -> set[str]:
    """Returns the tails whose imports must be resolved again after files were added and removed.

    `paths` is the repository after the change, configuration included. A file of which only the content changed is in neither
    collection. A package directory counts only when it appears or disappears as a whole: one more file in it changes no
    target.
    """
    tails: set[str] = set()
    package_changes: dict[tuple[str, str], int] = {}
    rules_of: dict[str, ImportRules] = {}
    for files, change in ((added, 1), (removed, -1)):
        for path in files:
            package, rules = package_of(path), package_rules(path)
            if package is not None and rules is not None:
                package_changes[package] = package_changes.get(package, 0) + change
                rules_of[package[0]] = rules
            if package is None or rules is None or rules.packages is None or not rules.packages.hide_files:
                tails.update(dependency_tails(path))
    changed = [*added, *removed]
    for configured_tails in {rules.configured_tails for rules in _concerned(changed, paths)}:
        if configured_tails is not None:
            tails.update(configured_tails(changed, paths))
    for package, change in package_changes.items():
        size = paths.package_size(*package)
        if change and (size == 0 or size == change):
            tails.update(_package_tails(package, rules_of[package[0]], paths))
    tails.discard("")
    return tails


def _concerned(changed: Collection[str], paths: PathIndex) -> "Iterator[ImportRules]":
    """Yields the rules of the languages that may import one of the changed files by another name than its own: the language of
    the file, and those whose configuration is in the repository."""
    extensions = {path[path.rfind(".") :] for path in changed if "." in path}
    languages = {language for extension in extensions if (language := EXTENSIONS.get(extension))}
    if changed:
        languages |= {ECOSYSTEMS[name].language for name in paths.ecosystems() if name in ECOSYSTEMS}
    for language in languages:
        rules = described(language).imports
        if rules is not None:
            yield rules


def _package_tails(package: tuple[str, str], rules: "ImportRules", paths: PathIndex) -> Iterator[str]:
    ecosystem, directory = package
    if rules.packages is not None and rules.packages.tails is not None:
        yield from rules.packages.tails(directory, paths)
        return
    # Whether an import means a package or a file is unknown until it is resolved, so it has the same tails for both.
    yield directory_tail(directory)[:-1]
    yield dependency_tail(directory)
    for root in paths.roots(ecosystem).by_directory.get(directory, ()):
        if root.directory == directory:
            yield directory_tail(root.prefix + "/")[:-1]
