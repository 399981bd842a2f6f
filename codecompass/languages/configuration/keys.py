"""What readers of configuration share: which files have keys, and how many.

Configuration is small and written by people. Keys of locks, data, fixtures and generated files would be most of all definitions.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.languages.records import SymbolKind
from codecompass.languages.walk.text_rules import Entry

_OF_OTHERS: Final = lazy.pattern(
    r"(?:^|/)(?:[^/]*[-_])?(?:tests?|testdata|testing|fixtures?|__\w+__|specs?|e2e|mocks?|vendor|vendored|third[-_]party|node_modules"
    r"|dist|generated|gen)/",
    re.IGNORECASE,
)
"""In directories of tests, of code by others, of generated files."""

MAX_BYTES: Final = 64 * 1024
MAX_KEYS: Final = 300
"""Characters of a file with keys, and keys of a file: the first ones are kept."""

MAX_DEPTH: Final = 3
"""Parts of a dotted key."""


class Node(Struct, frozen=True):
    """A key of a document of keys and values."""

    path: tuple[str, ...]
    """The keys around it, outermost first, and its own."""
    start: int
    """Index of the key."""
    value: int
    """Index after the mark that ends the key."""
    end: int
    """Index after its value."""
    document: int = 0
    """Number of the document within the file."""

    def text(self, source: str) -> str:
        """Returns its value on the same line, without quotes and comments."""
        found = _VALUE.match(source, self.value)
        return "" if found is None else (found[1] or found[2] or found[3] or "").strip()


_VALUE: Final = lazy.pattern(r"[ \t]*+(?:\"([^\"\n]*+)|'([^'\n]*+)|((?:[^,}#\n]|(?<! )#){0,500}))")
_LOCK: Final = lazy.pattern(
    r"(?:^|/)(?:(?:package-lock|npm-shrinkwrap|composer\.lock|pnpm-lock|flake\.lock|go\.sum)(?:\.\w+)?|[^/]*[-_.]lock(?:\.\w+)?"
    r"|[^/]*\.(?:geojson|har|jsonl|ndjson|snap))$"
)


def has_keys(text: str, path: str) -> bool:
    """Whether a file is configuration whose keys are definitions."""
    return len(text) <= MAX_BYTES and _LOCK.search(path) is None and _OF_OTHERS.search(path) is None


def keys(nodes: Iterable[Node]) -> Iterator[Entry]:
    """Returns keys as definitions, which are nested as they are in the document."""
    return first(Entry(node.path[-1], "key", node.start, node.end, doc="") for node in nodes)


def key(name: str, start: int, end: int, scope: str = "", kind: SymbolKind = "key") -> Entry:
    """Returns a key; the parts of a dotted name before the last one qualify it."""
    quoted = _QUOTED_LAST.search(name)
    if quoted is None:
        above, _, last = name.strip("\"' ").rpartition(".")
    else:
        above, last = name[: quoted.start()].strip(), quoted[1] or quoted[2]
    return Entry(last, kind, start, end, ".".join(part for part in (scope, above) if part), doc="")


_QUOTED_LAST: Final = lazy.pattern(r"(?:^|\.)\s*+(?:\"([^\"\s](?:[^\"]*[^\"\s])?)\"|'([^'\s](?:[^']*[^'\s])?)')\s*+$")
"""A last part in quotes, whose dots separate nothing."""


def first(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yields as many entries as a file has keys at most."""
    for number, entry in enumerate(entries):
        if number >= MAX_KEYS:
            return
        yield entry


def tables(pattern: re.Pattern[str], text: str, *, is_dotted: bool = True) -> Iterator[Entry]:
    """Yields the tables and keys of a text: the group `table` names a table, which ends before the next, `key` a key in it."""
    matches = list(pattern.finditer(text))[: 4 * MAX_KEYS]
    begins = [match.start() for match in matches if match.lastgroup == "table"]
    table, number = "", 0
    for match in matches:
        start, stop = match.span(match.lastgroup or 0)
        if match.lastgroup == "table":
            number += 1
            table = text[start:stop].strip()
            end = begins[number] if number < len(begins) else len(text)
            yield key(table, start, end) if is_dotted else Entry(table, "key", start, end, doc="")
        elif table.count(".") + 2 <= MAX_DEPTH + 1:
            # Nested in its table, whose name qualifies it.
            yield key(text[start:stop], start, match.end())
