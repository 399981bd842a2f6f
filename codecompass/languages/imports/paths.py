"""Repository paths: joins, the tails by which files are found, the paths with a given suffix, the nearest of several.

A *tail* is a short string from the end of a path. Files are looked up by their `path_tails`; an import is stored with
the tails that its target depends on (`dependency_tail`), and resolved again when a file with such a tail appears or disappears.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

from codecompass.languages import described
from codecompass.languages.detect import EXTENSIONS

if TYPE_CHECKING:
    from codecompass.languages.imports.rules import ImportRules

ROOT_TARGET: Final = "/"
"""The root directory as the target of an import (an empty target means that none was found)."""

_INDEX_STEMS: Final = frozenset({"__init__", "index", "init", "mod"})
"""Files that represent their directory (`a/index.json` is found as `a` too). They are the same for all languages, because the
extension of a file does not tell which languages import it."""


def directory_of(path: str) -> str:
    """Returns the directory of a path with a slash at its end; empty at the root."""
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
    """Returns `directory` joined with `relative`, without `.` and `..`; None when that is outside the repository."""
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

    The extension in an import may differ from that of the file (`./a.js` for `a.ts`, `types` for `types.d.ts`); the part
    before the first dot never does.
    """
    end = name.find(".", 1)
    return name if end < 0 else name[:end]


def stem_of(path: str) -> str:
    """Returns a path with its last name cut to its `tail_of`."""
    slash = path.rfind("/") + 1
    return path[:slash] + tail_of(path[slash:])


def dependency_tail(path: str) -> str:
    """Returns the tail on which an import of `path` (a file or directory) depends: its last two names, or its only one.

    One name alone would be shared by too many files (`models`, `index`); more names would depend on where a search path
    begins, which an import does not say.
    """
    path = path.rstrip("/")
    slash = path.rfind("/")
    above = path.rfind("/", 0, slash) + 1 if slash >= 0 else 0
    return path[above : slash + 1] + tail_of(path[slash + 1 :])


def dependency_tails(path: str) -> tuple[str, ...]:
    """Returns the tails on which imports of a file may depend: its stem and its `dependency_tail`, and if the file represents its
    directory, the same two of the directory."""
    slash = path.rfind("/")
    stem = tail_of(path[slash + 1 :])
    if stem in _INDEX_STEMS and slash > 0:
        directory = path[:slash]
        return stem, dependency_tail(path), tail_of(directory[directory.rfind("/") + 1 :]), dependency_tail(directory)
    return stem, dependency_tail(path)


def last_part(path: str, separator: str = "/") -> str:
    """Returns what follows the last separator."""
    return path[path.rfind(separator) + len(separator) :] if separator in path else path


def directory_tail(directory: str) -> str:
    """Returns the tail of a package directory: `a/v1/` gives `v1/`, `Src/Company.Core/` gives `Core/`; empty for the root.

    Only the part after the last dot counts, because C# projects put nested namespaces into one name.
    """
    name = directory[directory.rfind("/", 0, -1) + 1 : -1]
    return name[name.rfind(".") + 1 :] + "/" if name else ""


class _RulesByExtension(dict[str, "ImportRules | None"]):
    """The rules by which a file with an extension (without a dot) belongs to a package; loads a language when it is needed.

    Extensions of no language are not kept: a repository may have any number.
    """

    def __missing__(self, extension: str) -> "ImportRules | None":
        language = EXTENSIONS.get(f".{extension}")
        if language is None:
            return None
        rules = described(language).imports
        has_packages = rules is not None and rules.packages is not None and extension in rules.packages.extensions
        found = self[extension] = rules if has_packages else None
        return found


RULES_BY_EXTENSION: Final = _RulesByExtension()


def package_rules(path: str) -> "ImportRules | None":
    """Returns the rules of a file's language if the file belongs to a package by its extension, else None."""
    return RULES_BY_EXTENSION[path[path.rfind(".") + 1 :]]


def package_of(path: str) -> tuple[str, str] | None:
    """Returns (ecosystem, directory) of a file's package in languages where a package is a directory, else None."""
    rules = package_rules(path)
    directory = None if rules is None else _package_directory(rules, path)
    return None if rules is None or directory is None else (rules.ecosystem, directory)


def _package_directory(rules: "ImportRules", path: str) -> str | None:
    if rules.packages is None or rules.packages.directory is None:
        return path[: path.rfind("/") + 1]
    return rules.packages.directory(path)


def package_key(ecosystem: str, directory: str) -> str:
    """Returns the tail that all files of one package directory have among their `path_tails`."""
    return f"{directory}:{ecosystem}"


