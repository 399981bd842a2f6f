"""Facts over a shared base: read, written and moved like facts without a base."""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from codecompass.store import facts as facts_module
from codecompass.store.databases import base_path
from codecompass.store.epochs import require_compatible
from codecompass.store.facts_record import digest_of
from codecompass.store.forks import ForkSource
from codecompass.store.known_content import KnownContent
from codecompass.store.layout import ProjectLayout
from codecompass.store.overlay import SHARED_TABLES, connect_to_facts
from codecompass.store.publication import write_guard
from codecompass.store.writer import IndexWriter
from codecompass.worker.messages import FileText
from tests.support.dump import dump, hits
from tests.support.workspace import LIMITS, TestWorkspace

FILES = {
    "app/__init__.py": "",
    "app/models.py": "from app.base import Base\n\n\nclass User(Base):\n    def name(self):\n        return helper()\n",
    "app/base.py": "class Base:\n    def save(self):\n        pass\n",
    "app/util.py": "import app.models\n\n\ndef helper():\n    return app.models.User\n",
    "main.py": "from app import util\nfrom app.late import thing\n\nutil.helper()\n",
    "web/index.js": "import { x } from './lib';\nexport function start() { return x(); }\n",
    "web/lib.js": "export function x() { return 1; }\n",
    "notes.md": "# Notes\n\nhelper and User\n",
}

WORDS = ("helper", "user", "base", "start", "thing", "notes", "late")

EDIT = {
    "app/models.py": "from app.base import Base\n\n\nclass Customer(Base):\n    pass\n",
    "app/late.py": "def thing():\n    return 1\n",
    "notes.md": None,
}
"""A definition changes, an unresolved import finds its target, a file is deleted."""


def epoch_of(layout: ProjectLayout) -> str:
    return require_compatible(layout).epoch


def edit(workspace: TestWorkspace, changes: dict[str, str | None]) -> None:
    for path, content in changes.items():
        if content is None:
            (workspace.root / path).unlink()
        else:
            workspace.write({path: content})


@contextmanager
def forked_writer(target: ProjectLayout, source: ProjectLayout) -> Iterator[IndexWriter]:
    with write_guard(target):
        writer = IndexWriter(target, fresh=True, source=ForkSource(source, epoch_of(source)))
        try:
            yield writer
        finally:
            writer.abandon()


def fork_to(target: TestWorkspace, source: TestWorkspace) -> None:
    with forked_writer(target.layout, source.layout) as writer:
        writer.publish(completeness="complete", ref="live", commit="", rules_fingerprint=LIMITS.fingerprint)


async def assert_as_fresh(workspace: TestWorkspace, tmp_path: Path, name: str) -> None:
    """Asserts that an index equals one built from nothing from the same tree."""
    fresh = TestWorkspace(workspace.root, tmp_path / f"fresh-{name}")
    await fresh.sync()

    found, expected = dump(workspace.index), dump(fresh.index)
    assert {table: rows for table, rows in found.items() if rows != expected[table]} == {}
    for word in WORDS:
        assert hits(workspace.index, word) == hits(fresh.index, word), word


@pytest.fixture
async def first(tmp_path: Path) -> TestWorkspace:
    workspace = TestWorkspace(tmp_path / "first", tmp_path / "home")
    workspace.write(FILES)
    await workspace.sync()
    return workspace


@pytest.fixture
async def second(tmp_path: Path, first: TestWorkspace) -> TestWorkspace:
    workspace = TestWorkspace(tmp_path / "second", tmp_path / "home")
    workspace.write(FILES)
    fork_to(workspace, first)
    return workspace


def has_base(workspace: TestWorkspace) -> bool:
    return base_path(workspace.layout.facts(epoch_of(workspace.layout))).exists()


async def test_a_fork_holds_what_its_source_holds_and_little_of_its_own(first, second):
    assert dump(second.index) == dump(first.index)
    for word in WORDS:
        assert hits(second.index, word) == hits(first.index, word)
    with closing(sqlite3.connect(second.layout.facts(epoch_of(second.layout)))) as connection:
        assert [connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in SHARED_TABLES] == [0] * len(
            SHARED_TABLES
        )


