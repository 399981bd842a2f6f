"""Swift: an import names a module, which is a target of a package; it leads to the target's directory, never to a file."""

from typing import Final

from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import nearest
from codecompass.languages.records import Import

ECOSYSTEM: Final = "swift"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the name of the module."""
    return (_module(item),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of the target: the one that the package configures, else by convention."""
    module = _module(item)
    roots = paths.roots(ECOSYSTEM).by_prefix.get(module, ())
    configured = [root.directory for root in roots if from_path.startswith(root.scope)]
    if configured:
        return nearest(configured, from_path)
    directories = paths.packages_ending(module + "/", module + "/")
    found = [directory for directory in directories if paths.package_size(ECOSYSTEM, directory)]
    return nearest(found, from_path)


def _module(item: Import) -> str:
    return item.spec.partition(".")[0]
