"""The files, packages and module roots of a repository, as needed to resolve imports.

`PathIndex` is the interface. Every query is a point read: on a table of (tail, path) with the `path_tails` of each file, on the
paths themselves, or on the few module roots. `InMemoryPaths` answers from dictionaries.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final, Protocol, TypeVar

from codecompass.languages.imports.configuration import completed_roots
from codecompass.languages.imports.module_root import ModuleRoot as ModuleRoot
from codecompass.languages.imports.paths import (
    SuffixIndex,
    directory_of,
    ending_in,
    package_key,
    package_of,
    path_tails,
    stem_of,
    with_slashes,
)
from codecompass.languages.table import ECOSYSTEMS

MAX_SAME_KEY: Final = 100
"""Roots tried for one name. More packages of one name are copies of a template, and each import would have to check all."""

_Key = TypeVar("_Key")


class ModuleRoots:
    """The module roots of one ecosystem, by several keys. Immutable.

    Each tuple is sorted by rank, then scope, then directory, and has at most MAX_SAME_KEY roots; `all`, `by_scope` and
    `wildcards` are not limited.
    """

    def __init__(self, roots: Iterable[ModuleRoot]) -> None:
        self.all: Final = tuple(sorted(set(roots), key=lambda root: (root.rank, root.scope, root.directory, root.prefix)))
        self.by_prefix: Final = _grouped(((root.prefix, root) for root in self.all), MAX_SAME_KEY)
        self.by_scope: Final = _grouped((root.scope, root) for root in self.all)
        self.by_directory: Final = _grouped(((directory_of(root.directory), root) for root in self.all), MAX_SAME_KEY)
        self.by_stem: Final = _grouped(
            ((stem_of(root.directory), root) for root in self.all if "*" not in root.directory), MAX_SAME_KEY
        )
        """The roots without a `*` in their directory, by the `stem_of` their directory."""
        self.wildcards: Final = _grouped(
            (directory_of(root.directory.partition("*")[0]), root) for root in self.all if "*" in root.directory
        )
        """The roots with a `*` in their directory, by the directory above it."""
        self.by_name: Final = _grouped((((root.scope, root.prefix), root) for root in self.all), MAX_SAME_KEY)
        self.by_head: Final = _grouped(
            (((root.scope, root.prefix.partition("*")[0]), root) for root in self.all if "*" in root.prefix), MAX_SAME_KEY
        )
        """The roots with a `*` in their prefix, by their scope and the part before the `*`."""
        self.head_lengths: Final = _head_lengths(self.by_head)
        """The lengths of these parts in each scope, longest first."""

    @cached_property
    def directories(self) -> frozenset[str]:
        """All directories that a root names."""
        return frozenset(root.directory for root in self.all)


class PathIndex(Protocol):
    """The files of a repository. Directories end in `/`, the root is empty.

    The methods about packages have a default that follows from the tails.
    """

    search_paths: dict[str, tuple[str, ...]]
    """What Python's rules have worked out from the paths and roots, by directory. Emptied when those change."""

    def has_file(self, path: str) -> bool:
        """Whether there is a file at exactly this path."""
        ...

    def files_with_tail(self, tail: str) -> Sequence[str]:
        """Returns the files that have `tail` among their `path_tails`, in any order."""
        ...

    def package_directories(self, tail: str) -> Collection[str]:
        """Returns the package directories of the files found by a `directory_tail`, once each, in any order."""
        return {package[1] for package in map(package_of, self.files_with_tail(tail)) if package is not None}

    def files_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """Returns the files with `tail` that end in `suffix`, in any order; none if there are more than MAX_SAME_SUFFIX."""
        return ending_in(self.files_with_tail(tail), suffix)

    def packages_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """As `files_ending`, for the package directories found by a `directory_tail`."""
        return ending_in(self.package_directories(tail), suffix)

    def namespaces_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """As `packages_ending`, with dots in the names of directories read as slashes."""
        return [path for path in self.package_directories(tail) if ending_in((with_slashes(path),), suffix)]

    def package_size(self, ecosystem: str, directory: str) -> int:
        """Returns how many files a package has: those found by `package_key(ecosystem, directory)`."""
        return len(self.files_with_tail(package_key(ecosystem, directory)))

    def files_below(self, directory: str) -> Iterator[str]:
        """Yields every file below a directory, at any depth."""
        ...

    def roots(self, ecosystem: str) -> ModuleRoots:
        """Returns the module roots of the repository's configuration files."""
        ...

    def ecosystems(self) -> Collection[str]:
        """Returns the ecosystems that have module roots."""
        ...


