"""What files of a repository say about where module names lead, one reader a kind of file; most are configuration.

Runs in worker processes. A file that makes no sense says nothing: it is somebody's fixture, or being typed right now.
"""

import configparser
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, Final

from msgspec.structs import replace

from codecompass.imports import jsonc
from codecompass.imports.node_configuration import own_scope, package_roots, typescript_roots
from codecompass.imports.paths import directory_of, join, last_part
from codecompass.imports.repository import ModuleRoot
from codecompass.units import MIB

MAX_ROOTS_PER_FILE: Final = 500
"""More come from generated maps; what is said first counts."""

MAX_READ: Final = 20_000
"""What a reader finds, repetitions and what is too long included, up to which it is listened to."""

MAX_SOURCE_BYTES: Final = 1 * MIB
"""A larger file is no configuration, whatever size of files the user has allowed."""

MAX_ROOT_LENGTH: Final = 1_000
"""Characters of a name, and of the place that it leads to. Longer ones are nobody's module."""

MAX_PYTHON_PLACES: Final = 20
"""Entries of the search path that one file adds. Each import may look into all of them."""


def is_configuration(path: str) -> bool:
    """Says by its name whether a file may say something about module names."""
    return _reader_of(path) is not None


def module_roots(path: str, source: bytes) -> tuple[ModuleRoot, ...]:
    """Returns what the file at `path` says, ranked in the order of the file; () for one without sense."""
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
    """A crate is known by its name with underscores; its root file is `src/lib.rs` or `src/main.rs` unless it says so."""
    manifest = tomllib.loads(source.decode("utf-8"))
    library = _table(manifest, "lib")
    names = [_table(manifest, "package").get("name"), library.get("name")]
    directory = directory_of(path)
    written = library.get("path")
    place = join(directory, written) if isinstance(written, str) else directory + "src/"
    for name in dict.fromkeys(names):
        if isinstance(name, str) and name and place is not None:
            yield ModuleRoot("cargo", name.replace("-", "_"), place, own_scope(directory))


def _pyproject_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The directories that packages lie in, as setuptools, poetry, hatch, maturin and pytest are told."""
    tool = _table(tomllib.loads(source.decode("utf-8")), "tool")
    setuptools, poetry = _table(tool, "setuptools"), _table(tool, "poetry")
    places: list[object] = [".", *_table(setuptools, "package-dir").values()]
    places += _list(_table(setuptools, "packages", "find").get("where"))
    places += [item.get("from") for item in _list(poetry.get("packages")) if isinstance(item, dict)]
    wheel = _table(tool, "hatch", "build", "targets", "wheel")
    places += [item.rpartition("/")[0] for item in _list(wheel.get("packages")) if isinstance(item, str)]
    places += [_table(tool, "maturin").get("python-source")]
    places += _list(_table(tool, "pytest", "ini_options").get("pythonpath"))
    return _python_places(path, places)


def _setup_cfg_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(source.decode("utf-8"))
    places: list[object] = ["."] if parser.has_section("metadata") or parser.has_section("options") else []
    lines = parser.get("options", "package_dir", fallback="").splitlines()
    places += [line.partition("=")[2].strip() for line in lines if "=" in line]
    places += parser.get("options.packages.find", "where", fallback="").split()
    places += parser.get("tool:pytest", "pythonpath", fallback="").split()
    return _python_places(path, places)


_PACKAGE_DIR: Final = re.compile(r"package_dir\s*=\s*(?:dict\(|\{)([^)}]*)")
_FIND_WHERE: Final = re.compile(r"find(?:_namespace)?_packages\(\s*(?:where\s*=\s*)?[\"']([^\"']+)[\"']")
_QUOTED_VALUE: Final = re.compile(r"[:=]\s*[\"']([^\"']+)[\"']")


def _setup_py_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    text = source.decode("utf-8")
    places: list[object] = ["."]
    for match in _PACKAGE_DIR.finditer(text):
        places += _QUOTED_VALUE.findall(match[1])
    places += _FIND_WHERE.findall(text)
    return _python_places(path, places)


def _python_places(path: str, places: list[object]) -> Iterator[ModuleRoot]:
    directory = directory_of(path)
    distinct = dict.fromkeys(place for place in places if isinstance(place, str))
    for place in islice(distinct, MAX_PYTHON_PLACES):
        joined = join(directory, place or ".")
        if joined is not None:
            yield ModuleRoot("python", "", joined.rstrip("/") + "/" if joined else "", directory)


def _composer_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The PSR-4 prefixes of a package, with `/` for the backslash and none at the end."""
    manifest = jsonc.decode(source)
    directory = directory_of(path)
    for key in ("autoload", "autoload-dev"):
        for standard in ("psr-4", "psr-0"):
            for prefix, written in _table(manifest, key, standard).items():
                for place in _list(written):
                    joined = join(directory, place or ".") if isinstance(place, str) else None
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
    """The targets of a package that say their own path; the others are found by convention."""
    text = source.decode("utf-8")
    directory = directory_of(path)
    targets = list(_SWIFT_TARGET.finditer(text))
    for position, target in enumerate(targets):
        end = targets[position + 1].start() if position + 1 < len(targets) else len(text)
        written = _SWIFT_PATH.search(text, target.end(), end)
        place = join(directory, written[1]) if written is not None else None
        if place:
            yield ModuleRoot("swift", target[1], place.rstrip("/") + "/", own_scope(directory))


