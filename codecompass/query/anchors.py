"""The one symbol that a request by name is about, or an error that lists what it could be."""

from collections.abc import Callable
from typing import Final

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
from codecompass.query.exact_names import find_exactly, is_handle, outdated, symbol_of_handle, without_declarations
from codecompass.query.hits import never
from codecompass.query.loose_names import find_named
from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.text import Filter

SHOWN_CANDIDATES: Final = 20
SIMILAR_NAMES: Final = 5


def the_symbol(snapshot: Snapshot, name: str, path: str | None, is_expired: Callable[[], bool] = never) -> SymbolRow:
    """Returns the definition that `name` means in `path` (a whole path or its end), anywhere where that is None.

    A `symbol_id` means the definition that it was given for, wherever. Names like one that is not there are looked for until
    `is_expired`.

    Raises SymbolNotFound, or AmbiguousSymbol where definitions in several files have the name.
    """
    rows = find_exactly(snapshot, name)
    if not rows and is_handle(name):
        known = symbol_of_handle(snapshot, name)
        if known is None:
            raise outdated(name)
        return known
    if path is not None:
        tail = path.strip().replace("\\", "/").removeprefix("./").strip("/")
        rows = [row for row in rows if row.path == tail] or [row for row in rows if row.path.endswith("/" + tail)]
    if not rows:
        raise _not_found(snapshot, name, path, is_expired)
    rows = without_declarations(rows)
    if len({row.path for row in rows}) > 1:
        raise AmbiguousSymbol(
            f"{len(rows)} definitions are named {name[:100]}. Pass path, or a qualified name, of the one that is meant.",
            candidate_count=len(rows),
            candidates=[
                {"path": row.path, "line": row.line_start, "kind": row.kind, "qualified_name": row.qualified_name}
                for row in rows[:SHOWN_CANDIDATES]
            ],
        )
    return rows[0]


def _not_found(snapshot: Snapshot, name: str, path: str | None, is_expired: Callable[[], bool]) -> SymbolNotFound:
    named = find_named(snapshot, name, Filter(), None, is_expired)
    similar = list(dict.fromkeys(each.row.name for each in named))[:SIMILAR_NAMES]
    place = f" in {path[:200]}" if path else ""
    hint = f" Similar names: {', '.join(similar)}." if similar else " Find it with search_code."
    return SymbolNotFound(f"no symbol is named {name[:100]}{place}.{hint}", name=name[:100], path=path, similar_names=similar)
