"""Hits that say the same: translations and versions of a document, generated and pasted copies of code. They are one hit, with a
count of the others.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages.words import word_set
from codecompass.query.search_hits import Hit, RankedPlace
from codecompass.query.source_lines import lines_of
from codecompass.scan.path_roles import role_of
from codecompass.store.snapshot import Snapshot

LEAST_LINES: Final = 4
MOST_LINES: Final = 120
"""Lines, not counting empty ones, from which on a place can be a copy, and those of each place that are compared."""

SAME_SHARE: Final = 0.8
SAME_PRODUCT_SHARE: Final = 0.95
"""Share of the lines of the longer of two places that both have; of product code, where each of two similar functions may be the
one that is meant, more."""

_LANGUAGES: Final = word_set(
    "ar az be bg bn bs ca cs cy da de el en eo es et eu fa fi fr ga gl he hi hr hu hy id it ja ka kk km ko lt lv mk ml mn ms nb "
    "nl nn pl pt ro ru sk sl sq sr sv sw ta te th tr uk ur uz vi zh"
)
_EDITION: Final = lazy.pattern(
    r"(?<![^/._])(?:(?P<language>[a-z]{2})(?:[-_][A-Za-z]{2,4})?|(?:version-?|v)?\d+(?:\.\d+)*(?:\.x)?|latest|next|stable|nightly)"
    r"(?![^/._])"
)


class NearCopies:
    """Recognises places that are nearly the same as an earlier one of the same answer. Reads the lines of few."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._lines: dict[tuple[int, int, int], Counter[str]] = {}

    def original(self, place: RankedPlace, shown: Sequence[Hit]) -> int | None:
        """Returns the index of the hit that a place is nearly the same as, None if there is none."""
        return next((index for index, hit in enumerate(shown) if self._is_copy(place, hit.place)), None)

    def _is_copy(self, place: RankedPlace, other: RankedPlace) -> bool:
        if place.file.id == other.file.id or place.type == "file" or other.type == "file":
            return False
        path, others = place.file.path, other.file.path
        if is_edition(path, others):
            return True
        has_name = place.symbol is not None and other.symbol is not None and place.symbol.name == other.symbol.name
        if not has_name and path.rpartition("/")[2] != others.rpartition("/")[2]:
            return False
        own, known = self._of(place), self._of(other)
        most = max(own.total(), known.total())
        share = SAME_SHARE if role_of(path).rank else SAME_PRODUCT_SHARE
        return most >= LEAST_LINES and (own & known).total() >= share * most

    def _of(self, place: RankedPlace) -> Counter[str]:
        key = (place.file.id, place.line_start, min(place.line_end, place.line_start + MOST_LINES - 1))
        lines = self._lines.get(key)
        if lines is None:
            lines = self._lines[key] = Counter(line for each in lines_of(self._snapshot, *key) if (line := each.strip()))
        return lines


def is_edition(path: str, other: str) -> bool:
    """Whether two paths are those of translations or versions of one document: they differ only in languages or versions."""
    role = role_of(path)
    if path == other or not (role.is_prose or role.is_data):
        return False
    return _without_edition(path) == _without_edition(other)


def _without_edition(path: str) -> str:
    return _EDITION.sub(
        lambda found: found[0] if found["language"] is not None and found["language"] not in _LANGUAGES else "*", path
    )
