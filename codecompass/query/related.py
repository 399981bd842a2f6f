"""`find_related_symbols`: what a symbol uses, what uses it, what stands near it; and the definitions that a piece of code needs.

Names are resolved as far as that is safe without a compiler: in the same file, in a file that it imports, or where only one
definition in product code has the name. Others are left out.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, Literal

from codecompass.languages.records import SymbolKind
from codecompass.languages.words import word_set
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import RelatedAnchor, RelatedSymbol, RelatedSymbolsReply
from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.query.call_graph import ANY_USAGE, Neighbours
from codecompass.query.exact_names import ordered, symbol_handle
from codecompass.query.metadata import answer_metadata
from codecompass.query.name_lookup import resolve_symbol
from codecompass.query.options import no_deadline
from codecompass.query.search_hits import RankedPlace
from codecompass.query.shaping import stable_handle
from codecompass.query.source_lines import comment_marks, lines_of
from codecompass.scan.path_roles import PathReader
from codecompass.store.index import Snapshot
from codecompass.store.rows import ImportRow, SymbolRow

Relation = Literal["uses", "used_by", "test", "same_file", "same_module", "same_package"]

MAX_PER_RELATION: Final = 500
MAX_IMPORTS: Final = 200
MAX_IMPORTED_NAMESAKES: Final = 200
"""Definitions of an imported name that are read, to find the one in the import's target."""


_OUTER_DIRECTORIES: Final = frozenset({"src", "lib", "packages", "crates", "apps", "libs", "pkg", "internal", "cmd"})
"""Directories at the root that contain packages and are none themselves."""


def find_related_symbols(
    snapshot: Snapshot,
    request: FindRelatedSymbols,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
) -> RelatedSymbolsReply:
    """Returns related symbols, each once: what the symbol uses, what uses it, its tests, its neighbours as far as the scope goes.

    What it uses comes in the order of its lines, all else by path and line. Raises SymbolNotFound or AmbiguousSymbol.
    """
    anchor = resolve_symbol(snapshot, request.symbol_name, request.path, is_expired)
    seen = {anchor.id}
    related: list[RelatedSymbol] = []
    is_partial = False
    for relation, rows in _relations(snapshot, anchor, request.scope, is_expired):
        if related and is_expired():
            is_partial = True
            break
        fresh = [row for row in rows if row.id not in seen and row.kind not in ("use", "impl")]
        seen.update(row.id for row in fresh)
        related += [_related(snapshot, row, relation) for row in (fresh if relation == "uses" else _by_place(fresh))]
    shown = tuple(related[: request.limit])
    return RelatedSymbolsReply(
        anchor=RelatedAnchor(
            symbol_id=symbol_handle(snapshot, anchor),
            symbol_stable_id=stable_handle(anchor),
            kind=anchor.kind,
            name=anchor.name,
            path=anchor.path,
            line_start=anchor.line_start,
        ),
        related=shown,
        scope_used=request.scope,
        total_found=len(related),
        metadata=answer_metadata(snapshot, state, is_truncated=len(shown) < len(related), is_partial=is_partial),
    )


def package_directory(path: str) -> str:
    """Returns the directory that counts as the package of a file: the first one that is not only a container of packages."""
    directories = path.split("/")[:-1]
    for count, directory in enumerate(directories, 1):
        if directory not in _OUTER_DIRECTORIES:
            return "/".join(directories[:count])
    return "/".join(directories)


def _relations(
    snapshot: Snapshot, anchor: SymbolRow, scope: str, is_expired: Callable[[], bool]
) -> Iterator[tuple[Relation, Iterable[SymbolRow]]]:
    neighbours = Neighbours(snapshot, is_expired)
    yield "uses", [step.neighbour for step in neighbours.callees(anchor, ANY_USAGE)]
    callers = [step.neighbour for step in neighbours.callers(anchor)]
    yield "used_by", [row for row in callers if not neighbours.uses.is_test(row)]
    yield "test", [row for row in callers if neighbours.uses.is_test(row)]
    yield "same_file", [row for row in snapshot.facts.symbols_in_file(anchor.file_id) if row.parent_id == anchor.parent_id]
    directory = anchor.path.rpartition("/")[0]
    if scope in ("module", "package"):
        rows = snapshot.facts.top_level_symbols_in(directory, MAX_PER_RELATION)
        yield "same_module", rows
    if scope == "package":
        yield "same_package", snapshot.facts.top_level_symbols_under(package_directory(anchor.path), MAX_PER_RELATION)


