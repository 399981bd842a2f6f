"""What a writer leaves behind when it fails; the tests of the index jobs cover what it writes."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from codecompass.errors import IndexDamaged
from codecompass.store.epochs import require_compatible
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.publication import write_guard
from codecompass.store.text_writer import TextWriter
from codecompass.store.writer import IndexWriter
from codecompass.worker.messages import FileText

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="there is no list of open files here")


@contextmanager
def open_writer(layout: ProjectLayout, *, fresh: bool) -> Iterator[IndexWriter]:
    with write_guard(layout):
        writer = IndexWriter(layout, fresh=fresh)
        try:
            yield writer
        finally:
            writer.abandon()


@pytest.fixture
def layout(tmp_path: Path) -> ProjectLayout:
    layout = HomeLayout(tmp_path).project("0123456789abcdef")
    with open_writer(layout, fresh=True) as writer:
        writer.publish(completeness="complete", ref="main", commit="", rules_fingerprint="")
    return layout


def open_tables(below: Path) -> list[str]:
    """Returns the SQLite files below a directory that this process has open."""
    found = []
    for descriptor in os.listdir("/proc/self/fd"):
        try:
            target = os.readlink(f"/proc/self/fd/{descriptor}")
        except FileNotFoundError:
            continue  # the descriptor of the listing itself
        if target.startswith(str(below)) and ".db" in Path(target).name:
            found.append(target)
    return found


def test_a_writer_that_cannot_begin_leaves_no_file_open(layout):
    with closing(sqlite3.connect(layout.facts(require_compatible(layout).epoch))) as connection:
        connection.execute("DELETE FROM meta")
        connection.commit()

    # The exception is still referenced, and its traceback keeps every local variable alive.
    with pytest.raises(IndexDamaged) as caught, open_writer(layout, fresh=False):
        pass

    assert open_tables(layout.root) == [], caught.value


def test_a_writer_whose_text_cannot_be_dropped_leaves_its_tables_closed(layout, monkeypatch):
    sound = TextWriter.abandon

    def broken(self: TextWriter) -> None:
        sound(self)
        raise ZeroDivisionError

    monkeypatch.setattr(TextWriter, "abandon", broken)

    with pytest.raises(ZeroDivisionError) as caught, open_writer(layout, fresh=True) as writer:
        writer.write_text(FileText("a.txt", "indexed"))

    assert open_tables(layout.root) == [], caught.value
