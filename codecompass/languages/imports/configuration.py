"""Reads the module roots that files of a repository declare; most are configuration files, with one reader for each kind.

Those of `package.json` map a name (with at most one `*`) to a path: the name of a package, an entry of its `exports`. The built
file that a package names is rarely in the repository, so its likely source is a second target. `typescript_config` reads
`tsconfig.json`.

Runs in worker processes. An invalid file has no roots: it is a test fixture, or is being edited.
"""

import configparser
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from codecompass.languages.imports.jsonc import decode_jsonc
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.paths import BUILD_DIRECTORIES, directory_of, join, last_part
from codecompass.languages.imports.typescript_config import MENTION, NODE, is_plain, is_typescript_config, typescript_roots
from codecompass.units import MIB

MAX_ROOTS_PER_FILE: Final = 500
"""Only generated files have more; the first ones are kept."""

MAX_READ: Final = 20_000
"""Roots taken from a reader, including duplicates and roots that are too long."""

MAX_SOURCE_BYTES: Final = 1 * MIB
"""A larger file is not configuration, whatever file size the user has allowed."""

MAX_ROOT_LENGTH: Final = 1_000
"""Characters of a name, and of its target. Roots with longer ones are ignored."""

MAX_PYTHON_DIRECTORIES: Final = 20
"""Entries of the search path from one file. Each import may try all of them."""


def module_roots(path: str, source: bytes) -> tuple[ModuleRoot, ...]:
    """Returns the module roots that the file at `path` declares, ranked in the order of the file; () for an invalid file."""
    reader = _reader_of(path)
    if reader is None and path.endswith(".json") and MENTION in source:
        # A configuration that others extend may have any name.
        reader = typescript_roots
    if reader is None or len(source) > MAX_SOURCE_BYTES:
        return ()
    found: dict[ModuleRoot, None] = {}
    try:
        for root in islice(reader(path, source), MAX_READ):
            if len(root.prefix) <= MAX_ROOT_LENGTH and len(root.directory) <= MAX_ROOT_LENGTH:
                found[root] = None
            if len(found) == MAX_ROOTS_PER_FILE:
                break
    except (ValueError, RecursionError, configparser.Error):
        return ()
    return tuple(replace(root, rank=rank) for rank, root in enumerate(found))


def is_configuration(path: str) -> bool:
    """Whether a file with this path exists to say how modules are named. Sources that may say it too do not count."""
    return not path.endswith(".kt") and _reader_of(path) is not None


def _reader_of(path: str) -> Callable[[str, bytes], Iterator[ModuleRoot]] | None:
    name = last_part(path)
    reader = _READERS.get(name)
    if reader is None and is_typescript_config(path):
        return typescript_roots
    if reader is None and name.endswith(".csproj"):
        return _csharp_roots
    if reader is None and name.endswith(".kt"):
        return _kotlin_roots
    return reader


_GO_MODULE: Final = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)


def _go_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    match = _GO_MODULE.search(source.decode("utf-8"))
    if match is not None:
        yield ModuleRoot("go", match[1], directory_of(path))


def _cargo_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """A crate is imported by its name with underscores; its root file is `src/lib.rs` or `src/main.rs` unless declared."""
    manifest = tomllib.loads(source.decode("utf-8"))
    library = _table(manifest, "lib")
    names = [_table(manifest, "package").get("name"), library.get("name")]
    directory = directory_of(path)
    written = library.get("path")
    target = join(directory, written) if isinstance(written, str) else directory + "src/"
    for name in dict.fromkeys(names):
        if isinstance(name, str) and name and target is not None:
            yield ModuleRoot("cargo", name.replace("-", "_"), target, package_scope(directory))


