"""Resolves imports to files and packages of the repository, by the rules of each language.

Pure functions over a `PathIndex`: nothing here reads a disk, a database or a syntax tree.
"""

from codecompass.languages.ecosystems import is_configuration
from codecompass.languages.imports.configuration import module_roots
from codecompass.languages.imports.path_index import InMemoryPaths, ModuleRoot, ModuleRoots, PathIndex
from codecompass.languages.imports.paths import path_tails
from codecompass.languages.imports.resolution import affected_tails, import_tails, languages_of, resolve

__all__ = [
    "InMemoryPaths",
    "ModuleRoot",
    "ModuleRoots",
    "PathIndex",
    "affected_tails",
    "import_tails",
    "is_configuration",
    "languages_of",
    "module_roots",
    "path_tails",
    "resolve",
]
