"""Rows that the questions about one generation share: which are kept, and that no other generation gets them."""

from pathlib import Path

from codecompass.store.kept_rows import RecentRows
from tests.support.workspace import TestWorkspace

KINDS = frozenset({"fn", "class"})


def test_what_was_used_longest_ago_is_dropped_first():
    rows = RecentRows[str, int](3)
    for number, key in enumerate("abc"):
        rows.put(key, number)

    rows.used("a")
    rows.put("d", 3)

    assert [rows.get(key) for key in "abcd"] == [0, None, 2, 3]


def test_rows_count_by_their_weight():
    rows = RecentRows[str, int](10)
    rows.put("a", 1, 4)
    rows.put("b", 2, 4)
    rows.put("b", 3, 5)
    assert [rows.get(key) for key in "ab"] == [1, 3]

    rows.put("c", 4, 6)
    assert [rows.get(key) for key in "abc"] == [None, None, 4]

    rows.put("d", 5, 11)
    assert [rows.get(key) for key in "cd"] == [4, None]


async def test_rows_are_read_once_for_all_questions_about_a_generation(tmp_path: Path):
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home")
    workspace.write({"lib.py": "def retry_delay():\n    return 1\n"})
    await workspace.sync()
    index = workspace.index

    with index.snapshot() as first:
        lib = first.facts.file("lib.py").id
        read = first.facts.spans_in_files([lib], KINDS)[lib]
        file = first.facts.indexed_files([lib])[lib]
    with index.snapshot() as second:
        assert second.facts.spans_in_files([lib], KINDS)[lib] is read
        assert second.facts.indexed_files([lib])[lib] is file


async def test_an_edit_is_seen_by_the_next_question(tmp_path: Path):
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home")
    workspace.write({"lib.py": "def retry_delay():\n    return 1\n", "use.py": "import lib\n"})
    await workspace.sync()
    index = workspace.index
    with index.snapshot() as before:
        facts = before.facts
        lib = facts.file("lib.py").id
        assert [span.name for span in facts.spans_in_files([lib], KINDS)[lib]] == ["retry_delay"]
        assert facts.indexed_files([lib])[lib].line_count == 2
        assert facts.importer_counts({"lib.py": "python"}, 10) == {"lib.py": 1}

    workspace.write({"lib.py": "\n\ndef longest_wait():\n    return 1\n", "use.py": "import os\n"})
    await workspace.sync()

    with index.snapshot() as after:
        facts = after.facts
        lib = facts.file("lib.py").id
        assert [(span.name, span.line_start) for span in facts.spans_in_files([lib], KINDS)[lib]] == [("longest_wait", 3)]
        assert facts.indexed_files([lib])[lib].line_count == 4
        assert facts.importer_counts({"lib.py": "python"}, 10) == {"lib.py": 0}