def _definitions(snapshot: Snapshot, row: ImportRow) -> list[SymbolRow]:
    if row.name not in ("", "*", "default"):
        named = [
            found
            for found in snapshot.facts.symbols_named(row.name, MAX_IMPORTED_NAMESAKES)
            if found.name == row.name and _is_in(found.path, row.target)
        ]
        if named:
            return ordered(named)[:1]
    if row.target.endswith("/"):
        return []
    file = snapshot.facts.file(row.target)
    if file is None:
        return []
    top = [found for found in snapshot.facts.symbols_in_file(file.id) if found.parent_id is None]
    return [found for found in top if found.visibility in ("", "public")]


def _is_in(path: str, target: str) -> bool:
    return path.startswith(target) if target.endswith("/") else path == target


def _by_place(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    return sorted(rows, key=lambda row: (row.path, row.line_start, row.ordinal, row.id))


def _related(snapshot: Snapshot, row: SymbolRow, relation: Relation) -> RelatedSymbol:
    return RelatedSymbol(
        symbol_id=symbol_handle(snapshot, row),
        symbol_stable_id=stable_handle(row),
        kind=row.kind,
        name=row.name,
        qualified_name=row.qualified_name,
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        signature=row.signature,
        relation=relation,
        language=row.language,
    )


MAX_LINES: Final = 80
MAX_LOOKUPS: Final = 40
"""Distinct names of one piece of code that are looked up, in order of occurrence."""

MAX_NEEDED_NAMESAKES: Final = 20
"""Definitions of a name in a piece of code that are read, to find the one that is meant."""

SHORTEST_NAME: Final = 3

KEYWORDS: Final = word_set(
    "and await case catch default defer def elif else elsif end ensure finally fn for foreach from fun func function guard if "
    "impl import in instanceof is let loop match new not of or raise rescue return select sizeof some super switch then throw "
    "throws try typeof unless until use val var when where while with yield"
)
"""Keywords that a parenthesis may follow, as in `when (x)`, in lower case: these are not calls."""

_NAME: Final = re.compile(r"[^\W\d]\w*(?=\s*[(!]?)")
_CALLED: Final = re.compile(r"([^\W\d]\w*)\s*!?\(")
_NEEDED_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "type", "macro"}
)


def needed_definitions(snapshot: Snapshot, places: Sequence[RankedPlace]) -> list[tuple[SymbolRow, RankedPlace]]:
    """Returns the definitions that the code at `places` needs, each with the first place that needs it: those that most
    places need first, then in the order of the text. Definitions that overlap one of the places are left out."""
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
    lines = lines_of(snapshot, place.file.id, place.line_start, last)
    marks = comment_marks(place.file.language)
    # Without comments: a sentence begins with a capital letter, as the name of a type does (`When`, `Returns`).
    text = "\n".join(line for line in lines if not line.lstrip().startswith(marks))
    called = set(_CALLED.findall(text))
    names = dict.fromkeys(name for name in _NAME.findall(text) if len(name) >= SHORTEST_NAME)
    likely = [name for name in names if (name in called or name[:1].isupper()) and name.lower() not in KEYWORDS]
    imported = {row.target for row in snapshot.facts.imports_of(place.file.id) if row.target}
    paths = PathReader()
    for name in likely[:MAX_LOOKUPS]:
        known = [
            row
            for row in snapshot.facts.symbols_named(name, MAX_NEEDED_NAMESAKES)
            if row.name == name and row.kind in _NEEDED_KINDS and paths.role(row.path).rank == 0
        ]
        here = [row for row in known if row.file_id == place.file.id] or [row for row in known if row.path in imported]
        chosen = here or known
        if len(chosen) == 1:
            yield chosen[0]


def _holds(place: RankedPlace, row: SymbolRow) -> bool:
    """Whether a place overlaps a definition."""
    return place.file.id == row.file_id and place.line_start <= row.line_end and place.line_end >= row.line_start