async def test_a_fork_that_is_updated_equals_a_fresh_index_and_leaves_its_source_as_it_was(first, second, tmp_path):
    before = dump(first.index)

    edit(second, EDIT)
    await second.sync()

    assert has_base(second)
    await assert_as_fresh(second, tmp_path, "edited")
    assert dump(first.index) == before

    edit(second, {"app/models.py": FILES["app/models.py"], "app/late.py": None, "notes.md": FILES["notes.md"]})
    await second.sync()

    await assert_as_fresh(second, tmp_path, "reverted")


@pytest.mark.invariant(of="test_a_file_with_other_links_is_never_written")
async def test_a_source_that_is_updated_leaves_its_forks_as_they_were(first, second, tmp_path):
    base = base_path(second.layout.facts(epoch_of(second.layout)))
    before, content = dump(second.index), digest_of(base)

    for number in range(3):
        edit(
            first, {**EDIT, "app/more.py": f"def more_{number}():\n    pass\n"} if number == 0 else {"main.py": f"x = {number}\n"}
        )
        await first.sync()

    assert has_base(first), "a writer that finds its facts shared goes on in a fork of them"
    await assert_as_fresh(first, tmp_path, "source")
    assert dump(second.index) == before
    assert digest_of(base) == content


async def test_forks_of_forks_share_one_base(first, second, tmp_path):
    edit(second, EDIT)
    await second.sync()
    third = TestWorkspace(tmp_path / "third", tmp_path / "home")
    third.write({**{path: text for path, text in FILES.items() if path not in EDIT}})
    third.write({path: text for path, text in EDIT.items() if text is not None})

    fork_to(third, second)
    edit(third, {"web/lib.js": "export function y() { return 2; }\n"})
    await third.sync()

    await assert_as_fresh(third, tmp_path, "third")
    bases = [base_path(each.layout.facts(epoch_of(each.layout))).stat().st_ino for each in (second, third)]
    assert bases == [first.layout.facts(epoch_of(first.layout)).stat().st_ino] * 2


async def test_an_update_without_changes_publishes_nothing_although_the_facts_are_shared(first, second):
    with first.index.snapshot() as snapshot:
        before = snapshot.generation

    report = await first.sync()

    assert report.generation == before
    assert len(list(first.layout.epochs.iterdir())) == 1
    assert dump(first.index) == dump(second.index)


async def test_an_overgrown_overlay_is_merged_with_its_base(first, second, tmp_path, monkeypatch):
    monkeypatch.setattr("codecompass.store.forks.OVERGROWN_LEAST_BYTES", 0)
    for name in ("OVERGROWN_SHARE", "OUTGROWN_SHARE"):
        monkeypatch.setattr(f"codecompass.store.forks.{name}", 0.0)

    edit(second, EDIT)
    await second.sync()

    assert not has_base(second)
    await assert_as_fresh(second, tmp_path, "merged")


async def test_every_symbol_is_found_by_its_id_in_a_fork(first, second):
    from codecompass.identity import id_prefix, symbol_id

    with second.index.snapshot() as snapshot:
        for _, path in snapshot.facts.paths():
            row = snapshot.facts.file(path)
            for symbol in snapshot.facts.symbols_in_file(row.id):
                handle = symbol_id(second.project_id, path, symbol.kind, symbol.line_start, symbol.name, symbol.ordinal)
                other = symbol_id(first.project_id, path, symbol.kind, symbol.line_start, symbol.name, symbol.ordinal)
                assert symbol in snapshot.facts.symbols_with_id_prefix(id_prefix(handle))
                assert handle != other


