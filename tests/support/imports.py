"""A repository given as a list of paths, and the targets of imports in its files."""

from collections.abc import Mapping

from codecompass.languages.detect import language_of
from codecompass.languages.imports import InMemoryPaths, module_roots, resolve
from codecompass.languages.records import Import


def repository(paths: str, configuration: Mapping[str, str] | None = None) -> InMemoryPaths:
    """Returns an index of the paths (separated by blanks) and of the configuration files (path to text)."""
    texts = configuration or {}
    roots = [root for path, text in texts.items() for root in module_roots(path, text.encode())]
    return InMemoryPaths([*paths.split(), *texts], roots)


def target(paths: InMemoryPaths, from_path: str, spec: str, name: str = "", kind: str = "module") -> str:
    """Returns the target of an import; the language is that of the importing file."""
    return resolve(language_of(from_path, b""), Import(1, 1, spec, name, kind=kind), from_path, paths)
