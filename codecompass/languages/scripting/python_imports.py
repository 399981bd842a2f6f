"""Python: relative imports, and absolute ones by the rules of the interpreter's search path.

Where a program is started is unknown, so the search path is every directory above the importing file, nearest first, unless it
has an `__init__.py` (then it is a package whose modules cannot be imported without its name), `src/`, `lib/` and `python/`
below each, and what configuration adds.
"""

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.manifests import as_list, joined_directory, table_at
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import (
    ancestors,
    dependency_tail,
    dependency_tails,
    directory_of,
    last_part,
    nearest,
    parent_of,
)
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.records import Import

ECOSYSTEM: Final = "python"

_LAYOUTS: Final = ("", "src/", "lib/", "python/")
_MAX_SEARCH_PATH: Final = 300
"""Entries of the search path that are tried. Only configuration with hundreds of directories makes more."""

MAX_PYTHON_DIRECTORIES: Final = 20
"""Entries of the search path from one file. Each import may try all of them."""

_INITS: Final = ("__init__.py", "__init__.pyi")
_MODULES: Final = (".py", ".pyi", "/__init__.py", "/__init__.pyi", ".pyx")


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the end of the module's name, and of the imported name's, which may be a submodule."""
    spec, name = item.spec, _submodule(item)
    base = ""
    if spec.startswith("."):
        relative_base = _relative_base(spec, from_path)
        if relative_base is None:
            return ()
        base = relative_base
    module = base + spec.lstrip(".").replace(".", "/")
    inner = f"{module.rstrip('/')}/{name}" if module else name
    found = (dependency_tail(module) or "__init__", dependency_tail(inner) if name else "")
    return tuple(dict.fromkeys(tail for tail in found if tail))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the module's file; a namespace package is its directory."""
    if item.spec.startswith("."):
        return _resolve_relative(item, from_path, paths)
    return _resolve_absolute(item, from_path, paths)


def configured_tails(changed: Iterable[str], paths: PathIndex) -> Iterator[str]:
    """Yields the tails of imports that the files of `changed` affect without being their target.

    An `__init__.py` makes its directory a package instead of an entry of the search path, so that the modules below can no
    longer be imported without the package's name.
    """
    packages = sorted({directory_of(path) for path in changed if last_part(path) in _INITS})
    outer = None
    for package in packages:
        # The outer package has yielded everything below it: yielding it again would take time in the square of the nesting.
        if outer is not None and package.startswith(outer):
            continue
        outer = package
        for below in paths.files_below(package):
            if below.endswith((".py", ".pyi", ".pyx")):
                yield from dependency_tails(below)
                yield from dependency_tails(directory_of(below)[:-1])


def _submodule(item: Import) -> str:
    return "" if item.name == "*" else item.name


def _relative_base(spec: str, from_path: str) -> str | None:
    base = directory_of(from_path)
    for _ in range(len(spec) - len(spec.lstrip(".")) - 1):
        if not base:
            return None
        base = parent_of(base)
    return base


def _resolve_relative(item: Import, from_path: str, paths: PathIndex) -> str:
    base = _relative_base(item.spec, from_path)
    if base is None:
        return ""
    module = base + item.spec.lstrip(".").replace(".", "/")
    name = _submodule(item)
    inner = f"{module.rstrip('/')}/{name}" if module else name
    if name:
        found = _module(inner, paths)
        if found:
            return found
    if module and not module.endswith("/"):
        found = _module(module, paths)
    else:
        found = next((module + init for init in _INITS if paths.has_file(module + init)), "")
    if found:
        return found
    for directory in (inner + "/", module.rstrip("/") + "/"):
        if len(directory) > 1 and paths.package_size(ECOSYSTEM, directory):
            return directory
    return ""


def _resolve_absolute(item: Import, from_path: str, paths: PathIndex) -> str:
    module = item.spec.replace(".", "/")
    name = _submodule(item)
    modules = []
    if name and paths.files_with_tail(name):
        modules.append(f"{module}/{name}")
    if paths.files_with_tail(last_part(module)):
        modules.append(module)
    # The standard library wins over everything but the directory of the script. `a.b` is looked for anyway, because an
    # application may be named `platform`.
    if module in sys.stdlib_module_names:
        base = directory_of(from_path)
        found = next((found for module in modules if (found := _module(base + module, paths))), "")
        return "" if found == from_path or _is_package(base, paths) else found
    if modules:
        found = _on_search_path(modules, from_path, paths) or _in_other_project(modules, from_path, paths)
        if found:
            return found
    return _namespace(f"{module}/{name}" if name else module, module, from_path, paths)


def _on_search_path(modules: Sequence[str], from_path: str, paths: PathIndex) -> str:
    for base in _search_path(from_path, paths):
        for module in modules:
            found = _module(base + module, paths)
            if found and found != from_path:
                return found
    return ""


def _search_path(from_path: str, paths: PathIndex) -> Sequence[str]:
    """Returns the entries from which something can be imported: those that hold a file and are no package."""
    directory = directory_of(from_path)
    found = paths.search_paths.get(directory)
    if found is None:
        entries = dict.fromkeys(islice(_unbounded_search_path(directory, paths), _MAX_SEARCH_PATH))
        found = tuple(
            base for base in entries if next(iter(paths.files_below(base)), None) is not None and not _is_package(base, paths)
        )
        paths.search_paths[directory] = found
    return found


