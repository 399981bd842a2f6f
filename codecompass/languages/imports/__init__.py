"""Resolves imports to files and packages of the repository, by the rules of each language.

Pure functions over a `PathIndex`: nothing here reads a disk, a database or a syntax tree. Its modules are imported when they are
first used: most questions need none.
"""

from typing import TYPE_CHECKING

from codecompass import lazy

if TYPE_CHECKING:
    from codecompass.languages.imports.configuration import module_roots
    from codecompass.languages.imports.module_root import ModuleRoot
    from codecompass.languages.imports.path_index import InMemoryPaths, ModuleRoots, PathIndex
    from codecompass.languages.imports.paths import path_tails
    from codecompass.languages.imports.resolution import Resolver, affected_tails, import_tails, languages_of, resolve
else:
    __getattr__ = lazy.exports(
        __name__,
        {
            "configuration": ("module_roots",),
            "module_root": ("ModuleRoot",),
            "path_index": ("InMemoryPaths", "ModuleRoots", "PathIndex"),
            "paths": ("path_tails",),
            "resolution": ("Resolver", "affected_tails", "import_tails", "languages_of", "resolve"),
        },
    )

__all__ = [
    "InMemoryPaths",
    "ModuleRoot",
    "ModuleRoots",
    "PathIndex",
    "Resolver",
    "affected_tails",
    "import_tails",
    "languages_of",
    "module_roots",
    "path_tails",
    "resolve",
]
