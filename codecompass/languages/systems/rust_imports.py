"""Rust: `mod` declarations and `use` paths, within the crate and to other crates of the repository by their Cargo name.

A path names modules first and items last, and only modules are files. The target is the file of the deepest module on the
path that has a file: an inline module, a type or a function is in the file of the module around it.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from codecompass.languages.imports.manifests import package_scope, table_at
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ancestors, directory_of, join, last_part, nearest, parent_of, tail_of
from codecompass.languages.imports.rules import ImportRules
from codecompass.languages.records import Import

ECOSYSTEM: Final = "cargo"

_CRATE: Final = "crate"
_STANDARD: Final = frozenset({"alloc", "core", "proc_macro", "std", "test"})
_CRATE_FILES: Final = ("lib.rs", "main.rs")
_OWN_DIRECTORY: Final = frozenset({"lib", "main", "mod", "build"})
_TARGET_DIRECTORIES: Final = frozenset({"benches", "examples", "tests"})
"""Each file directly in one of these is the root of a separate crate."""

_SOURCE_DIRECTORIES: Final = _TARGET_DIRECTORIES | {"src"}


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the first module of the path, which is a tail of every file below it, and the module where the path begins."""
    parts = _parts(item)
    if item.kind == "mod":
        return (tail_of(last_part(parts[-1])),)
    keyword, modules = _split(parts)
    if keyword == "crate":
        found = [*modules[:1], _CRATE]
    elif keyword == "super":
        above = _super_directory(parts, item, from_path)
        found = [*modules[:1], *([] if above is None else [tail_of(last_part(above[:-1])) or _CRATE])]
    elif keyword:
        found = modules[:1]
    elif not modules or modules[0] in _STANDARD:
        found = []
    else:
        found = [modules[0], *("::".join(modules[:2]) for _ in modules[1:2])]
    return tuple(dict.fromkeys(found))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the deepest module on the path."""
    parts = _parts(item)
    if item.kind == "mod":
        return _declared_module(parts, from_path, paths)
    keyword, modules = _split(parts)
    if keyword == "crate":
        for directory in _crate_directories(from_path, paths):
            found = _deepest_module(directory, modules, paths) or _crate_file(directory, from_path, paths)
            if found:
                return found
        return ""
    if keyword == "super":
        above = _super_directory(parts, item, from_path)
        if above is not None:
            return _deepest_module(above, modules, paths) or _module_file(above, from_path, paths)
        # From an inline module to a module in the same file.
        inner = _inline_modules(item)[: -parts.count("super")]
        return _deepest_module(_module_directory(from_path) + "".join(part + "/" for part in inner), modules, paths) or from_path
    own = _module_directory(from_path) + "".join(part + "/" for part in _inline_modules(item))
    if keyword == "self":
        return _deepest_module(own, modules, paths) or from_path
    if not modules or modules[0] in _STANDARD:
        return ""
    return _other_crate(modules, from_path, paths) or _deepest_module(own, modules, paths)


def configured_tails(changed: Collection[str], paths: PathIndex) -> Iterator[str]:
    """Yields the tails of imports that may lead to the files of `changed` by the names of their modules and crates."""
    for path in changed:
        if path.endswith(".rs"):
            yield from _tails_of_file(path, paths)


def _tails_of_file(path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the tails of imports that may lead to `path`: its modules, and its crate if it is the root file of one."""
    yield from path[len(_source_root(path, paths)) :].split("/")[:-1]
    by_directory = paths.roots(ECOSYSTEM).by_directory
    for above in ancestors(path):
        for root in by_directory.get(above, ()):
            yield f"{root.prefix}::{tail_of(path[len(above) :].partition('/')[0])}"
    directory = directory_of(path)
    roots = by_directory.get(directory, ())
    is_crate_file = last_part(path) in _CRATE_FILES
    if is_crate_file or any(root.directory == path for root in roots):
        yield _CRATE
        yield tail_of(last_part(directory[:-1]))
    for root in roots:
        if is_crate_file or root.directory == path:
            yield root.prefix


def _parts(item: Import) -> list[str]:
    """Returns the path with the imported name at its end, without the `r#` of raw identifiers."""
    spec = item.spec.removeprefix("::")
    written = spec if item.name in ("", "*", "self") else f"{spec}::{item.name}" if spec else item.name
    return [part.removeprefix("r#") for part in written.split("::")]


def _split(parts: Sequence[str]) -> tuple[str, list[str]]:
    """Returns the keyword that a path begins with, and its modules: the parts before the first upper-case name."""
    keyword = parts[0] if parts[0] in ("crate", "self", "super") else ""
    rest = [part for part in parts if part not in ("crate", "self", "super")]
    for position, part in enumerate(rest):
        if part[:1].isupper():
            return keyword, rest[:position]
    return keyword, rest


def _declared_module(parts: Sequence[str], from_path: str, paths: PathIndex) -> str:
    """Returns the file of `mod x;`, or the one that a `path` attribute gives."""
    written = parts[-1]
    if "/" in written or written.endswith(".rs"):
        candidates = (join(directory, written) for directory in (directory_of(from_path), _module_directory(from_path)))
        return next((path for path in candidates if path is not None and paths.has_file(path)), "")
    # The second directory is for crates whose root file has another name than the usual ones.
    for directory in dict.fromkeys((_module_directory(from_path), directory_of(from_path))):
        found = _file(directory + "/".join(parts), paths)
        if found and found != from_path:
            return found
    return ""


