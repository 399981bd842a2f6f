"""Reading a database in a directory without write access: each way to open it, and that it returns a consistent state."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from codecompass.store.databases import MAPPED_BYTES, connect, connect_for_reading, log_path
from tests.support.processes import run_python

READ = """
import sys
from pathlib import Path
from codecompass.store.databases import connect_for_reading
opened = connect_for_reading(Path(sys.argv[1]))
print(opened.connection.execute("SELECT x FROM t").fetchall(), opened.stamp is not None, opened.is_settled)
opened.connection.close()
"""


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A copy of a database with one row in the file and another in the log, without the log's index."""
    path = tmp_path / "made" / "x.db"
    path.parent.mkdir()
    with closing(connect(path, mode="rwc")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE t (x)")
        connection.execute("INSERT INTO t VALUES (1)")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("INSERT INTO t VALUES (2)")
        copy = tmp_path / "copied" / "x.db"
        copy.parent.mkdir()
        for source, target in ((path, copy), (log_path(path), log_path(copy))):
            shutil.copyfile(source, target)
    return copy


@pytest.mark.parametrize(("has_log", "rows"), [(True, [(1,), (2,)]), (False, [(1,)])])
def test_what_lies_where_nothing_can_be_written_is_read_whole(database, has_log, rows):
    if not has_log:
        log_path(database).unlink()
    database.parent.chmod(0o500)
    try:
        done = run_python(READ, str(database))
    finally:
        database.parent.chmod(0o700)

    assert done.stdout == f"{rows} True True\n", done.stderr


def test_a_reader_neither_changes_the_database_nor_takes_its_log_away(database):
    before = (database.read_bytes(), log_path(database).read_bytes())

    with closing(connect_for_reading(database).connection) as connection:
        assert connection.execute("SELECT x FROM t").fetchall() == [(1,), (2,)]

    assert (database.read_bytes(), log_path(database).read_bytes()) == before


def test_what_is_written_while_nothing_is_locked_is_noticed(database):
    log_path(database).unlink()
    with closing(connect(database, mode="ro", immutable=True)) as connection:
        opened = connect_for_reading(database)
        unlocked = type(opened)(connection, database, stamp=_stamp_in_database(database))
        opened.connection.close()
        assert unlocked.is_settled

        with closing(connect(database, mode="rw")) as writer:
            writer.execute("INSERT INTO t VALUES (3)")

        assert not unlocked.is_settled


def test_a_database_that_is_not_there_is_missing_and_not_made(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        connect_for_reading(tmp_path / "none.db")

    assert list(tmp_path.iterdir()) == []


def _stamp_in_database(path: Path):
    from codecompass.store.databases import _stamp_of

    return _stamp_of(path)


LIMITED = """
import resource, sys
from pathlib import Path
from codecompass.store.databases import connect
limit = 600 * 1024 * 1024
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
print(connect(Path(sys.argv[1]), mode="rw").execute("PRAGMA mmap_size").fetchone()[0] <= limit // 16)
"""


def test_a_database_leaves_a_limited_address_space_to_text_indexes(database):
    with closing(connect(database, mode="rw")) as unlimited:
        assert unlimited.execute("PRAGMA mmap_size").fetchone() == (MAPPED_BYTES,)

    assert run_python(LIMITED, str(database)).stdout == "True\n"
