"""The routes that a question names as requests do (`POST /orders/17`), and what serves them."""

from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.query.names.exact_names import allowed, exactly, ordered
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

_REQUEST: Final = lazy.pattern(r"(?<![\w/])(?P<method>GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+[\"'`]?(?P<path>/[^\s\"'`?,;]*)")
_PLACEHOLDERS: Final = tuple(":{<[*(")
_ROUTES: Final[frozenset[SymbolKind]] = frozenset({"route"})

MAX_CANDIDATES: Final = 200
"""Routes that begin alike and are compared."""

MAX_DROPPED: Final = 3
"""Segments at the beginning of a path that may come from another file, where its routes are mounted."""

MAX_HANDLERS: Final = 2
"""Definitions of one handler that are shown; more are namesakes."""


def routes_asked(snapshot: Snapshot, text: str, where: Filter) -> list[SymbolRow]:
    """Returns the routes that serve the request in a text, each before its handler; empty if the text names none."""
    asked = _REQUEST.search(text)
    if asked is None:
        return []
    segments = _segments(asked["path"])
    for dropped in range(min(MAX_DROPPED, max(len(segments) - 1, 0)) + 1):
        found = [row for method in (f"{asked['method']} ", "") for row in _matching(snapshot, method, segments[dropped:], where)]
        if found:
            return list(dict.fromkeys(each for row in found for each in (row, *_handlers(snapshot, row, where))))
    return []


def _matching(snapshot: Snapshot, method: str, segments: list[str], where: Filter) -> Iterator[SymbolRow]:
    """Yields the routes for a path, those without placeholders first."""
    ids = snapshot.text.prefix_symbols(f"{method}/{segments[0] if segments else ''}", MAX_CANDIDATES)
    rows = ordered(allowed(snapshot.facts.symbols_by_id(ids).values(), where, _ROUTES))
    for is_literal in (True, False):
        for row in rows:
            own = _segments(row.name[len(method) :])
            if (own == segments) == is_literal and len(own) == len(segments) and all(map(_is_same, own, segments)):
                yield row


def _segments(path: str) -> list[str]:
    return [part for part in path.lower().split("/") if part]


def _is_same(own: str, asked: str) -> bool:
    return own == asked or own.startswith(_PLACEHOLDERS)


def _handlers(snapshot: Snapshot, route: SymbolRow, where: Filter) -> list[SymbolRow]:
    _, arrow, name = route.signature.rpartition(" -> ")
    named = exactly(snapshot, name, where, None) if arrow and " " not in name else []
    return [each.row for each in named if each.reading != "case_insensitive"][:MAX_HANDLERS]
