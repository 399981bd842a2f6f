"""Repository paths: directories and joins, the names that files are found under, the paths that end in what an import spells,
and which of several is nearest.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final

ROOT_TARGET: Final = "/"
"""How an answer names the root directory: the empty string already means that nothing was found."""

_INDEX_STEMS: Final = frozenset({"__init__", "index", "init", "mod"})
"""Files that stand for their directory: a package of Python, of JavaScript, of Lua, a module of Rust."""

_PACKAGE_OF_EXTENSION: Final = {
    "cs": "dotnet",
    "go": "go",
    "groovy": "jvm",
    "java": "jvm",
    "kt": "jvm",
    "kts": "jvm",
    "php": "composer",
    "py": "python",
    "pyi": "python",
    "scala": "jvm",
    "swift": "swift",
}

_SEARCHED_BY_NAME: Final = frozenset({"composer", "dotnet", "jvm", "swift"})
"""Ecosystems whose package directories are looked for by name, because no file says where they begin."""

_SWIFT_SOURCES: Final = frozenset({"Plugins", "Source", "Sources", "Tests", "src"})


def directory_of(path: str) -> str:
    """Returns the directory of a path, with its slash; empty at the root."""
    return path[: path.rfind("/") + 1]


def parent_of(directory: str) -> str:
    """Returns the directory above; the root is its own parent."""
    return directory[: directory.rfind("/", 0, -1) + 1]


def ancestors(path: str) -> Iterator[str]:
    """Yields the directories that hold `path`, the nearest first, the root last."""
    end = path.rfind("/")
    while end >= 0:
        yield path[: end + 1]
        end = path.rfind("/", 0, end)
    yield ""


def join(directory: str, relative: str) -> str | None:
    """Returns `relative` seen from `directory` without `.` and `..`, None when it climbs out of the repository."""
    relative = relative.removeprefix("./")
    if "." not in relative and "//" not in relative:
        return directory + relative
    parts = directory.split("/")[:-1]
    for part in relative.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in ("", "."):
            parts.append(part)
    return "/".join(parts)


def tail_of(name: str) -> str:
    """Returns the part of a file's or directory's name before its first dot (a leading dot does not count).

    Extensions come and go between an import and the file that it means (`./a.js` for `a.ts`, `types` for `types.d.ts`);
    what stands before the first dot never differs.
    """
    end = name.find(".", 1)
    return name if end < 0 else name[:end]


def stem_of(path: str) -> str:
    """Returns a path without what an import may leave out of its last name (see `tail_of`)."""
    slash = path.rfind("/") + 1
    return path[:slash] + tail_of(path[slash:])


def awaited_tail(place: str) -> str:
    """Returns the string by which an import waits for the file or directory that it spells: its last two names.

    One name alone would be shared by too many (`models`, `index`); more would say where a search path begins, which an
    import does not. A place of one name gives that name.
    """
    place = place.rstrip("/")
    slash = place.rfind("/")
    above = place.rfind("/", 0, slash) + 1 if slash >= 0 else 0
    return place[above : slash + 1] + tail_of(place[slash + 1 :])


def awaited_tails(path: str) -> tuple[str, ...]:
    """Returns the strings by which imports may wait for a file: its `awaited_tail`, its stem alone, those of its directory."""
    slash = path.rfind("/")
    stem = tail_of(path[slash + 1 :])
    if stem in _INDEX_STEMS and slash > 0:
        directory = path[:slash]
        return stem, awaited_tail(path), tail_of(directory[directory.rfind("/") + 1 :]), awaited_tail(directory)
    return stem, awaited_tail(path)


def last_part(path: str, separator: str = "/") -> str:
    """Returns what follows the last separator."""
    return path[path.rfind(separator) + len(separator) :] if separator in path else path


def directory_tail(directory: str) -> str:
    """Returns the key of a package directory by its name: `a/v1/` gives `v1/`, `Src/Company.Core/` gives `Core/`.

    Only the part behind the last dot counts, because C# writes nested namespaces into one name. Empty for the root.
    """
    name = directory[directory.rfind("/", 0, -1) + 1 : -1]
    return name[name.rfind(".") + 1 :] + "/" if name else ""


def package_of(path: str) -> tuple[str, str] | None:
    """Returns (ecosystem, directory) of the package that a file belongs to where packages are directories, else None."""
    ecosystem = _PACKAGE_OF_EXTENSION.get(path[path.rfind(".") + 1 :])
    if ecosystem is None:
        return None
    if ecosystem == "swift":
        directory = _swift_module(path)
        return None if directory is None else (ecosystem, directory)
    return ecosystem, path[: path.rfind("/") + 1]


def package_key(ecosystem: str, directory: str) -> str:
    """Returns the string under which the files of one package directory are found among the `path_tails`."""
    return f"{directory}:{ecosystem}"


def path_tails(path: str) -> tuple[str, ...]:
    """Returns the strings under which a file is looked up, without duplicates.

    These are its stem (and its directory's name when it stands for the directory), and for a member of a package
    directory the `package_key` and, where packages are searched by name, the `directory_tail`. A Go file has no stem:
    nothing imports a single Go file.
    """
    slash = path.rfind("/")
    stem = tail_of(path[slash + 1 :])
    package = package_of(path)
    if package is None:
        tails: tuple[str, ...] = (stem,)
    elif package[0] == "go":
        return (package_key(*package),)
    elif package[0] in _SEARCHED_BY_NAME and package[1]:
        tails = (stem, package_key(*package), directory_tail(package[1]))
    else:
        tails = (stem, package_key(*package))
    if stem in _INDEX_STEMS and slash > 0:
        return (tail_of(path[path.rfind("/", 0, slash) + 1 : slash]), *tails)
    return tails


def _swift_module(path: str) -> str | None:
    """The directory of a Swift module by the convention of its package manager, else the directory at the top."""
    parts = path.split("/")
    for position, part in enumerate(parts[:-2]):
        if part in _SWIFT_SOURCES:
            return "/".join(parts[: position + 2]) + "/"
    return parts[0] + "/" if len(parts) > 1 else None


def ending(paths: Iterable[str], suffix: str) -> list[str]:
    """Returns the paths equal to `suffix` or ending in it at a directory boundary, in the order given."""
    inner = "/" + suffix
    return [path for path in paths if path.endswith(suffix) and (path == suffix or path.endswith(inner))]


def nearest(candidates: Sequence[str], from_path: str) -> str:
    """Returns the candidate that shares most directories with `from_path`, then the shortest, then by alphabet.

    Empty without candidates.
    """
    if len(candidates) < 2:
        return candidates[0] if candidates else ""
    own = from_path.split("/")[:-1]
    return min(candidates, key=lambda path: (-_shared(own, path), len(path), path))


def shared_parts(path: str, from_path: str) -> int:
    """Returns how many directories, from the root on, two paths have in common."""
    return _shared(from_path.split("/")[:-1], path)


def _shared(own: list[str], path: str) -> int:
    count = 0
    # Without the last part, which is a file's name, or empty for a directory.
    for mine, theirs in zip(own, path.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count


MAX_ALIKE: Final = 500
"""Paths that end in the same suffix. More are copies of one template, of which none is meant: the answer is none at all."""

_GROUPED_FROM: Final = 16
"""Paths of one name from which grouping them is cheaper than looking at each."""

_MAX_NAMES: Final = 4
"""Names at the end of a path that are grouped by; of longer suffixes the rest is compared."""


class Endings:
    """The paths under each tail, grouped by their ends. `paths_of` gives those of a tail; `normal` what is compared of each.

    `clear` must be called when the paths change. Not thread-safe.
    """

    def __init__(self, paths_of: Callable[[str], Collection[str]], normal: Callable[[str], str] = str) -> None:
        self._paths_of = paths_of
        self._normal = normal
        self._groups: dict[tuple[str, int], dict[str, list[str]]] = {}

    def find(self, tail: str, suffix: str) -> Sequence[str]:
        """Returns the paths under `tail` that are `suffix` or end in it at a directory boundary; none of more than MAX_ALIKE."""
        paths = self._paths_of(tail)
        if len(paths) > _GROUPED_FROM:
            n_in_suffix = suffix.rstrip("/").count("/") + 1
            n_names = min(n_in_suffix, _MAX_NAMES)
            groups = self._groups.get((tail, n_names))
            if groups is None:
                groups = self._groups[tail, n_names] = self._grouped(paths, n_names)
            paths = groups.get(_last_names(suffix, n_names), ())
            if n_names == n_in_suffix:
                return tuple(paths) if len(paths) <= MAX_ALIKE else ()
        normal = self._normal
        found = [path for path in paths if ending((normal(path),), suffix)]
        return found if len(found) <= MAX_ALIKE else ()

    def clear(self) -> None:
        """Forgets everything."""
        self._groups.clear()

    def _grouped(self, paths: Collection[str], n_names: int) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for path in paths:
            groups.setdefault(_last_names(self._normal(path), n_names), []).append(path)
        return groups


def _last_names(path: str, count: int) -> str:
    """Returns the last names of a path; the slash at the end of a directory belongs to its last name."""
    at = len(path) - 1
    for _ in range(count):
        at = path.rfind("/", 0, at)
        if at < 0:
            return path
    return path[at + 1 :]


def with_slashes(path: str) -> str:
    """Returns a path as C# spells namespaces: one directory may hold several names, with dots between them."""
    return path.replace(".", "/")
