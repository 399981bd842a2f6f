"""The map from watches to directories stays correct and small, whatever the kernel does."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

if sys.platform == "linux":
    from inotify_simple import flags

    from codecompass.actors.watching.table import WatchTable


@pytest.fixture
def table(tmp_path: Path) -> Iterator["WatchTable"]:
    table = WatchTable(str(tmp_path))
    yield table
    table.close()


def test_events_carry_a_watch_that_leads_to_the_directory(table, tmp_path):
    (tmp_path / "src").mkdir()
    table.add("src")
    table.add("src")

    (tmp_path / "src/a.py").touch()

    assert {table.keys(event.wd) for event in table.read()} == {("src",)}
    assert table.read() == []


def test_a_directory_under_two_keys_loses_its_watch_with_the_last(table, tmp_path):
    (tmp_path / "src").mkdir()
    table.add("src")
    table.add(str(tmp_path / "src"))

    table.remove("src")
    (tmp_path / "src/a.py").touch()
    assert {table.keys(event.wd) for event in table.read()} == {(str(tmp_path / "src"),)}

    table.remove(str(tmp_path / "src"))
    assert len(table) == 0
    table.read()
    (tmp_path / "src/b.py").touch()
    assert table.read() == []


def test_a_key_follows_the_directory_that_is_there_now(table, tmp_path):
    (tmp_path / "src").mkdir()
    table.add("src")
    (tmp_path / "src").rename(tmp_path / "old")
    (tmp_path / "src").mkdir()

    table.add("src")
    table.read()
    (tmp_path / "old/a.py").touch()
    assert table.read() == []
    (tmp_path / "src/a.py").touch()
    assert {table.keys(event.wd) for event in table.read()} == {("src",)}


def test_a_watch_that_the_kernel_ended_can_be_forgotten(table, tmp_path):
    (tmp_path / "src").mkdir()
    table.add("src")
    (tmp_path / "src").rmdir()
    ended = [event.wd for event in table.read() if event.mask & flags.IGNORED]

    for watch in ended:
        table.forget(watch)

    assert len(ended) == 1
    assert "src" not in table
    assert table.all_keys() == frozenset()
    table.remove("src")


def test_what_is_no_directory_is_refused(table, tmp_path):
    (tmp_path / "a.py").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    for key in ["a.py", "link", "missing"]:
        with pytest.raises(OSError):
            table.add(key)
    assert len(table) == 0


def test_reading_a_directory_and_its_files_makes_no_event(table, tmp_path):
    (tmp_path / "a.py").write_text("x")
    table.add("")

    os.listdir(tmp_path)
    (tmp_path / "a.py").read_bytes()
    os.lstat(tmp_path / "a.py")

    assert table.read() == []


def test_closing_twice_is_closing(table):
    table.close()
    table.close()
