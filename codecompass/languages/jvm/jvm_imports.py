"""Java, Kotlin, Scala, Groovy: `a.b.C` is a file whose path ends in `a/b/C`, a package the directory that ends in `a/b`.

The build decides where sources begin. A path that ends in the whole name is enough, except for names of one or two parts:
what precedes them must be a source root, or a directory above the importing file. Kotlin may omit the first parts of a
package from the path; then the `package` lines of source files say which directory it is.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.imports.manifests import package_scope
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.imports.path_index import PathIndex
from codecompass.languages.imports.paths import directory_of, last_part, nearest
from codecompass.languages.imports.rules import ImportRules, Packages
from codecompass.languages.records import Import

ECOSYSTEM: Final = "jvm"

_EXTENSIONS: Final = (".java", ".kt", ".scala", ".groovy", ".kts", ".sc")
_LANGUAGE_ROOTS: Final = frozenset({"groovy", "java", "kotlin", "scala"})
_ABOVE_LANGUAGE_ROOTS: Final = frozenset({"main", "src", "test"})
_SOURCE_ROOTS: Final = _LANGUAGE_ROOTS | {"app", "main", "source", "sources", "src", "test"}
_MAX_DIRECTORIES: Final = 64
"""Directories tried for one package. Only test data, in which all packages have the same name, has more."""

_WILDCARDS: Final = frozenset({"*", "_"})
_SHORT: Final = 2


def tails(item: Import, from_path: str) -> tuple[str, ...]:
    """Returns the name that may be that of a file, and the name of the package or object around it."""
    parts = _parts(item)
    end = _class_end(parts)
    return tuple(dict.fromkeys(parts[max(0, end - 2) : end][::-1]))


def resolve(item: Import, from_path: str, paths: PathIndex) -> str:
    """Returns the file of a class or object (for a nested class that of the outer one), else the directory of the package."""
    parts = _parts(item)
    end = _class_end(parts)
    found = _file(parts[:end], from_path, paths)
    is_class = parts[end - 1 : end] != [] and parts[end - 1][:1].isupper()
    if found or is_class:
        return found or _directory(parts[: end - 1], from_path, paths)
    is_scala = from_path.endswith((".scala", ".sc"))
    if item.name in _WILDCARDS:
        found = _directory(parts, from_path, paths)
        # In Scala also all members of an object, which may be in any file of its package.
        return found or (_directory(parts[:-1], from_path, paths) if is_scala else "")
    # A lower-case member of a package, or in Scala of an object (`syntax.functor.map`).
    return (_file(parts[:-1], from_path, paths) if is_scala else "") or _directory(parts[:-1], from_path, paths)


def _parts(item: Import) -> list[str]:
    spec = item.spec.removeprefix("_root_.").replace("`", "")
    parts = spec.split(".") if spec else []
    return parts if item.name == "" or item.name in _WILDCARDS else [*parts, item.name]


def _class_end(parts: Sequence[str]) -> int:
    """Returns the number of parts up to and including the first upper-case name, the outermost class; all without one."""
    return next((position + 1 for position, part in enumerate(parts) if part[:1].isupper()), len(parts))


def _file(parts: Sequence[str], from_path: str, paths: PathIndex) -> str:
    if not parts or not paths.files_with_tail(parts[-1]):
        return ""
    found = _files(parts, from_path, paths)
    if not found:
        stems = dict.fromkeys(directory + parts[-1] for directory in _configured_directories(parts[:-1], from_path, paths))
        found = [stem + extension for stem in stems for extension in _EXTENSIONS if paths.has_file(stem + extension)]
    return nearest(found, from_path)


def _directory(package: Sequence[str], from_path: str, paths: PathIndex) -> str:
    if not package or (package[0] in _LANGUAGE_ROOTS and len(package) < _SHORT):
        return ""
    suffix = "/".join(package) + "/"
    directories = paths.packages_ending(package[-1] + "/", suffix)
    named = [directory for directory in directories if _may_be_source_root(directory[: -len(suffix)], package, from_path)]
    candidates = (*named, *_configured_directories(package, from_path, paths))
    return nearest([directory for directory in candidates if paths.package_size(ECOSYSTEM, directory)], from_path)


def _configured_directories(package: Sequence[str], from_path: str, paths: PathIndex) -> Iterator[str]:
    """Yields the directories of a package that follow from the `package` lines of source files (see `_kotlin_roots`)."""
    roots = paths.roots(ECOSYSTEM).by_prefix
    for count in range(len(package), 0, -1) if roots else ():
        rest = "".join(part + "/" for part in package[count:])
        for root in roots.get("/".join(package[:count]), ())[:_MAX_DIRECTORIES]:
            if from_path.startswith(root.scope) and (not rest or _begins_sources(root.directory)):
                yield root.directory + rest


def _begins_sources(directory: str) -> bool:
    # A file may also be in the wrong directory for its package, which says nothing about the directories below.
    name = last_part(directory[:-1])
    return name in _SOURCE_ROOTS or name.endswith(("Main", "Test"))


def _files(parts: Sequence[str], from_path: str, paths: PathIndex) -> list[str]:
    found = []
    for extension in _EXTENSIONS:
        suffix = "/".join(parts) + extension
        matches = paths.files_ending(parts[-1], suffix)
        found += [path for path in matches if _may_be_source_root(path[: -len(suffix)], parts, from_path)]
    return found


def _may_be_source_root(directory: str, parts: Sequence[str], from_path: str) -> bool:
    """Whether the first of `parts` may be right below `directory`."""
    parts_above = directory.split("/")[:-1]
    if parts[0] in _LANGUAGE_ROOTS and parts_above[-1:] and parts_above[-1] in _ABOVE_LANGUAGE_ROOTS:
        # `src/main/java/util` is the package `util`, not `java.util`.
        return False
    if len(parts) > _SHORT or (parts_above[-1:] and parts_above[-1] in _SOURCE_ROOTS):
        return True
    if len(parts) < _SHORT:
        return False
    if not from_path.startswith(directory):
        return False
    # A directory above the importing file: the top of its project, in Scala also a package around it.
    return from_path.endswith((".scala", ".sc")) or not _SOURCE_ROOTS.intersection(parts_above)


_KOTLIN_PACKAGE: Final = lazy.pattern(rb"^[ \t]*package[ \t]+((?:[\w.]|`[^`\n]+`)+)", re.MULTILINE)
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
        yield ModuleRoot(ECOSYSTEM, package, directory, package_scope(directory))


_FAMILY: Final = ("groovy", "java", "kotlin", "scala")

JVM_IMPORTS: Final = ImportRules(
    tails=tails,
    resolve=resolve,
    ecosystem=ECOSYSTEM,
    family=_FAMILY,
    packages=Packages(extensions=("groovy", "java", "kt", "kts", "scala"), are_found_by_name=True),
    importers=_FAMILY,
    configuration=_kotlin_roots,
)