def _pyproject_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The directories of packages, from the settings of setuptools, poetry, hatch, maturin and pytest."""
    tool = _table(tomllib.loads(source.decode("utf-8")), "tool")
    setuptools, poetry = _table(tool, "setuptools"), _table(tool, "poetry")
    directories: list[object] = [".", *_table(setuptools, "package-dir").values()]
    directories += _list(_table(setuptools, "packages", "find").get("where"))
    directories += [item.get("from") for item in _list(poetry.get("packages")) if isinstance(item, dict)]
    wheel = _table(tool, "hatch", "build", "targets", "wheel")
    directories += [item.rpartition("/")[0] for item in _list(wheel.get("packages")) if isinstance(item, str)]
    directories += [_table(tool, "maturin").get("python-source")]
    directories += _list(_table(tool, "pytest", "ini_options").get("pythonpath"))
    return _python_roots(path, directories)


def _setup_cfg_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(source.decode("utf-8"))
    directories: list[object] = ["."] if parser.has_section("metadata") or parser.has_section("options") else []
    lines = parser.get("options", "package_dir", fallback="").splitlines()
    directories += [line.partition("=")[2].strip() for line in lines if "=" in line]
    directories += parser.get("options.packages.find", "where", fallback="").split()
    directories += parser.get("tool:pytest", "pythonpath", fallback="").split()
    return _python_roots(path, directories)


_PACKAGE_DIR: Final = re.compile(r"package_dir\s*=\s*(?:dict\(|\{)([^)}]*)")
_FIND_WHERE: Final = re.compile(r"find(?:_namespace)?_packages\(\s*(?:where\s*=\s*)?[\"']([^\"']+)[\"']")
_QUOTED_VALUE: Final = re.compile(r"[:=]\s*[\"']([^\"']+)[\"']")


def _setup_py_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    text = source.decode("utf-8")
    directories: list[object] = ["."]
    for match in _PACKAGE_DIR.finditer(text):
        directories += _QUOTED_VALUE.findall(match[1])
    directories += _FIND_WHERE.findall(text)
    return _python_roots(path, directories)


def _python_roots(path: str, directories: list[object]) -> Iterator[ModuleRoot]:
    own = directory_of(path)
    distinct = dict.fromkeys(directory for directory in directories if isinstance(directory, str))
    for directory in islice(distinct, MAX_PYTHON_DIRECTORIES):
        target = _joined_directory(own, directory)
        if target is not None:
            yield ModuleRoot("python", "", target, own)


def _composer_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The PSR-4 and PSR-0 prefixes of a package, with `/` for the backslash and no slash at the end."""
    manifest = decode_jsonc(source)
    directory = directory_of(path)
    for key in ("autoload", "autoload-dev"):
        for standard in ("psr-4", "psr-0"):
            for prefix, written in _table(manifest, key, standard).items():
                for relative in _list(written):
                    target = _joined_directory(directory, relative) if isinstance(relative, str) else None
                    if target is not None:
                        name = prefix.replace("\\", "/").strip("/")
                        # PSR-0 repeats the prefix below its directory.
                        yield ModuleRoot("composer", name, target if standard == "psr-4" or not name else f"{target}{name}/")


_SWIFT_TARGET: Final = re.compile(
    r"\.(?:target|testTarget|executableTarget|macro|plugin|systemLibrary)\s*\(\s*name\s*:\s*\"([^\"]+)\""
)
_SWIFT_PATH: Final = re.compile(r"\bpath\s*:\s*\"([^\"]+)\"")


def _swift_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The targets of a package that have a `path`; the others are found by convention."""
    text = source.decode("utf-8")
    directory = directory_of(path)
    targets = list(_SWIFT_TARGET.finditer(text))
    for position, target in enumerate(targets):
        end = targets[position + 1].start() if position + 1 < len(targets) else len(text)
        written = _SWIFT_PATH.search(text, target.end(), end)
        module_directory = _joined_directory(directory, written[1]) if written is not None else None
        if module_directory:
            yield ModuleRoot("swift", target[1], module_directory, package_scope(directory))


_ROOT_NAMESPACE: Final = re.compile(r"<(?:RootNamespace|AssemblyName)>\s*([\w.]+)\s*</")


def _csharp_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The root namespaces of a project: those that it declares, and its own name. With `/` for the dot."""
    directory = directory_of(path)
    names = [*_ROOT_NAMESPACE.findall(source.decode("utf-8-sig")), last_part(path).removesuffix(".csproj")]
    for name in dict.fromkeys(names):
        yield ModuleRoot("dotnet", name.replace(".", "/"), directory)


