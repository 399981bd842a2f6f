"""The names that configuration gives to modules of JavaScript and TypeScript: packages, entries and aliases.

`package.json` maps a name (with at most one `*`) to a path: the name of a package, an entry of its `exports`. The built file that
a package names is rarely in the repository, so its likely source is a second target.

`tsconfig.json` and the like have aliases: `paths` and `baseUrl`, also those that a configuration inherits by `extends`. A
configuration applies below its own directory, but when it is read no other file is known. So each one also leaves records of
the ecosystem RECORDS, whose scope is the path of the file: its aliases as written, and the configurations that it extends.
`with_inherited` makes module roots of them once all files are known.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from codecompass.languages.imports.jsonc import decode_jsonc
from codecompass.languages.imports.manifests import package_scope
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.paths import directory_of, join, last_part

NODE: Final = "node"
RECORDS: Final = "tsconfig"

BUILD_DIRECTORIES: Final = frozenset({"build", "cjs", "dist", "es", "esm", "lib", "out", "output", "types", "umd"})
"""Directories that a build writes; `src` has the same files before the build."""

_OWN_DIRECTORY: Final = "${configDir}"
"""The directory of the configuration that is used, which may be one that extends the file with these words."""

_RELATIVE: Final = "."
_PACKAGE: Final = ""
"""Prefixes of the records of configurations that a file extends: by a path, or in a package."""

_MAX_BASES: Final = 20
"""Configurations that one inherits from, directly or not."""


def ecmascript_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the module roots of a `package.json`, or of a configuration of the compiler.

    Raises ValueError for a file that is not JSONC.
    """
    return (_package_roots if last_part(path) == "package.json" else _typescript_roots)(path, source)


def is_typescript_config(path: str) -> bool:
    """Whether the compiler or an editor uses a file of this name by itself."""
    name = last_part(path)
    return name in ("tsconfig.json", "jsconfig.json") or (name.endswith(".json") and name.startswith(("tsconfig.", "tsconfig-")))


def _typescript_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the aliases of a configuration, below its directory, and its records."""
    config = decode_jsonc(source)
    aliases = list(_aliases(path, config))
    if is_typescript_config(path):
        yield from _applied(aliases, directory_of(path))
    for base in _strings(config.get("extends")):
        if base.startswith("."):
            target = join(directory_of(path), base)
            if target:
                yield ModuleRoot(RECORDS, _RELATIVE, target, path)
        else:
            yield ModuleRoot(RECORDS, _PACKAGE, base, path)
    for prefix, target in aliases:
        yield ModuleRoot(RECORDS, prefix, target, path)


def _aliases(path: str, config: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields (name, path) of each alias; the path may begin with `${configDir}`. `baseUrl` is the alias of everything."""
    options = config.get("compilerOptions")
    if not isinstance(options, dict):
        return
    directory = directory_of(path)
    written_base = options.get("baseUrl")
    base = _joined(directory, written_base) if isinstance(written_base, str) else None
    if base and not base.endswith("/"):
        base += "/"
    paths = options.get("paths")
    for prefix, targets in paths.items() if isinstance(paths, dict) else ():
        for target in _strings(targets) if isinstance(targets, list) else ():
            target_path = _joined(directory if base is None else base, target)
            if target_path is not None and is_plain(prefix, target_path) and prefix not in (_RELATIVE, _PACKAGE):
                yield prefix, target_path
    if base is not None:
        yield "*", base + "*"


def _joined(directory: str, written: str) -> str | None:
    """Returns `join` of the two; a path that begins with `${configDir}` is kept, because it is relative to nothing else."""
    if written.startswith(_OWN_DIRECTORY):
        return written
    if directory.startswith(_OWN_DIRECTORY):
        inner = join(directory.removeprefix(_OWN_DIRECTORY).lstrip("/"), written)
        return None if inner is None else f"{_OWN_DIRECTORY}/{inner}"
    return join(directory, written)


def _applied(aliases: Iterable[tuple[str, str]], directory: str) -> Iterator[ModuleRoot]:
    """Yields the aliases as module roots for the files below a directory."""
    for prefix, written in aliases:
        target: str | None = written
        if written.startswith(_OWN_DIRECTORY):
            target = join(directory, written.removeprefix(_OWN_DIRECTORY).lstrip("/"))
        if target is not None:
            yield ModuleRoot(NODE, prefix, target, directory)


def with_inherited(roots: Iterable[ModuleRoot]) -> list[ModuleRoot]:
    """Returns the module roots of the ecosystem NODE among `roots`, and those that configurations inherit by their records."""
    found: list[ModuleRoot] = []
    records: dict[str, list[ModuleRoot]] = {}
    for root in roots:
        if root.ecosystem == RECORDS:
            records.setdefault(root.scope, []).append(root)
        elif root.ecosystem == NODE:
            found.append(root)
    if not any(root.prefix in (_RELATIVE, _PACKAGE) for each in records.values() for root in each):
        return found
    for own in records.values():
        own.sort(key=lambda root: root.rank)
    packages = {root.prefix: root.directory for root in found if root.directory.endswith("/") and "*" not in root.prefix}
    for path, own in records.items():
        if is_typescript_config(path) and any(root.prefix in (_RELATIVE, _PACKAGE) for root in own):
            inherited = _Inheritance(records, packages).aliases(path)
            applied = _applied(((root.prefix, root.directory) for root in inherited), directory_of(path))
            found += [replace(root, rank=rank) for rank, root in enumerate(applied)]
    return found


