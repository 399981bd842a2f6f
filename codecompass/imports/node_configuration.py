"""Reads the module roots of `package.json` and `tsconfig.json`.

Each is a root of ecosystem `node` that maps a name (with at most one `*`) to a path: the name of a package, an entry of its
`exports`, an alias in `paths`. The built file that a package names is rarely in the repository, so its likely source
is a second target.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import msgspec

from codecompass.imports.path_index import ModuleRoot
from codecompass.imports.paths import directory_of, join, last_part

ECOSYSTEM: Final = "node"

_BUILD_DIRECTORIES: Final = frozenset({"build", "cjs", "dist", "es", "esm", "lib", "out", "output", "types", "umd"})
"""Directories that a build writes; `src` has the same files before the build."""

_FIXTURE_DIRECTORIES: Final = frozenset(
    {"__fixtures__", "example", "examples", "fixture", "fixtures", "samples", "templates", "test_data", "testdata"}
)

_MAX_TARGETS: Final = 6
"""Targets of one entry of a package; further conditions name the same file for other module systems."""


def package_scope(directory: str) -> str:
    """Returns the `scope` in which the packages of a directory are importable by name: empty (everywhere), or the directory of
    examples or fixtures around it, because a fixture often has the name of a well-known package."""
    parts = directory.split("/")
    for position, part in enumerate(parts):
        if part in _FIXTURE_DIRECTORIES:
            return "/".join(parts[: position + 1]) + "/"
    return ""


def typescript_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the aliases of a `tsconfig.json` or `jsconfig.json`: `paths`, and `baseUrl` as the alias of everything.

    `extends` is not followed: aliases hold for everything below the file, so those of a base configuration in a directory
    above apply anyway.
    """
    scope = directory_of(path)
    options = decode_jsonc(source).get("compilerOptions")
    if not isinstance(options, dict):
        return
    written_base = options.get("baseUrl")
    base = _joined_directory(scope, written_base) if isinstance(written_base, str) else None
    aliases = options.get("paths")
    for prefix, targets in aliases.items() if isinstance(aliases, dict) else ():
        for target in targets if isinstance(targets, list) else ():
            target_path = join(scope if base is None else base, target) if isinstance(target, str) else None
            if target_path is not None and _is_plain(prefix, target_path):
                yield ModuleRoot(ECOSYSTEM, prefix, target_path, scope)
    if base is not None:
        yield ModuleRoot(ECOSYSTEM, "*", base + "*", scope)


def package_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the name of a package, its entries and its private `#` imports."""
    directory = directory_of(path)
    manifest = decode_jsonc(source)
    for prefix, target in _entries(manifest.get("imports")):
        for target_path in _candidates(directory, target):
            yield ModuleRoot(ECOSYSTEM, prefix, target_path, directory)
    name = manifest.get("name")
    if not isinstance(name, str) or not name or "*" in name:
        return
    scope = package_scope(directory)
    for prefix, target in _exports(manifest):
        for target_path in _candidates(directory, target):
            yield ModuleRoot(ECOSYSTEM, name + prefix.removeprefix("."), target_path, scope)
    for target_path in ("src/index", "index", f"src/{name.rpartition('/')[2]}"):
        yield ModuleRoot(ECOSYSTEM, name, directory + target_path, scope)
    yield ModuleRoot(ECOSYSTEM, name + "/*", directory + "*", scope)
    yield ModuleRoot(ECOSYSTEM, name + "/*", directory + "src/*", scope)
    # A name that is not found inside still leads to the package.
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
    """Yields (name, target) of an `exports` or `imports` table, with the targets of all conditions in order."""
    for key, value in table.items() if isinstance(table, dict) else ():
        for target in list(dict.fromkeys(_strings(value)))[:_MAX_TARGETS]:
            if _is_plain(key, target):
                yield key, target


def _is_plain(prefix: str, target: str) -> bool:
    """Whether the names that import a file can be computed from its path and this target (see `configured_tails`)."""
    if "*" not in prefix and "*" not in target:
        return True
    head = last_part(target.partition("*")[0])
    rest = prefix.partition("*")[2]
    return prefix.count("*") == target.count("*") == 1 and "." not in head.lstrip(".") and rest[:1] in ("", ".", "/")


def _strings(value: object) -> Iterator[str]:
    pending = [value]
    while pending:
        current = pending.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, dict):
            pending.extend(reversed(current.values()))
        elif isinstance(current, list):
            pending.extend(reversed(current))


def _candidates(directory: str, target: str) -> Iterator[str]:
    """Yields the likely source of a built file, then the file itself."""
    target_path = join(directory, target)
    if target_path is None or not target_path.startswith(directory):
        return
    parts = target_path[len(directory) :].split("/")
    if parts[0] in _BUILD_DIRECTORIES:
        inner = [part for part in parts[1:-1] if part not in _BUILD_DIRECTORIES]
        yield "/".join([*directory.split("/")[:-1], "src", *inner, parts[-1]])
    yield target_path


def _joined_directory(scope: str, relative: str) -> str | None:
    joined = join(scope, relative)
    return None if joined is None else joined.rstrip("/") + "/" if joined else ""


# Configuration files are JSON with comments and with a comma after the last member (JSONC).

# Both match strings first, which are kept unchanged. An unterminated string extends to the end of the text: trying again at each
# escaped quote in it would take time in the square of its length.
_STRING: Final = r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))'
_COMMENTS: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMAS: Final = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)


def decode_jsonc(source: bytes) -> dict[str, Any]:
    """Returns the JSONC object in `source`.

    Raises:
        ValueError: it is not UTF-8, not JSONC, or not an object.
    """
    text = source.decode("utf-8-sig")
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        bare = _COMMENTS.sub(_keep_string, text)
        decoded = msgspec.json.decode(_LAST_COMMAS.sub(_keep_string, bare))
    if not isinstance(decoded, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a wrong value of the input, not of the caller
    return decoded


def _keep_string(match: re.Match[str]) -> str:
    return match[1] or ""
