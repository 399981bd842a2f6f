"""What a piece of code needs: the definitions in the repository that it names and does not contain.

Names are resolved as far as that is safe without a compiler: in the same file, in a file that it imports, or where only one
definition of product code has the name. Others are left out rather than guessed.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.path_roles import PathReader
from codecompass.store.query.ranking import RankedPlace
from codecompass.store.query.source import comment_marks, lines_of
from codecompass.store.records import SymbolKind
from codecompass.store.words import word_set

MAX_LINES: Final = 80
MAX_LOOKUPS: Final = 40
"""Distinct names of one piece of code that are looked up, in the order in which they stand there."""

SAME_NAME_LIMIT: Final = 20
SHORTEST_NAME: Final = 3

KEYWORDS: Final = word_set(
    "and await case catch default defer def elif else elsif end ensure finally fn for foreach from fun func function guard if "
    "impl import in instanceof is let loop match new not of or raise rescue return select sizeof some super switch then throw "
    "throws try typeof unless until use val var when where while with yield"
)
"""Words of languages that a parenthesis may follow, `when (x)`: what they would call is not what is meant, in any case."""

_NAME: Final = re.compile(r"[^\W\d]\w*(?=\s*[(!]?)")
_CALLED: Final = re.compile(r"([^\W\d]\w*)\s*!?\(")
_NEEDED_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "type", "macro"}
)


def needs_of(snapshot: Snapshot, places: Sequence[RankedPlace]) -> list[tuple[SymbolRow, RankedPlace]]:
    """Returns the definitions that the code at `places` needs, each with the first place that needs it: those that most
    places need first, then in the order of the text. What lies inside one of the places is left out."""
    counts: dict[int, int] = {}
    found: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    for place in places:
        for row in _named_in(snapshot, place):
            if not any(_holds(other, row) for other in places):
                found.setdefault(row.id, (row, place))
                counts[row.id] = counts.get(row.id, 0) + 1
    return sorted(found.values(), key=lambda item: -counts[item[0].id])


def _named_in(snapshot: Snapshot, place: RankedPlace) -> Iterable[SymbolRow]:
    last = min(place.line_end, place.line_start + MAX_LINES)
    lines = lines_of(snapshot, place.place.id, place.line_start, last)
    marks = comment_marks(place.place.language)
    # A sentence in a comment begins with a capital letter, as the name of a type does: `When`, `Returns`.
    text = "\n".join(line for line in lines if not line.lstrip().startswith(marks))
    called = set(_CALLED.findall(text))
    names = dict.fromkeys(name for name in _NAME.findall(text) if len(name) >= SHORTEST_NAME)
    likely = [name for name in names if (name in called or name[:1].isupper()) and name.lower() not in KEYWORDS]
    imported = {row.target for row in snapshot.facts.imports_of(place.place.id) if row.target}
    paths = PathReader()
    for name in likely[:MAX_LOOKUPS]:
        known = [
            row
            for row in snapshot.facts.symbols_named(name, SAME_NAME_LIMIT)
            if row.name == name and row.kind in _NEEDED_KINDS and paths.role(row.path).rank == 0
        ]
        here = [row for row in known if row.file_id == place.place.id] or [row for row in known if row.path in imported]
        chosen = here or known
        if len(chosen) == 1:
            yield chosen[0]


def _holds(place: RankedPlace, row: SymbolRow) -> bool:
    """Whether a place is the definition, lies in it, or has it inside."""
    return place.place.id == row.file_id and place.line_start <= row.line_end and place.line_end >= row.line_start
