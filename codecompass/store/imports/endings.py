"""Finds the paths that end in what an import spells, however many files of the repository share a name.

Each question would otherwise look at every file of that name (20,000 times `index.py`), so that the imports of a repository
cost the square of its size. The paths of one name are grouped by their last names when first asked for.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from codecompass.store.imports.places import ending

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