_KOTLIN_PACKAGE: Final = re.compile(rb"^[ \t]*package[ \t]+((?:[\w.]|`[^`\n]+`)+)", re.MULTILINE)
_KOTLIN_HEAD: Final = 16 * 1024
_PLATFORM: Final = frozenset({"android", "java", "javax", "kotlin"})


def _kotlin_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The package of a source file, if its directory has another name; with `/` for the dot.

    Kotlin projects omit the part that all their packages share from the path, and only the source files name it.
    """
    directory = directory_of(path)
    match = _KOTLIN_PACKAGE.search(source, 0, _KOTLIN_HEAD)
    if match is None:
        return
    package = match[1].decode("utf-8").replace("`", "").replace(".", "/")
    if package.partition("/")[0] in _PLATFORM or "/" not in package:
        # A replacement for a class of the platform, or too common a name.
        return
    if last_part(package) != last_part(directory[:-1]):
        yield ModuleRoot("jvm", package, directory, package_scope(directory))


_ZIG_MODULE: Final = re.compile(r"\b(?:addModule|addImport|addAnonymousImport)\s*\(\s*\"([^\"]+)\"([^;]{0,1000});")
_ZIG_FILE: Final = re.compile(r"root_source_file\s*=\s*(?:b\.path\(\s*|\.\{[^\"]*)\"([^\"]+)\"")


def _zig_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The modules that a build script declares with a root file."""
    directory = directory_of(path)
    for match in _ZIG_MODULE.finditer(source.decode("utf-8")):
        written = _ZIG_FILE.search(match[2])
        target = join(directory, written[1]) if written is not None else None
        if target is not None:
            yield ModuleRoot("zig", match[1], target, package_scope(directory))


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


def _package_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """Yields the name of a package, its entries and its private `#` imports."""
    directory = directory_of(path)
    manifest = decode_jsonc(source)
    for prefix, target in _entries(manifest.get("imports")):
        for target_path in _candidates(directory, target):
            yield ModuleRoot(NODE, prefix, target_path, directory)
    name = manifest.get("name")
    if not isinstance(name, str) or not name or "*" in name:
        return
    scope = package_scope(directory)
    for prefix, target in _exports(manifest):
        for target_path in _candidates(directory, target):
            yield ModuleRoot(NODE, name + prefix.removeprefix("."), target_path, scope)
    for target_path in ("src/index", "index", f"src/{name.rpartition('/')[2]}"):
        yield ModuleRoot(NODE, name, directory + target_path, scope)
    yield ModuleRoot(NODE, name + "/*", directory + "*", scope)
    yield ModuleRoot(NODE, name + "/*", directory + "src/*", scope)
    # A name that is not found inside still leads to the package.
    yield ModuleRoot(NODE, name, directory, scope)
    yield ModuleRoot(NODE, name + "/*", directory, scope)


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
            if is_plain(key, target):
                yield key, target


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
    if parts[0] in BUILD_DIRECTORIES:
        inner = [part for part in parts[1:-1] if part not in BUILD_DIRECTORIES]
        yield "/".join([*directory.split("/")[:-1], "src", *inner, parts[-1]])
    yield target_path


def _joined_directory(directory: str, relative: str) -> str | None:
    """Returns `join` of the two with a slash at its end, empty for the root."""
    joined = join(directory, relative)
    return None if joined is None else joined.rstrip("/") + "/" if joined else ""


def _table(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Returns the table at the path `keys`; an empty one if there is none."""
    for key in keys:
        inner = table.get(key)
        if not isinstance(inner, dict):
            return {}
        table = inner
    return table


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


_READERS: Final[Mapping[str, Callable[[str, bytes], Iterator[ModuleRoot]]]] = {
    "Cargo.toml": _cargo_roots,
    "Package.swift": _swift_roots,
    "build.zig": _zig_roots,
    "composer.json": _composer_roots,
    "go.mod": _go_roots,
    "package.json": _package_roots,
    "pyproject.toml": _pyproject_roots,
    "setup.cfg": _setup_cfg_roots,
    "setup.py": _setup_py_roots,
}
