"""Moves SQLite's log into the facts of an epoch, between two writes of facts.sum.

SQLite would do it automatically when the last writable connection is closed, and the recorded checksum would then be wrong. The
caller holds the writer lock.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Final

from codecompass.errors import CodeCompassError
from codecompass.store.databases import BUSY_TIMEOUT_SECONDS, connect, log_size
from codecompass.store.facts_record import is_recorded, record_facts
from codecompass.store.index import connect_to_facts
from codecompass.store.layout import ProjectLayout

SETTLE_PATIENCE_MS: Final = 200
"""How long to wait for readers that still read an earlier generation from the log."""


def settle(connection: sqlite3.Connection, layout: ProjectLayout, epoch: str, *, least_bytes: int = 1) -> None:
    """Moves the log into the facts if it has `least_bytes`, and records their new checksum. Never raises: the log can stay.

    If readers still need a part of the log, its checksum is recorded too. A crash leaves a record that says that the facts are
    changing; the next writer continues from there.
    """
    facts = layout.facts(epoch)
    try:
        is_settled = log_size(facts) < least_bytes
        if is_settled and (least_bytes > 1 or is_recorded(layout, epoch)):
            return
        record_facts(layout, epoch, is_changing=True)
        connection.execute(f"PRAGMA busy_timeout = {SETTLE_PATIENCE_MS}")
        ((_, n_frames, n_moved),) = connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        record_facts(layout, epoch, needs_log=n_moved < n_frames)
    except (OSError, sqlite3.Error):
        pass
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}")


@contextmanager
def closing_unmoved(connection: sqlite3.Connection, layout: ProjectLayout, epoch: str) -> Iterator[None]:
    """Closes the connection at the end so that SQLite does not move the log into the facts.

    An open reading connection prevents that.
    """
    with closing(connection), ExitStack() as stack:
        yield
        if log_size(layout.facts(epoch)):
            with suppress(sqlite3.Error, CodeCompassError):
                reader = connect_to_facts(layout.facts(epoch)).connection
                stack.enter_context(closing(reader))
                connection.close()


def settle_unwritten(layout: ProjectLayout, epoch: str) -> bool:
    """Moves a log that an earlier writer could not move. Returns whether the facts now have no log and a valid record.

    Raises sqlite3.Error or OSError.
    """
    if log_size(layout.facts(epoch)) or not is_recorded(layout, epoch):
        connection = connect(layout.facts(epoch), mode="rw")
        with closing_unmoved(connection, layout, epoch):
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            settle(connection, layout, epoch)
    return not log_size(layout.facts(epoch)) and is_recorded(layout, epoch)
