"""PHP: classes by the PSR-4 prefixes of a `composer.json`, else by a path that ends in the whole name; literal includes."""

from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.jsonc import decode_jsonc
from codecompass.languages.imports.manifests import as_list, joined_directory, table_at
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ROOT_TARGET, ancestors, directory_of, join, last_part, nearest, tail_of
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.records import Import

ECOSYSTEM: Final = "composer"

_FILE_KINDS: Final = frozenset({"include", "relative"})


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the name of the file, or the last name, a class or a namespace."""
    if item.kind in _FILE_KINDS:
        tail = tail_of(last_part(item.spec))
        return (tail,) if tail else ()
    return (_name(item).rpartition("/")[2],)


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of a class, the directory of a namespace, or the included file."""
    if item.kind in _FILE_KINDS:
        return _included(item.spec, from_path, paths)
    name = _name(item)
    last = name.rpartition("/")[2]
    candidates = paths.files_with_tail(last)
    for prefix, rest in _splits(name):
        roots = [root for root in paths.roots(ECOSYSTEM).by_prefix.get(prefix, ()) if rest]
        files = [f"{root.directory}{rest}.php" for root in roots if candidates]
        found = [path for path in files if paths.has_file(path)]
        if not found:
            directories = [f"{root.directory}{rest}/" for root in roots]
            found = [directory for directory in directories if paths.package_size(ECOSYSTEM, directory)]
        if found:
            return nearest(found, from_path) or ROOT_TARGET
    return nearest(paths.files_ending(last, name + ".php"), from_path) if "/" in name else ""


def _name(item: Import) -> str:
    written = item.spec if item.name in ("", "*") else f"{item.spec}\\{item.name}" if item.spec else item.name
    return written.replace("\\", "/").strip("/")


def _splits(name: str) -> list[tuple[str, str]]:
    """Returns (namespace, rest) for every position to split at, the longest namespace first."""
    parts = name.split("/")
    return [("/".join(parts[:count]), "/".join(parts[count:])) for count in range(len(parts) - 1, -1, -1)]


def _included(spec: str, from_path: str, paths: PathIndex) -> str:
    relative = spec.lstrip("/")
    for directory in ancestors(from_path):
        path = join(directory, relative)
        if path is not None and paths.has_file(path):
            return path
        if spec.startswith((".", "/")):
            # An explicit path is relative to the directory of the file.
            return ""
    return ""


def _composer_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The PSR-4 and PSR-0 prefixes of a package, with `/` for the backslash and no slash at the end."""
    manifest = decode_jsonc(source)
    directory = directory_of(path)
    for key in ("autoload", "autoload-dev"):
        for standard in ("psr-4", "psr-0"):
            for prefix, written in table_at(manifest, key, standard).items():
                for relative in as_list(written):
                    target = joined_directory(directory, relative) if isinstance(relative, str) else None
                    if target is not None:
                        name = prefix.replace("\\", "/").strip("/")
                        # PSR-0 repeats the prefix below its directory.
                        yield ModuleRoot(ECOSYSTEM, name, target if standard == "psr-4" or not name else f"{target}{name}/")


PHP_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    packages=Packages(extensions=("php",), are_found_by_name=True),
    configuration=_composer_roots,
)