_ROOT_NAMESPACE: Final = re.compile(r"<(?:RootNamespace|AssemblyName)>\s*([\w.]+)\s*</")


def _csharp_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The root namespace of a project: what it says, and the name of the project itself. With `/` for the dot."""
    directory = directory_of(path)
    names = [*_ROOT_NAMESPACE.findall(source.decode("utf-8-sig")), last_part(path).removesuffix(".csproj")]
    for name in dict.fromkeys(names):
        yield ModuleRoot("dotnet", name.replace(".", "/"), directory)


_KOTLIN_PACKAGE: Final = re.compile(rb"^[ \t]*package[ \t]+((?:[\w.]|`[^`\n]+`)+)", re.MULTILINE)
_KOTLIN_HEAD: Final = 16 * 1024
_PLATFORM: Final = frozenset({"android", "java", "javax", "kotlin"})


def _kotlin_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The package of a source file whose directory is not called like it, with `/` for the dot.

    Kotlin projects leave the part that all their packages share out of the path, and nothing else says which it is.
    """
    directory = directory_of(path)
    match = _KOTLIN_PACKAGE.search(source, 0, _KOTLIN_HEAD)
    if match is None:
        return
    package = match[1].decode("utf-8").replace("`", "").replace(".", "/")
    if package.partition("/")[0] in _PLATFORM or "/" not in package:
        # Somebody's stand-in for a class of the platform, or too common a name.
        return
    if last_part(package) != last_part(directory[:-1]):
        yield ModuleRoot("jvm", package, directory, own_scope(directory))


_ZIG_MODULE: Final = re.compile(r"\b(?:addModule|addImport|addAnonymousImport)\s*\(\s*\"([^\"]+)\"([^;]{0,1000});")
_ZIG_FILE: Final = re.compile(r"root_source_file\s*=\s*(?:b\.path\(\s*|\.\{[^\"]*)\"([^\"]+)\"")


def _zig_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The modules that a build script names together with their root file."""
    directory = directory_of(path)
    for match in _ZIG_MODULE.finditer(source.decode("utf-8")):
        written = _ZIG_FILE.search(match[2])
        place = join(directory, written[1]) if written is not None else None
        if place is not None:
            yield ModuleRoot("zig", match[1], place, own_scope(directory))


def _table(table: Mapping[str, Any], *keys: str) -> Mapping[str, Any]:
    """Returns the table below `keys`, an empty one where there is none."""
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
