"""The manifest read in parts equals the manifest read whole, before and after changes."""

import sqlite3
import threading
from contextlib import closing

import msgspec
import pytest

from codecompass.errors import Cancelled, IndexDamaged
from codecompass.store.manifest import ManifestEntry, StoredManifest
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES

PATHS = ["a.py", "a/b.py", "a/b/c.py", "a/b/d.py", "a/b-c.py", "a/bc/e.py", "a0", "é/\U0001f389.py", "z/y/x/w.py"]


@pytest.fixture
def connection():
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.executescript(FACTS_TABLES)
    for statement in MANIFEST_INDEXES:
        connection.execute(statement)
    for number, path in enumerate(PATHS, start=1):
        row = (number, path, "indexed", "", "python", number, 1, 2, 3, b"hash", b"", 10, 1, 0, 1, "", 0, 0)
        connection.execute(f"INSERT INTO files VALUES ({', '.join('?' * len(row))})", row)
    yield connection
    connection.close()


@pytest.fixture
def no_tables():
    with closing(sqlite3.connect(":memory:")) as connection:
        yield connection


def test_one_entry_is_the_same_alone_and_among_all(connection):
    alone, among_all = StoredManifest(connection), StoredManifest(connection).whole()

    assert {path: alone[path] for path in PATHS} == among_all
    assert alone.get("a/b") is None
    assert "a/b" not in alone


def test_a_level_is_what_lies_directly_in_a_directory(connection):
    manifest = StoredManifest(connection)

    for directory in ["", "a", "a/b", "a/bc", "z", "z/y", "é", "missing", "a.py"]:
        prefix = directory + "/" if directory else ""
        inside = [path[len(prefix) :] for path in PATHS if path.startswith(prefix)]
        assert manifest.paths_in(directory) == sorted(prefix + name for name in inside if "/" not in name)
        assert manifest.subdirectories(directory) == {name.partition("/")[0] for name in inside if "/" in name}
        assert manifest.paths_below(directory) == sorted(prefix + name for name in inside)


@pytest.mark.parametrize("is_whole", [False, True])
def test_changes_are_seen_by_whoever_asks_afterwards(connection, is_whole):
    manifest = StoredManifest(connection)
    if is_whole:
        manifest.whole()
    changed: ManifestEntry = msgspec.structs.replace(manifest["a.py"], size=99)

    connection.execute("UPDATE files SET size = 99 WHERE path = 'a.py'")
    manifest["a.py"] = changed
    removed = manifest.pop("a0")
    connection.execute("DELETE FROM files WHERE path = 'a0'")

    assert removed is not None
    assert (manifest["a.py"].size, manifest.get("a0"), manifest.pop("a0")) == (99, None, None)
    assert sorted(manifest) == sorted(set(PATHS) - {"a0"})
    assert manifest["a.py"] == changed
    assert len(manifest) == len(PATHS) - 1


def test_an_empty_manifest_asks_no_table(no_tables):
    manifest = StoredManifest(no_tables, is_empty=True)

    assert (manifest.get("a.py"), list(manifest)) == (None, [])


def test_a_table_that_cannot_be_read_is_damage(no_tables):
    manifest = StoredManifest(no_tables)

    for ask in (manifest.whole, lambda: manifest.get("a"), lambda: manifest.paths_in(""), lambda: manifest.paths_below("")):
        with pytest.raises(IndexDamaged):
            ask()


def test_a_manifest_that_is_closed_waits_for_a_thread_that_reads_and_is_read_no_more():
    order: list[str] = []

    with closing(sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)) as connection:
        connection.executescript(FACTS_TABLES)
        manifest = StoredManifest(connection)
        closer = threading.Thread(target=lambda: (manifest.close(), order.append("closed")))

        def read(_statement: str) -> None:
            # In the middle of the read of another thread.
            connection.set_trace_callback(None)
            closer.start()
            closer.join(timeout=0.1)
            order.append("read")

        connection.set_trace_callback(read)
        reader = threading.Thread(target=lambda: manifest.subdirectories(""))
        reader.start()
        reader.join()
        closer.join()

        assert order == ["read", "closed"]
        for question in (manifest.subdirectories, manifest.paths_in, manifest.paths_below, manifest.get):
            with pytest.raises(Cancelled):
                question("")