class InMemoryPaths(PathIndex):
    """A `PathIndex` over dictionaries. Not thread-safe."""

    def __init__(self, paths: Iterable[str] = (), roots: Iterable[ModuleRoot] = ()) -> None:
        self._files: set[str] = set()
        self._by_tail: dict[str, list[str]] = {}
        self._directories: dict[str, dict[str, int]] = {}  # By directory_tail: number of files by package directory.
        self._roots: dict[str, ModuleRoots] = {}
        self._ordered: list[str] | None = None
        self.search_paths: dict[str, tuple[str, ...]] = {}
        self._files_by_suffix = SuffixIndex(self.files_with_tail)
        self._packages_by_suffix = SuffixIndex(self.package_directories)
        self._namespaces_by_suffix = SuffixIndex(self.package_directories, with_slashes)
        for path in paths:
            self.add(path)
        self.set_roots(roots)

    def add(self, path: str) -> None:
        """Adds a file. Does nothing if it was added before."""
        if path in self._files:
            return
        self._files.add(path)
        self._forget()
        by_tail = self._by_tail
        for tail in path_tails(path):
            if tail in by_tail:
                by_tail[tail].append(path)
            else:
                by_tail[tail] = [path]
            if tail[-1:] == "/":
                self._count_directory(tail, path, 1)

    def remove(self, path: str) -> None:
        """Removes a file. Does nothing if there is no such file."""
        if path not in self._files:
            return
        self._files.remove(path)
        self._forget()
        for tail in path_tails(path):
            self._by_tail[tail].remove(path)
            if not self._by_tail[tail]:
                del self._by_tail[tail]
            if tail[-1:] == "/":
                self._count_directory(tail, path, -1)

    def _forget(self) -> None:
        self._ordered = None
        self.search_paths.clear()
        for index in (self._files_by_suffix, self._packages_by_suffix, self._namespaces_by_suffix):
            index.clear()

    def set_roots(self, roots: Iterable[ModuleRoot]) -> None:
        """Replaces the module roots of all ecosystems."""
        self.search_paths.clear()
        declared = _grouped((root.ecosystem, root) for root in roots)
        grouped = dict(declared)
        for ecosystem, members in declared.items():
            completes = ECOSYSTEMS[ecosystem].completes if ecosystem in ECOSYSTEMS else ""
            if completes:
                grouped[completes] = tuple(completed_roots(completes, [*grouped.get(completes, ()), *members]))
        self._roots = {ecosystem: ModuleRoots(members) for ecosystem, members in grouped.items()}

    def has_file(self, path: str) -> bool:
        """Whether there is a file at exactly this path."""
        return path in self._files

    def files_with_tail(self, tail: str) -> Sequence[str]:
        """Returns the files that have `tail` among their `path_tails`, in the order in which they were added."""
        return self._by_tail.get(tail, ())

    def package_directories(self, tail: str) -> Collection[str]:
        """Returns the package directories of the files found by a `directory_tail`, once each."""
        return self._directories.get(tail, ())

    def files_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """Returns the files with `tail` that end in `suffix`; none if there are more than MAX_SAME_SUFFIX."""
        return self._files_by_suffix.find(tail, suffix)

    def packages_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """As `files_ending`, for the package directories found by a `directory_tail`."""
        return self._packages_by_suffix.find(tail, suffix)

    def namespaces_ending(self, tail: str, suffix: str) -> Sequence[str]:
        """As `packages_ending`, with dots in the names of directories read as slashes."""
        return self._namespaces_by_suffix.find(tail, suffix)

    def files_below(self, directory: str) -> Iterator[str]:
        """Yields every file below a directory, sorted. The first call after a change sorts all paths."""
        if self._ordered is None:
            self._ordered = sorted(self._files)
        for position in range(bisect_left(self._ordered, directory), len(self._ordered)):
            path = self._ordered[position]
            if not path.startswith(directory):
                return
            yield path

    def roots(self, ecosystem: str) -> ModuleRoots:
        """Returns the module roots of the repository's configuration files."""
        return self._roots.get(ecosystem, NO_ROOTS)

    def ecosystems(self) -> Collection[str]:
        """Returns the ecosystems that have module roots."""
        return self._roots.keys()

    def _count_directory(self, tail: str, path: str, change: int) -> None:
        package = package_of(path)
        if package is not None:
            counts = self._directories.setdefault(tail, {})
            counts[package[1]] = counts.get(package[1], 0) + change
            if not counts[package[1]]:
                del counts[package[1]]


def _grouped(pairs: Iterable[tuple[_Key, ModuleRoot]], limit: int | None = None) -> dict[_Key, tuple[ModuleRoot, ...]]:
    groups: dict[_Key, list[ModuleRoot]] = {}
    for key, root in pairs:
        groups.setdefault(key, []).append(root)
    return {key: tuple(members[:limit]) for key, members in groups.items()}


def _head_lengths(heads: Iterable[tuple[str, str]]) -> dict[str, tuple[int, ...]]:
    lengths: dict[str, set[int]] = {}
    for scope, head in heads:
        lengths.setdefault(scope, set()).add(len(head))
    return {scope: tuple(sorted(found, reverse=True)) for scope, found in lengths.items()}


NO_ROOTS: Final = ModuleRoots(())
