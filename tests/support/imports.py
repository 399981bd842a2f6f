"""A repository that is a list of paths, and where an import in one of its files leads."""

from collections.abc import Mapping

from codecompass.imports import InMemoryPaths, module_roots, resolve
from codecompass.languages.detect import language_of
from codecompass.languages.records import Import


def repository(paths: str, configuration: Mapping[str, str] | None = None) -> InMemoryPaths:
    """Returns the index of the blank-separated paths and of the configuration files, which are given with their text."""
    texts = configuration or {}
    roots = [root for path, text in texts.items() for root in module_roots(path, text.encode())]
    return InMemoryPaths([*paths.split(), *texts], roots)


def target(paths: InMemoryPaths, from_path: str, spec: str, name: str = "", kind: str = "module") -> str:
    """Returns where the import leads; the language is that of the file."""
    return resolve(language_of(from_path, b""), Import(1, 1, spec, name, kind=kind), from_path, paths)
