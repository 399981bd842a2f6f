"""Java, Kotlin, Scala, Groovy: `a.b.C` is a file whose path ends in `a/b/C`, a package the directory that ends in `a/b`.

Where sources begin is a matter of the build; that the whole name is at the end of the path is proof enough, except for
names of one or two parts, which also need a source root, or a directory above the importing file, in front. Kotlin may
leave the first parts of a package out of the path; then its source files say where they are.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from codecompass.imports.paths import last_part, nearest
from codecompass.imports.repository import PathIndex
from codecompass.languages.records import Import

ECOSYSTEM: Final = "jvm"

_EXTENSIONS: Final = (".java", ".kt", ".scala", ".groovy", ".kts", ".sc")
_LANGUAGE_ROOTS: Final = frozenset({"groovy", "java", "kotlin", "scala"})
_ABOVE_LANGUAGE_ROOTS: Final = frozenset({"main", "src", "test"})
_SOURCE_ROOTS: Final = _LANGUAGE_ROOTS | {"app", "main", "source", "sources", "src", "test"}
_MAX_DIRECTORIES: Final = 64
"""Directories tried for one package. More are test data, which calls its packages all alike."""

_ALL: Final = frozenset({"*", "_"})
_SHORT: Final = 2


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the name that may be a file, and the package or object around it."""
    parts = _parts(item)
    end = _class_end(parts)
    return tuple(dict.fromkeys(parts[max(0, end - 2) : end][::-1]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of a class or object (the outer class for what is inside), else the directory of the package."""
    parts = _parts(item)
    end = _class_end(parts)
    found = _file(parts[:end], from_path, paths)
    is_class = parts[end - 1 : end] != [] and parts[end - 1][:1].isupper()
    if found or is_class:
        return found or _directory(parts[: end - 1], from_path, paths)
    is_scala = from_path.endswith((".scala", ".sc"))
    if item.name in _ALL:
        found = _directory(parts, from_path, paths)
        # In Scala also everything of an object, which may be in any file of its package.
        return found or (_directory(parts[:-1], from_path, paths) if is_scala else "")
    # A member written in lower case: of a package, or in Scala of an object (`syntax.functor.map`).
    return (_file(parts[:-1], from_path, paths) if is_scala else "") or _directory(parts[:-1], from_path, paths)


def _parts(item: Import) -> list[str]:
    spec = item.spec.removeprefix("_root_.").replace("`", "")
    parts = spec.split(".") if spec else []
    return parts if item.name == "" or item.name in _ALL else [*parts, item.name]


def _class_end(parts: Sequence[str]) -> int:
    """Returns how many parts lead to the file: up to the first upper-case name, the outermost class."""
    return next((position + 1 for position, part in enumerate(parts) if part[:1].isupper()), len(parts))


def _file(parts: Sequence[str], from_path: str, paths: PathIndex) -> str:
    if not parts or not paths.files_with_tail(parts[-1]):
        return ""
    found = _files(parts, from_path, paths)
    if not found:
        said = dict.fromkeys(place + parts[-1] for place in _said(parts[:-1], from_path, paths))
        found = [place + extension for place in said for extension in _EXTENSIONS if paths.has_file(place + extension)]
    return nearest(found, from_path)


def _directory(package: Sequence[str], from_path: str, paths: PathIndex) -> str:
    if not package or (package[0] in _LANGUAGE_ROOTS and len(package) < _SHORT):
        return ""
    suffix = "/".join(package) + "/"
    directories = paths.packages_ending(package[-1] + "/", suffix)
    places = [place for place in directories if _is_root(place[: -len(suffix)], package, from_path)]
    found = [place for place in (*places, *_said(package, from_path, paths)) if paths.package_size(ECOSYSTEM, place)]
    return nearest(found, from_path)


def _said(package: Sequence[str], from_path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the directories of a package by what source files say of theirs, or of the source root around."""
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(package), 0, -1) if roots else ():
        rest = "".join(part + "/" for part in package[count:])
        for root in roots.get("/".join(package[:count]), ())[:_MAX_DIRECTORIES]:
            if from_path.startswith(root.scope) and (not rest or _begins_sources(root.directory)):
                yield root.directory + rest


def _begins_sources(directory: str) -> bool:
    # A file may also lie in the wrong directory, which says nothing about the ones below.
    name = last_part(directory[:-1])
    return name in _SOURCE_ROOTS or name.endswith(("Main", "Test"))


def _files(parts: Sequence[str], from_path: str, paths: PathIndex) -> list[str]:
    found = []
    for extension in _EXTENSIONS:
        suffix = "/".join(parts) + extension
        found += [path for path in paths.files_ending(parts[-1], suffix) if _is_root(path[: -len(suffix)], parts, from_path)]
    return found


def _is_root(directory: str, parts: Sequence[str], from_path: str) -> bool:
    """Says whether the name of these parts may begin right below `directory`."""
    places = directory.split("/")[:-1]
    if parts[0] in _LANGUAGE_ROOTS and places[-1:] and places[-1] in _ABOVE_LANGUAGE_ROOTS:
        # `src/main/java/util` is the package `util`, not `java.util`.
        return False
    if len(parts) > _SHORT or (places[-1:] and places[-1] in _SOURCE_ROOTS):
        return True
    if len(parts) < _SHORT:
        return False
    if not from_path.startswith(directory):
        return False
    # A directory above the importing file: where its project begins, in Scala also a package around it.
    return from_path.endswith((".scala", ".sc")) or not _SOURCE_ROOTS.intersection(places)