class RecordingConnection:
    """Records every statement that a reader or the edges execute."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.statements: dict[str, tuple] = {}

    def execute(self, statement: str, arguments: tuple = ()) -> sqlite3.Cursor:
        self.statements[statement] = tuple(arguments)
        return self._connection.execute(statement, arguments)


READS_ALL = ("GROUP BY kind", "s.kind IN (?)", "i.name = ? OR i.alias", "SELECT 1 FROM imports LIMIT 1", "language IN")
"""Parts of statements that need to read a whole table."""


@pytest.mark.invariant("Statements on shared rows use the indexes of both parts")
async def test_every_statement_on_shared_rows_uses_their_indexes(first, second):
    """SQLite reads a view completely if it cannot flatten it into the statement; the results do not show that."""
    edit(second, EDIT)
    await second.sync()
    with closing(connect_to_facts(second.layout.facts(epoch_of(second.layout))).connection) as connection:
        recording = RecordingConnection(connection)
        ask_everything(facts_module.FactsReader(recording))  # type: ignore[arg-type]
        resolve_everything(recording)
        asked = [each for each in recording.statements if any(re.search(rf"\b{table}\b", each) for table in SHARED_TABLES)]
        assert len(asked) >= 20

        scans = {}
        for statement in asked:
            if any(part in statement for part in READS_ALL):
                continue
            plan = connection.execute(f"EXPLAIN QUERY PLAN {statement}", recording.statements[statement]).fetchall()
            bad = [row[3] for row in plan if is_scan(row[3])]
            if bad:
                scans[statement] = bad

    assert scans == {}


def is_scan(step: str) -> bool:
    if "COVERING INDEX symbols_file" in step:
        return False  # lookup by symbol_id
    return step.startswith("SCAN") and any(re.search(rf"(main|base)\.{table}\b|SCAN [a-z]$", step) for table in SHARED_TABLES)


def ask_everything(facts: "facts_module.FactsReader") -> None:
    file_id = facts.file("app/models.py").id
    symbols = facts.symbols_in_file(file_id)
    facts.spans_in_files([file_id, 1], ("fn", "class"))
    facts.symbols_named("User", 10)
    facts.unbound_named("User", 10)
    facts.symbols_named_in("User", "app")
    facts.titled(["x"], {"test"}, 10)
    facts.symbols_by_id([symbol.id for symbol in symbols])
    facts.symbols_with_id_prefix(7)
    facts.children(symbols[0].id)
    facts.symbols_around(file_id, 1, 5)
    facts.top_level_symbols_under("app", 10)
    facts.top_level_symbols_in("app", 10)
    list(facts.uses([file_id, 1], "helper"))
    facts.all_uses(file_id)
    facts.imports_of(file_id)
    facts.imports_named("models", 10)
    facts.symbol_counts()
    for language in ("python", "go", "swift"):
        facts.importer_counts({"a/b/c": language}, 10)


def resolve_everything(connection: RecordingConnection) -> None:
    from codecompass.store.import_edges import ImportEdges, _StoredPaths
    from codecompass.store.overlay import SharedRows

    edges = ImportEdges(connection, SharedRows(connection))  # type: ignore[arg-type]
    edges._collect("(i.tail = ? AND i.tail != '') OR (i.other_tail = ? AND i.other_tail != '')", ("models", "models"), {})
    _StoredPaths(connection).files_with_tail("models")  # type: ignore[arg-type]


@pytest.mark.invariant("Facts with another link are never written, and no fork changes what another index reads")
async def test_a_file_with_other_links_is_never_written(first, second):
    original = first.layout.facts(epoch_of(first.layout))
    status = os.stat(original)
    assert status.st_nlink == 2

    edit(first, EDIT)
    await first.sync()

    shared = os.stat(base_path(second.layout.facts(epoch_of(second.layout))))
    assert (shared.st_ino, shared.st_mtime_ns, shared.st_size) == (status.st_ino, status.st_mtime_ns, status.st_size)


async def test_what_is_known_of_a_damaged_epoch_is_not_taken(first, tmp_path):
    epoch = epoch_of(first.layout)
    with first.index.snapshot() as snapshot:
        row = snapshot.facts.file("web/lib.js")
    text = FileText("web/lib.js", "indexed", language=row.language, content_hash=row.content_hash, blob_id=row.blob_id)
    wanted = {row.blob_id}

    contents = KnownContent([ForkSource(first.layout, epoch)], wanted)
    found = contents.symbols(text)
    contents.close()
    assert [symbol.name for symbol in found.symbols] == ["x"]

    facts = first.layout.facts(epoch)
    facts.write_bytes(facts.read_bytes().replace(b"export function x", b"export function y"))
    contents = KnownContent([ForkSource(first.layout, epoch)], wanted)
    assert not contents.has("web/lib.js", row.blob_id)
    assert contents.symbols(text) is None
    contents.close()