def _unbounded_search_path(from_directory: str, paths: PathIndex) -> Iterator[str]:
    scopes = paths.roots(ECOSYSTEM).by_scope
    for directory in ancestors(from_directory):
        for layout in _LAYOUTS:
            yield directory + layout
        for root in scopes.get(directory, ()):
            yield root.directory


def _in_other_project(modules: Sequence[str], from_path: str, paths: PathIndex) -> str:
    """Returns a module of a package of another project in the repository; names of modules outside packages are too common."""
    roots = paths.roots(ECOSYSTEM).directories
    if not roots:
        return ""
    for module in modules:
        for extension in _MODULES:
            suffix = module + extension
            if "/" not in suffix:
                continue
            matches = paths.files_ending(last_part(module), suffix)
            found = [path for path in matches if _is_search_path_entry(path[: len(path) - len(suffix)], roots)]
            if found:
                return nearest(found, from_path)
    return ""


def _is_search_path_entry(directory: str, roots: Collection[str]) -> bool:
    return any(directory.endswith(layout) and directory[: len(directory) - len(layout)] in roots for layout in _LAYOUTS)


def _namespace(inner: str, module: str, from_path: str, paths: PathIndex) -> str:
    """Returns a directory without `__init__.py`; never for a name of one part: an installed package of that name would win."""
    if module.partition("/")[0] in sys.stdlib_module_names:
        return ""
    wanted = [directory + "/" for directory in dict.fromkeys((inner, module)) if "/" in directory]
    for base in _search_path(from_path, paths) if wanted else ():
        for directory in wanted:
            if paths.package_size(ECOSYSTEM, base + directory):
                return base + directory
    return ""


def _is_package(base: str, paths: PathIndex) -> bool:
    # The root of the repository is never a package: it has no name to import.
    return base != "" and any(paths.has_file(base + init) for init in _INITS)


def _module(module: str, paths: PathIndex) -> str:
    for extension in _MODULES:
        if paths.has_file(module + extension):
            return module + extension
    return ""


def _module_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    return _READERS[last_part(path)](path, source)


def _pyproject_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The directories of packages, from the settings of setuptools, poetry, hatch, maturin and pytest."""
    import tomllib

    tool = table_at(tomllib.loads(source.decode("utf-8")), "tool")
    setuptools, poetry = table_at(tool, "setuptools"), table_at(tool, "poetry")
    directories: list[object] = [".", *table_at(setuptools, "package-dir").values()]
    directories += as_list(table_at(setuptools, "packages", "find").get("where"))
    directories += [item.get("from") for item in as_list(poetry.get("packages")) if isinstance(item, dict)]
    wheel = table_at(tool, "hatch", "build", "targets", "wheel")
    directories += [item.rpartition("/")[0] for item in as_list(wheel.get("packages")) if isinstance(item, str)]
    directories += [table_at(tool, "maturin").get("python-source")]
    directories += as_list(table_at(tool, "pytest", "ini_options").get("pythonpath"))
    return _python_roots(path, directories)


def _setup_cfg_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    import configparser  # compiles eight patterns

    parser = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        parser.read_string(source.decode("utf-8"))
    except configparser.Error as error:
        raise ValueError(str(error)) from error
    directories: list[object] = ["."] if parser.has_section("metadata") or parser.has_section("options") else []
    lines = parser.get("options", "package_dir", fallback="").splitlines()
    directories += [line.partition("=")[2].strip() for line in lines if "=" in line]
    directories += parser.get("options.packages.find", "where", fallback="").split()
    directories += parser.get("tool:pytest", "pythonpath", fallback="").split()
    return _python_roots(path, directories)


_PACKAGE_DIR: Final = lazy.pattern(r"package_dir\s*=\s*(?:dict\(|\{)([^)}]*)")
_FIND_WHERE: Final = lazy.pattern(r"find(?:_namespace)?_packages\(\s*(?:where\s*=\s*)?[\"']([^\"']+)[\"']")
_QUOTED_VALUE: Final = lazy.pattern(r"[:=]\s*[\"']([^\"']+)[\"']")


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
        target = joined_directory(own, directory)
        if target is not None:
            yield ModuleRoot(ECOSYSTEM, "", target, own)


_READERS: Final = {"pyproject.toml": _pyproject_roots, "setup.cfg": _setup_cfg_roots, "setup.py": _setup_py_roots}


_SOURCE_DIRECTORIES: Final = frozenset({"src", "lib"})


def python_module(path: str) -> tuple[str, ...]:
    """Returns the dotted module of a path: `src/pkg/mod.py` is `pkg.mod`, `pkg/__init__.py` is `pkg`."""
    parts = path.rsplit(".", 1)[0].split("/")
    if len(parts) > 1 and parts[0] in _SOURCE_DIRECTORIES:
        parts = parts[1:]
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return tuple(parts)


PYTHON_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    family=("jupyter", "python"),
    packages=Packages(extensions=("py", "pyi")),
    configured_tails=configured_tails,
    configuration=_module_roots,
)
