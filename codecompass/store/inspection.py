"""Reads the description of an index without opening its text index.

Costs a few stat() calls if nothing has changed since the last inspection.
"""

import sqlite3
from pathlib import Path

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.epochs import Compatibility, compatibility
from codecompass.store.facts import FactsReader
from codecompass.store.index import connect_to_facts, read_meta
from codecompass.store.layout import ProjectLayout
from codecompass.store.snapshot import IndexMeta


class IndexInspection(Struct, frozen=True):
    """The result of an inspection."""

    found: Compatibility
    meta: IndexMeta | None
    """None if there is no readable index."""
    marks: tuple[int, ...]
    """Modification times of its files, in nanoseconds: equal marks mean that nothing has changed."""


def inspect_index(layout: ProjectLayout, before: IndexInspection | None = None) -> IndexInspection:
    """Returns the state of the index in `layout`; `before` if its files are unchanged since. Never raises."""
    if before is not None and before.marks == _marks(layout, before.found):
        return before
    found = compatibility(layout)
    # The marks are read before the description, so that the next inspection finds a change that happens in between.
    marks = _marks(layout, found)
    return IndexInspection(found, _meta(layout, found), marks)


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
    # Readers create an empty log, which is the same as none.
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
