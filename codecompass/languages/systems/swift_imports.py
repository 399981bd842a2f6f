"""Swift: an import names a module, which is a target of a package; it leads to the target's directory, never to a file."""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.manifests import joined_directory, package_scope
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import directory_of, nearest
from codecompass.languages.imports.rules import ImportRules, Packages
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


_SOURCES: Final = frozenset({"Plugins", "Source", "Sources", "Tests", "src"})


def _module_directory(path: str) -> str | None:
    """Returns the directory of a module by the package manager's convention, else the top-level directory."""
    parts = path.split("/")
    for position, part in enumerate(parts[:-2]):
        if part in _SOURCES:
            return "/".join(parts[: position + 2]) + "/"
    return parts[0] + "/" if len(parts) > 1 else None


_SWIFT_TARGET: Final = lazy.pattern(
    r"\.(?:target|testTarget|executableTarget|macro|plugin|systemLibrary)\s*\(\s*name\s*:\s*\"([^\"]+)\""
)
_SWIFT_PATH: Final = lazy.pattern(r"\bpath\s*:\s*\"([^\"]+)\"")


def _swift_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The targets of a package that have a `path`; the others are found by convention."""
    text = source.decode("utf-8")
    directory = directory_of(path)
    targets = list(_SWIFT_TARGET.finditer(text))
    for position, target in enumerate(targets):
        end = targets[position + 1].start() if position + 1 < len(targets) else len(text)
        written = _SWIFT_PATH.search(text, target.end(), end)
        module_directory = joined_directory(directory, written[1]) if written is not None else None
        if module_directory:
            yield ModuleRoot(ECOSYSTEM, target[1], module_directory, package_scope(directory))


_MODULE_ROOTS: Final = frozenset({"Sources", "Tests"})


def swift_module(path: str) -> tuple[str, ...]:
    """Returns the module: by convention the directory below `Sources` or `Tests`."""
    parts = path.split("/")
    for index, part in enumerate(parts[:-2]):
        if part in _MODULE_ROOTS:
            return (parts[index + 1],)
    return ()


SWIFT_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    packages=Packages(extensions=("swift",), directory=_module_directory, are_found_by_name=True),
    importers=("swift",),
    is_part_of_outer_packages=True,
    configuration=_swift_roots,
)
