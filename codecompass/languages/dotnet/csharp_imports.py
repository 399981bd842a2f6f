"""C#: a namespace is a directory below that of a project's root namespace, else one whose path ends in its name."""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import ROOT_TARGET, directory_of, last_part, nearest
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.records import Import

ECOSYSTEM: Final = "dotnet"


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the last name, a type or a namespace, and for a type the last name of its namespace."""
    parts = _parts(item)
    return tuple(dict.fromkeys(parts[:-3:-1] if _is_type(item) else parts[-1:]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the directory of a namespace; for a type imported by name its file, else the directory of its namespace."""
    parts = _parts(item)
    found = list(_namespaces(parts, paths))
    if found:
        return nearest(found, from_path) or ROOT_TARGET
    name = f"{parts[-1]}.cs"
    directories: dict[str, None] = {}
    if paths.files_with_tail(parts[-1]):
        directories = dict.fromkeys((*_configured_directories(parts[:-1], paths), *_directories_by_name(parts[:-1], paths)))
    files = [directory + name for directory in directories if paths.has_file(directory + name)]
    if files or not _is_type(item):
        return nearest(files, from_path)
    namespaces = list(_namespaces(parts[:-1], paths)) if len(parts) > 1 else []
    return nearest(namespaces, from_path) or (ROOT_TARGET if namespaces else "")


def _is_type(item: Import) -> bool:
    """Whether one type of the namespace is imported (`using X = A.B.C`), not all of it."""
    return item.name not in ("", "*")


def _parts(item: Import) -> list[str]:
    written = item.spec
    if _is_type(item):
        written = f"{item.spec}.{item.name}" if item.spec else item.name
    return written.removeprefix("global::").split(".")


def _namespaces(parts: list[str], paths: PathIndex) -> Iterator[str]:
    """Yields the directories of a namespace: those that projects configure, else those whose path ends in its name."""
    is_configured = False
    for directory in _configured_directories(parts, paths):
        if paths.package_size(ECOSYSTEM, directory):
            is_configured = True
            yield directory
    if not is_configured:
        for directory in _directories_by_name(parts, paths):
            if paths.package_size(ECOSYSTEM, directory):
                yield directory


def _configured_directories(parts: list[str], paths: PathIndex) -> Iterator[str]:
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(parts), 0, -1):
        rest = "".join(part + "/" for part in parts[count:])
        for root in roots.get("/".join(parts[:count]), ()):
            yield root.directory + rest


def _directories_by_name(parts: list[str], paths: PathIndex) -> Sequence[str]:
    # A directory may hold several parts of the name: `Company.Core/Models` is `Company.Core.Models`.
    # One part alone would match any directory named `Collections`.
    return paths.namespaces_ending(parts[-1] + "/", "/".join(parts) + "/") if len(parts) > 1 else ()


_ROOT_NAMESPACE: Final = lazy.pattern(r"<(?:RootNamespace|AssemblyName)>\s*([\w.]+)\s*</")


def _csharp_roots(path: str, source: bytes) -> Iterator[ModuleRoot]:
    """The root namespaces of a project: those that it declares, and its own name. With `/` for the dot."""
    directory = directory_of(path)
    names = [*_ROOT_NAMESPACE.findall(source.decode("utf-8-sig")), last_part(path).removesuffix(".csproj")]
    for name in dict.fromkeys(names):
        yield ModuleRoot(ECOSYSTEM, name.replace(".", "/"), directory)


CSHARP_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    family=("csharp", "razor"),
    packages=Packages(extensions=("cs",), are_found_by_name=True),
    importers=("csharp",),
    configuration=_csharp_roots,
)
