"""Import edges inside a repository: which file or package an import leads to, by the rules of its language.

Pure functions over a `PathIndex`: nothing here reads a disk, a database or a syntax tree.
"""

from codecompass.store.imports.configuration import CONFIGURATION_FILES, is_configuration, module_roots
from codecompass.store.imports.index import InMemoryPaths, ModuleRoot, PathIndex, Roots
from codecompass.store.imports.places import directory_tail, package_key, package_of, path_tails
from codecompass.store.imports.resolution import affected_tails, import_tails, languages_of, resolve

__all__ = [
    "CONFIGURATION_FILES",
    "InMemoryPaths",
    "ModuleRoot",
    "PathIndex",
    "Roots",
    "affected_tails",
    "directory_tail",
    "import_tails",
    "is_configuration",
    "languages_of",
    "module_roots",
    "package_key",
    "package_of",
    "path_tails",
    "resolve",
]
