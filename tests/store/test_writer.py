"""What a writer leaves behind when it fails; the tests of the index jobs cover what it writes."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from codecompass.errors import IndexDamaged, PermissionDenied
from codecompass.scan.path_roles import GENERATED_RANK
from codecompass.store.epochs import require_compatible
from codecompass.store.index import inspect_index
from codecompass.store.layout import HomeLayout, ProjectLayout, replace_file
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


@pytest.mark.invariant(of="test_a_failing_system_call_leaves_the_old_state_or_the_new_one")
def test_an_epoch_that_current_names_stays_when_making_current_durable_fails(layout, monkeypatch):
    """CURRENT was replaced by then, so that readers need the new epoch."""
    before = require_compatible(layout).epoch
    sound = os.fsync

    def failing(descriptor: int) -> None:
        if require_compatible(layout).epoch != before and os.path.samestat(os.fstat(descriptor), layout.root.stat()):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sound(descriptor)

    def publish() -> None:
        with open_writer(layout, fresh=True) as writer:
            writer.write_text(FileText("a.txt", "indexed"))
            writer.publish(completeness="complete", ref="other", commit="", rules_fingerprint="")

    monkeypatch.setattr(os, "fsync", failing)
    with pytest.raises(PermissionDenied):
        publish()
    monkeypatch.undo()

    assert inspect_index(layout).meta.ref == "other"
    assert (layout.epochs / before).is_dir(), "a crash may bring back a CURRENT that names it"
    with open_writer(layout, fresh=False) as writer:
        assert writer.meta.ref == "other"
    assert not (layout.epochs / before).exists()


def test_a_file_of_which_the_disk_takes_a_part_at_a_time_is_written_whole(tmp_path, monkeypatch):
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, content: write(descriptor, content[:3]))

    replace_file(tmp_path / "CURRENT", b"0123456789")

    assert (tmp_path / "CURRENT").read_bytes() == b"0123456789"


def test_a_file_is_as_generated_as_its_latest_text_says(layout):
    def rank(*, is_generated: bool) -> int:
        with open_writer(layout, fresh=False) as writer:
            writer.write_text(FileText("a.py", "indexed", is_generated=is_generated, content_hash=b"1" if is_generated else b"2"))
            writer.publish(completeness="complete", ref="main", commit="", rules_fingerprint="")
        with closing(sqlite3.connect(layout.facts(require_compatible(layout).epoch))) as connection:
            return int(connection.execute("SELECT role_rank FROM files").fetchone()[0])

    assert [rank(is_generated=each) for each in (False, True, False)] == [0, GENERATED_RANK, 0]
