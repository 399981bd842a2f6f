"""What an index says of itself, for those who only want to know how it stands: the text index is not opened.

A look costs a few file states where nothing has changed since the last one.
"""

import sqlite3
from pathlib import Path

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.epochs import Compatibility, compatibility
from codecompass.store.facts import FactsReader
from codecompass.store.index import IndexMeta, connect_to_facts, read_meta
from codecompass.store.layout import ProjectLayout


class Peek(Struct, frozen=True):
    """How an index stood when it was looked at. `meta` is None without a readable one; `marks` tell looks apart."""

    found: Compatibility
    meta: IndexMeta | None
    marks: tuple[int, ...]


def peek(layout: ProjectLayout, before: Peek | None = None) -> Peek:
    """Returns how the index in `layout` stands; `before` itself where its files are as they were. Never raises."""
    if before is not None and before.marks == _marks(layout, before.found):
        return before
    found = compatibility(layout)
    # The marks are taken before the rest is read: what changes meanwhile is looked at again next time.
    marks = _marks(layout, found)
    return Peek(found, _meta(layout, found), marks)


def _marks(layout: ProjectLayout, found: Compatibility) -> tuple[int, ...]:
    paths = [layout.current]
    if found.current is not None:
        facts = layout.facts(found.current.epoch)
        paths += [facts, facts.with_name(facts.name + "-wal")]
    return tuple(_modified_ns(path) for path in paths)


def _modified_ns(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:
        return 0
    # An empty log is made by whoever reads, and says as much as none.
    return status.st_mtime_ns if status.st_size else 0


def _meta(layout: ProjectLayout, found: Compatibility) -> IndexMeta | None:
    if found.status != "compatible" or found.current is None:
        return None
    try:
        connection = connect_to_facts(layout.facts(found.current.epoch)).connection
    except (sqlite3.Error, CodeCompassError):
        return None
    try:
        return read_meta(FactsReader(connection))
    except (sqlite3.Error, CodeCompassError):
        return None
    finally:
        connection.close()
