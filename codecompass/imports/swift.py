"""Swift: a module is a target of a package, and its directory is the answer; a file cannot be imported."""

from typing import Final

from codecompass.imports.paths import nearest
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

ECOSYSTEM: Final = "swift"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the name of the module."""
    return (_module(item),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of the target: where the package says, else by the convention for sources."""
    module = _module(item)
    roots = paths.roots(ECOSYSTEM).by_prefix.get(module, ())
    said = [root.directory for root in roots if from_path.startswith(root.scope)]
    if said:
        return nearest(said, from_path)
    directories = paths.packages_ending(module + "/", module + "/")
    found = [directory for directory in directories if paths.package_size(ECOSYSTEM, directory)]
    return nearest(found, from_path)


def _module(item: Import) -> str:
    return item.spec.partition(".")[0]