class _Inheritance:
    """Follows `extends` from one configuration."""

    def __init__(self, records: Mapping[str, list[ModuleRoot]], packages: Mapping[str, str]) -> None:
        self._records = records
        self._packages = packages
        self._seen: set[str] = set()

    def aliases(self, path: str) -> list[ModuleRoot]:
        """Returns the aliases that hold for a configuration: its own `paths`, else those of the last base that has any."""
        if path in self._seen or len(self._seen) > _MAX_BASES:
            return []
        self._seen.add(path)
        own = self._records.get(path, [])
        written = [root for root in own if root.prefix not in (_RELATIVE, _PACKAGE)]
        bases = [root for root in own if root.prefix in (_RELATIVE, _PACKAGE)]
        paths = [root for root in written if root.prefix != "*"]
        everything = [root for root in written if root.prefix == "*"]
        for base in reversed(bases):
            if paths and everything:
                break
            inherited = self.aliases(self._file_of(base))
            paths = paths or [root for root in inherited if root.prefix != "*"]
            everything = everything or [root for root in inherited if root.prefix == "*"]
        return [*paths, *everything]

    def _file_of(self, base: ModuleRoot) -> str:
        """Returns the path of a configuration that is extended; empty if it has no aliases or is not in the repository."""
        target = base.directory
        if base.prefix == _PACKAGE:
            parts = target.split("/")
            n_parts = 2 if target.startswith("@") else 1
            directory = self._packages.get("/".join(parts[:n_parts]))
            if directory is None:
                return ""
            target = directory + "/".join(parts[n_parts:])
        candidates = (target, target + ".json", (target.rstrip("/") + "/tsconfig.json").lstrip("/"))
        return next((path for path in candidates if path in self._records), "")


def is_plain(prefix: str, target: str) -> bool:
    """Whether the names that import a file can be computed from its path and this target (see `configured_tails`)."""
    if "*" not in prefix and "*" not in target:
        return True
    head = last_part(target.partition("*")[0])
    rest = prefix.partition("*")[2]
    return prefix.count("*") == target.count("*") == 1 and "." not in head.lstrip(".") and rest[:1] in ("", ".", "/")


def _strings(value: object) -> list[str]:
    """Returns a string, or the strings of a list."""
    values = value if isinstance(value, list) else [value]
    return [each for each in values if isinstance(each, str)]


_MAX_TARGETS: Final = 6
"""Targets of one entry of a package; further conditions name the same file for other module systems."""


def _package_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the name of a package, its entries and its private `#` imports."""
    directory = directory_of(path)
    manifest = decode_jsonc(source)
    for prefix, target in _package_entries(manifest.get("imports")):
        for target_path in _source_and_built(directory, target):
            yield ModuleRoot(NODE, prefix, target_path, directory)
    name = manifest.get("name")
    if not isinstance(name, str) or not name or "*" in name:
        return
    scope = package_scope(directory)
    for prefix, target in _exports_of(manifest):
        for target_path in _source_and_built(directory, target):
            yield ModuleRoot(NODE, name + prefix.removeprefix("."), target_path, scope)
    for target_path in ("src/index", "index", f"src/{name.rpartition('/')[2]}"):
        yield ModuleRoot(NODE, name, directory + target_path, scope)
    yield ModuleRoot(NODE, name + "/*", directory + "*", scope)
    yield ModuleRoot(NODE, name + "/*", directory + "src/*", scope)
    # A name that is not found inside still leads to the package.
    yield ModuleRoot(NODE, name, directory, scope)
    yield ModuleRoot(NODE, name + "/*", directory, scope)


def _exports_of(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    exports = manifest.get("exports")
    if isinstance(exports, dict) and any(key.startswith(".") for key in exports):
        yield from _package_entries(exports)
    elif exports is not None:
        yield from _package_entries({".": exports})
    for key in ("source", "module", "main", "types"):
        if isinstance(manifest.get(key), str):
            yield ".", manifest[key]


def _package_entries(table: object) -> Iterator[tuple[str, str]]:
    """Yields (name, target) of an `exports` or `imports` table, with the targets of all conditions in order."""
    for key, value in table.items() if isinstance(table, dict) else ():
        for target in list(dict.fromkeys(_strings_below(value)))[:_MAX_TARGETS]:
            if is_plain(key, target):
                yield key, target


def _strings_below(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            pending.extend(reversed(current.values()))
        elif isinstance(current, list):
            pending.extend(reversed(current))


def _source_and_built(directory: str, target: str) -> Iterator[str]:
    """Yields the likely source of a built file, then the file itself."""
    target_path = join(directory, target)
    if target_path is None or not target_path.startswith(directory):
        return
    parts = target_path[len(directory) :].split("/")
    if parts[0] in BUILD_DIRECTORIES:
        inner = [part for part in parts[1:-1] if part not in BUILD_DIRECTORIES]
        yield "/".join([*directory.split("/")[:-1], "src", *inner, parts[-1]])
    yield target_path
