"""The aliases of `tsconfig.json` and the like: `paths` and `baseUrl`, also those that a configuration inherits by `extends`.

A configuration applies below its own directory, but when it is read no other file is known. So each one also leaves records of
the ecosystem RECORDS, whose scope is the path of the file: its aliases as written, and the configurations that it extends.
`with_inherited` makes module roots of them once all files are known.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec.structs import replace

from codecompass.languages.imports.jsonc import decode_jsonc
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.paths import directory_of, join, last_part

NODE: Final = "node"
RECORDS: Final = "tsconfig"

MENTION: Final = b'"compilerOptions"'
"""In every JSON file that is a configuration of the compiler, whatever its name."""

_OWN_DIRECTORY: Final = "${configDir}"
"""The directory of the configuration that is used, which may be one that extends the file with these words."""

_RELATIVE: Final = "."
_PACKAGE: Final = ""
"""Prefixes of the records of configurations that a file extends: by a path, or in a package."""

_MAX_BASES: Final = 20
"""Configurations that one inherits from, directly or not."""


def is_typescript_config(path: str) -> bool:
    """Whether the compiler or an editor uses a file of this name by itself."""
    name = last_part(path)
    return name in ("tsconfig.json", "jsconfig.json") or (name.endswith(".json") and name.startswith(("tsconfig.", "tsconfig-")))


def typescript_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the aliases of a configuration, below its directory, and its records.

    Raises ValueError for a file that is not JSONC.
    """
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
