"""What `package.json` and `tsconfig.json` say about where JavaScript names lead.

Everything becomes a root of ecosystem `node` that maps a name (with at most one `*`) to a place: a package by its name,
an entry of its `exports`, an alias in `paths`. The built file that a package names is seldom in the repository, so its
likely source is named as well.
"""

from collections.abc import Iterator
from typing import Any, Final

from codecompass.imports.jsonc import decode
from codecompass.imports.paths import directory_of, join, last_part
from codecompass.imports.repository import ModuleRoot

ECOSYSTEM: Final = "node"

_BUILT: Final = frozenset({"build", "cjs", "dist", "es", "esm", "lib", "out", "output", "types", "umd"})
"""Directories that a build writes; `src` has the same files before the build."""

_FIXTURES: Final = frozenset(
    {"__fixtures__", "example", "examples", "fixture", "fixtures", "samples", "templates", "test_data", "testdata"}
)

_MAX_TARGETS: Final = 6
"""Places tried for one entry of a package; more conditions than that name the same file in other module systems."""


def own_scope(directory: str) -> str:
    """Returns where the packages of a directory are known by name: everywhere, but for examples and fixtures.

    A fixture is often called like a well-known package, and is meant by its neighbours only.
    """
    parts = directory.split("/")
    for position, part in enumerate(parts):
        if part in _FIXTURES:
            return "/".join(parts[: position + 1]) + "/"
    return ""


def typescript_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the aliases of a `tsconfig.json` or `jsconfig.json`: `paths`, and `baseUrl` as the alias of everything.

    `extends` is not followed: aliases hold for all that lies below the file, so a base configuration further up is
    found by its place.
    """
    scope = directory_of(path)
    options = decode(source).get("compilerOptions")
    if not isinstance(options, dict):
        return
    written_base = options.get("baseUrl")
    base = _directory(scope, written_base) if isinstance(written_base, str) else None
    aliases = options.get("paths")
    for prefix, targets in aliases.items() if isinstance(aliases, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            place = join(scope if base is None else base, target) if isinstance(target, str) else None
            if place is not None and _is_plain(prefix, place):
                yield ModuleRoot(ECOSYSTEM, prefix, place, scope)
    if base is not None:
        yield ModuleRoot(ECOSYSTEM, "*", base + "*", scope)


def package_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the name of a package, its entries and its private `#` imports."""
    directory = directory_of(path)
    manifest = decode(source)
    for prefix, target in _entries(manifest.get("imports")):
        for place in _places(directory, target):
            yield ModuleRoot(ECOSYSTEM, prefix, place, directory)
    name = manifest.get("name")
    if not isinstance(name, str) or not name or "*" in name:
        return
    scope = own_scope(directory)
    for prefix, target in _exports(manifest):
        for place in _places(directory, target):
            yield ModuleRoot(ECOSYSTEM, name + prefix.removeprefix("."), place, scope)
    for place in ("src/index", "index", f"src/{name.rpartition('/')[2]}"):
        yield ModuleRoot(ECOSYSTEM, name, directory + place, scope)
    yield ModuleRoot(ECOSYSTEM, name + "/*", directory + "*", scope)
    yield ModuleRoot(ECOSYSTEM, name + "/*", directory + "src/*", scope)
    # What is not found inside is at least known to be of this package.
    yield ModuleRoot(ECOSYSTEM, name, directory, scope)
    yield ModuleRoot(ECOSYSTEM, name + "/*", directory, scope)


def _exports(manifest: dict[str, Any]) -> Iterator[tuple[str, str]]:
    exports = manifest.get("exports")
    if isinstance(exports, dict) and any(key.startswith(".") for key in exports):
        yield from _entries(exports)
    elif exports is not None:
        yield from _entries({".": exports})
    for key in ("source", "module", "main", "types"):
        if isinstance(manifest.get(key), str):
            yield ".", manifest[key]


def _entries(table: object) -> Iterator[tuple[str, str]]:
    """Yields (name, target) of an `exports` or `imports` table, the targets of all conditions in their order."""
    for key, value in table.items() if isinstance(table, dict) else ():
        for target in list(dict.fromkeys(_leaves(value)))[:_MAX_TARGETS]:
            if _is_plain(key, target):
                yield key, target


def _is_plain(prefix: str, target: str) -> bool:
    """Says whether from a file that the target matches the importing names can be told (see `configured_tails`)."""
    if "*" not in prefix and "*" not in target:
        return True
    head = last_part(target.partition("*")[0])
    rest = prefix.partition("*")[2]
    return prefix.count("*") == target.count("*") == 1 and "." not in head.lstrip(".") and rest[:1] in ("", ".", "/")


def _leaves(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            pending.extend(reversed(current.values()))
        elif isinstance(current, list):
            pending.extend(reversed(current))


def _places(directory: str, target: str) -> Iterator[str]:
    """The source of a built file first, then the file itself."""
    place = join(directory, target)
    if place is None or not place.startswith(directory):
        return
    parts = place[len(directory) :].split("/")
    if parts[0] in _BUILT:
        inner = [part for part in parts[1:-1] if part not in _BUILT]
        yield "/".join([*directory.split("/")[:-1], "src", *inner, parts[-1]])
    yield place


def _directory(scope: str, relative: str) -> str | None:
    joined = join(scope, relative)
    return None if joined is None else joined.rstrip("/") + "/" if joined else ""
