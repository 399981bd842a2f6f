"""Reads the module roots that files of a repository declare; most are configuration files, with one reader for each kind.

Runs in worker processes. An invalid file has no roots: it is a test fixture, or is being edited.
"""

import configparser
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from codecompass.imports.node_configuration import decode_jsonc, package_roots, package_scope, typescript_roots
from codecompass.imports.path_index import ModuleRoot
from codecompass.imports.paths import directory_of, join, last_part
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


def _reader_of(path: str) -> Callable[[str, bytes], Iterator[ModuleRoot]] | None:
    name = last_part(path)
    reader = _READERS.get(name)
    if reader is None and name.endswith(".json") and name.startswith(("tsconfig.", "tsconfig-")):
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
        joined = join(own, directory or ".")
        if joined is not None:
            yield ModuleRoot("python", "", joined.rstrip("/") + "/" if joined else "", own)


def _composer_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The PSR-4 and PSR-0 prefixes of a package, with `/` for the backslash and no slash at the end."""
    manifest = decode_jsonc(source)
    directory = directory_of(path)
    for key in ("autoload", "autoload-dev"):
        for standard in ("psr-4", "psr-0"):
            for prefix, written in _table(manifest, key, standard).items():
                for relative in _list(written):
                    joined = join(directory, relative or ".") if isinstance(relative, str) else None
                    if joined is not None:
                        name = prefix.replace("\\", "/").strip("/")
                        target = joined.rstrip("/") + "/" if joined else ""
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
        module_directory = join(directory, written[1]) if written is not None else None
        if module_directory:
            yield ModuleRoot("swift", target[1], module_directory.rstrip("/") + "/", package_scope(directory))


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
    "jsconfig.json": typescript_roots,
    "package.json": package_roots,
    "pyproject.toml": _pyproject_roots,
    "setup.cfg": _setup_cfg_roots,
    "setup.py": _setup_py_roots,
    "tsconfig.json": typescript_roots,
}
