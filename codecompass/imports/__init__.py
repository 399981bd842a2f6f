"""Import edges inside a repository: which file or package an import leads to, by the rules of its language.

Pure functions over a `PathIndex`: nothing here reads a disk, a database or a syntax tree.
"""

from codecompass.imports.configuration import module_roots
from codecompass.imports.paths import path_tails
from codecompass.imports.repository import InMemoryPaths, ModuleRoot, PathIndex, Roots
from codecompass.imports.resolution import affected_tails, import_tails, languages_of, resolve

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