def _other_crate(modules: Sequence[str], from_path: str, paths: PathIndex) -> str:
    roots = paths.roots(ECOSYSTEM).by_prefix.get(modules[0], ())
    found = []
    for root in roots:
        if from_path.startswith(root.scope):
            directory = directory_of(root.directory)
            entry = root.directory if not root.directory.endswith("/") else ""
            if not paths.has_file(entry):
                entry = _crate_file(directory, "", paths)
            found.append(_deepest_module(directory, modules[1:], paths) or entry)
    return nearest([path for path in found if path], from_path)


def _deepest_module(directory: str, modules: Sequence[str], paths: PathIndex) -> str:
    """Returns the file of the deepest of `modules` below `directory` that has one."""
    for count in range(len(modules), 0, -1):
        found = _file(directory + "/".join(modules[:count]), paths)
        if found and len(_source_root(found, paths)) <= len(directory):
            return found
    return ""


def _source_root(path: str, paths: PathIndex) -> str:
    """Returns the outermost directory above `path` in which sources begin; a module path never crosses it."""
    by_directory = paths.roots(ECOSYSTEM).by_directory
    found = ""
    for directory in ancestors(path):
        if directory and (directory in by_directory or last_part(directory[:-1]) in _SOURCE_DIRECTORIES):
            found = directory
    return found


def _file(module: str, paths: PathIndex) -> str:
    for extension in (".rs", "/mod.rs"):
        if paths.has_file(module + extension):
            return module + extension
    return ""


def _crate_directories(from_path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the directories in which the modules of the importing file's crate may begin, the most likely first."""
    by_directory = paths.roots(ECOSYSTEM).by_directory
    if _is_target(from_path):
        yield directory_of(from_path)
    for directory in ancestors(from_path):
        if directory in by_directory or last_part(directory[:-1]) == "src":
            yield directory
            return
    for directory in ancestors(from_path):
        if last_part(directory[:-1]) in _TARGET_DIRECTORIES:
            yield directory


def _crate_file(directory: str, from_path: str, paths: PathIndex) -> str:
    names = _CRATE_FILES if not from_path.endswith("main.rs") else _CRATE_FILES[::-1]
    for name in names:
        if paths.has_file(directory + name):
            return directory + name
    roots = paths.roots(ECOSYSTEM).by_directory.get(directory, ())
    return next((root.directory for root in roots if paths.has_file(root.directory)), "")


def _is_target(path: str) -> bool:
    """Whether a file is the root of a test, an example or the like: it is directly in such a directory beside `src`."""
    directory = directory_of(path)
    inner = directory.removesuffix("src/bin/")
    return (inner != directory or last_part(directory[:-1]) in _TARGET_DIRECTORIES) and "src" not in inner.split("/")


def _module_directory(path: str) -> str:
    """Returns the directory with the submodules of the module at `path`."""
    directory = directory_of(path)
    stem = tail_of(last_part(path))
    return directory if stem in _OWN_DIRECTORY or _is_target(path) else f"{directory}{stem}/"


def _inline_modules(item: Import) -> list[str]:
    """Returns the inline modules around a `use`."""
    return item.kind.removeprefix("inline:").split("::") if item.kind.startswith("inline:") else []


def _super_directory(parts: Sequence[str], item: Import, from_path: str) -> str | None:
    """Returns the directory of the modules that `super` leads to, None when they are in the same file."""
    climbs = parts.count("super") - len(_inline_modules(item))
    if climbs <= 0:
        return None
    directory = _module_directory(from_path)
    for _ in range(climbs):
        directory = parent_of(directory)
    return directory


def _module_file(directory: str, from_path: str, paths: PathIndex) -> str:
    """Returns the file of the module whose submodules are in `directory`."""
    return (_file(directory[:-1], paths) if directory else "") or _crate_file(directory, from_path, paths)


def _cargo_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """A crate is imported by its name with underscores; its root file is `src/lib.rs` or `src/main.rs` unless declared."""
    import tomllib

    manifest = tomllib.loads(source.decode("utf-8"))
    library = table_at(manifest, "lib")
    names = [table_at(manifest, "package").get("name"), library.get("name")]
    directory = directory_of(path)
    written = library.get("path")
    target = join(directory, written) if isinstance(written, str) else directory + "src/"
    for name in dict.fromkeys(names):
        if isinstance(name, str) and name and target is not None:
            yield ModuleRoot(ECOSYSTEM, name.replace("-", "_"), target, package_scope(directory))


def rust_module(path: str) -> tuple[str, ...]:
    """Returns the module path of a file: `src/auth/jwt.rs` is `auth::jwt`, `net/src/io/mod.rs` is `net::io`.

    The crate's name is the directory above `src`; a crate at the root has none.
    """
    parts = path.removesuffix(".rs").split("/")
    if "src" in parts[:-1]:
        at = len(parts) - 2 - parts[-2::-1].index("src")
        parts = [part.replace("-", "_") for part in parts[max(at - 1, 0) : at]] + parts[at + 1 :]
    if parts[-1] in ("mod", "lib", "main") and (len(parts) > 1 or "/" in path):
        parts = parts[:-1]
    return tuple(part for part in parts if part)


RUST_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    configured_tails=configured_tails,
    configuration=_cargo_roots,
)
