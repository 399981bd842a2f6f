"""Import edges inside a repository: which file or package an import leads to, by the rules of its language.

Pure functions over a `PathIndex`: nothing here reads a disk, a database or a syntax tree.
"""

from codecompass.store.imports.configuration import module_roots
from codecompass.store.imports.index import InMemoryPaths, ModuleRoot, PathIndex, Roots
from codecompass.store.imports.places import path_tails
from codecompass.store.imports.resolution import affected_tails, import_tails, languages_of, resolve

__all__ = [
    "InMemoryPaths",
    "ModuleRoot",
    "PathIndex",
    "Roots",
    "affected_tails",
    "import_tails",
    "languages_of",
    "module_roots",
    "path_tails",
    "resolve",
]