def path_tails(path: str) -> tuple[str, ...]:
    """Returns the tails by which a file is looked up, without duplicates.

    These are its stem (and the name of its directory if it represents the directory), and in a package directory the
    `package_key` and, if packages are found by name, the `directory_tail`. A file that no import names alone has only the
    `package_key`.
    """
    slash = path.rfind("/")
    stem = tail_of(path[slash + 1 :])
    tails: tuple[str, ...] = (stem,)
    rules = RULES_BY_EXTENSION[path[path.rfind(".") + 1 :]]
    if rules is not None and rules.packages is not None and (directory := _package_directory(rules, path)) is not None:
        key = package_key(rules.ecosystem, directory)
        if rules.packages.hide_files:
            return (key,)
        tails = (stem, key, directory_tail(directory)) if rules.packages.are_found_by_name and directory else (stem, key)
    if stem in _INDEX_STEMS and slash > 0:
        return (tail_of(path[path.rfind("/", 0, slash) + 1 : slash]), *tails)
    return tails


def ending_in(paths: Iterable[str], suffix: str) -> list[str]:
    """Returns the paths equal to `suffix` or ending in it at a directory boundary, in the order given."""
    inner = "/" + suffix
    return [path for path in paths if path.endswith(suffix) and (path == suffix or path.endswith(inner))]


def nearest(candidates: Sequence[str], from_path: str) -> str:
    """Returns the candidate that shares most directories with `from_path`; of several the shortest, then the first by name.
    Empty without candidates."""
    if len(candidates) < 2:
        return candidates[0] if candidates else ""
    own = from_path.split("/")[:-1]
    return min(candidates, key=lambda path: (-_shared(own, path), len(path), path))


def shared_parts(path: str, from_path: str) -> int:
    """Returns the number of leading directories that two paths have in common."""
    return _shared(from_path.split("/")[:-1], path)


def _shared(own: list[str], path: str) -> int:
    count = 0
    # The last part is the name of a file, or empty for a directory.
    for mine, theirs in zip(own, path.split("/")[:-1], strict=False):
        if mine != theirs:
            break
        count += 1
    return count


MAX_SAME_SUFFIX: Final = 500
"""Paths with the same suffix. More are copies of one template and count as none."""

_MIN_GROUPED: Final = 16
"""With more paths for one tail, grouping them is faster than comparing each."""

_MAX_NAMES: Final = 4
"""Number of last names by which paths are grouped at most; the rest of a longer suffix is compared."""


class SuffixIndex:
    """Finds the paths with a tail that end in a suffix, by groups that it keeps until `clear`.

    `paths_of` returns the paths with a tail; `normalize` is applied to each before it is compared. Call `clear` when the paths
    change. Not thread-safe.
    """

    def __init__(self, paths_of: Callable[[str], Collection[str]], normalize: Callable[[str], str] = str) -> None:
        self._paths_of = paths_of
        self._normalize = normalize
        self._groups: dict[tuple[str, int], dict[str, list[str]]] = {}

    def find(self, tail: str, suffix: str) -> Sequence[str]:
        """Returns the paths with `tail` that are `suffix` or end in it at a directory boundary; none if there are more than
        MAX_SAME_SUFFIX."""
        paths = self._paths_of(tail)
        if len(paths) > _MIN_GROUPED:
            n_in_suffix = suffix.rstrip("/").count("/") + 1
            n_names = min(n_in_suffix, _MAX_NAMES)
            groups = self._groups.get((tail, n_names))
            if groups is None:
                groups = self._groups[tail, n_names] = self._grouped(paths, n_names)
            paths = groups.get(_last_names(suffix, n_names), ())
            if n_names == n_in_suffix:
                return tuple(paths) if len(paths) <= MAX_SAME_SUFFIX else ()
        normalize = self._normalize
        found = [path for path in paths if ending_in((normalize(path),), suffix)]
        return found if len(found) <= MAX_SAME_SUFFIX else ()

    def clear(self) -> None:
        """Drops all groups."""
        self._groups.clear()

    def _grouped(self, paths: Collection[str], n_names: int) -> dict[str, list[str]]:
        groups: dict[str, list[str]] = {}
        for path in paths:
            groups.setdefault(_last_names(self._normalize(path), n_names), []).append(path)
        return groups


def _last_names(path: str, count: int) -> str:
    """Returns the last `count` names of a path; the slash at the end of a directory belongs to its last name."""
    at = len(path) - 1
    for _ in range(count):
        at = path.rfind("/", 0, at)
        if at < 0:
            return path
    return path[at + 1 :]


def with_slashes(path: str) -> str:
    """Returns a path with its dots as slashes: the name of a C# directory may be several parts of a namespace."""
    return path.replace(".", "/")
