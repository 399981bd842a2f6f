"""Zig: `@import` of a file by its path, or of a module that the build script declares."""

from collections.abc import Collection, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.manifests import package_scope
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, dependency_tail, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

ECOSYSTEM: Final = "zig"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of a file's path, or the name of a module."""
    spec = item.spec
    return (dependency_tail(join(directory_of(from_path), spec) or "") if "." in spec else tail_of(last_part(spec)),)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file. A module that the build script does not declare is looked for in `src/` by its name."""
    spec = item.spec
    if "." in spec:
        path = join(directory_of(from_path), spec)
        return path if path is not None and paths.has_file(path) else ""
    roots = paths.roots(ECOSYSTEM).by_prefix.get(spec, ())
    found = [root.directory for root in roots if from_path.startswith(root.scope) and paths.has_file(root.directory)]
    if found:
        return nearest(found, from_path)
    for directory in ancestors(from_path):
        path = f"{directory}src/{spec}.zig"
        if paths.has_file(path):
            return path
    return ""


def configured_tails(changed: Collection[str], paths: PathIndex) -> Iterator[str]:
    """Yields the tails of the modules whose root file is one of `changed`."""
    by_directory = paths.roots(ECOSYSTEM).by_directory
    for path in changed:
        for root in by_directory.get(directory_of(path), ()):
            if root.directory == path:
                yield tail_of(last_part(root.prefix))


_ZIG_MODULE: Final = lazy.pattern(r"\b(?:addModule|addImport|addAnonymousImport)\s*\(\s*\"([^\"]+)\"([^;]{0,1000});")
_ZIG_FILE: Final = lazy.pattern(r"root_source_file\s*=\s*(?:b\.path\(\s*|\.\{[^\"]*)\"([^\"]+)\"")


def _zig_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The modules that a build script declares with a root file."""
    directory = directory_of(path)
    for match in _ZIG_MODULE.finditer(source.decode("utf-8")):
        written = _ZIG_FILE.search(match[2])
        target = join(directory, written[1]) if written is not None else None
        if target is not None:
            yield ModuleRoot(ECOSYSTEM, match[1], target, package_scope(directory))


_SOURCE_DIRECTORIES: Final = frozenset({"src", "lib"})


def zig_module(path: str) -> tuple[str, ...]:
    """Returns the path without its extension and source directory: a file is a struct with its name."""
    parts = path.rsplit(".", 1)[0].split("/")
    return tuple(parts[1:] if len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES else parts)


ZIG_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    configured_tails=configured_tails,
    configuration=_zig_roots,
)
