"""Counts of uses for the definitions of a part of a file: those of `find_references`, bounded in number, files and time."""

import pytest

from codecompass import query
from codecompass.errors import FileNotFound
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import CountUses, FindReferences
from codecompass.query.options import no_deadline
from codecompass.query.use_counts import MAX_DEFINITIONS, MAX_FILES
from tests.query.test_references import PYTHON
from tests.support.workspace import TestWorkspace

JAVA = {
    "src/Box.java": (
        "class Box {\n"
        "    int size;\n"
        "    Box(int size) { this.size = size; }\n"
        "    void put(int one) { put(one, 2); }\n"
        "    void put(int one, int two) { size = one; }\n"
        "}\n"
    ),
    "src/Main.java": "class Main {\n    void run(Box box) {\n        new Box(1).put(1);\n        box.put(1, 2);\n    }\n}\n",
}


@pytest.fixture
async def counted(workspace: TestWorkspace):
    """Returns `counted(files)`, which indexes the files and returns functions that count uses and that find them."""

    async def index(files):
        workspace.write(files)
        await workspace.sync()
        state = AnswerState(workspace=str(workspace.root), project_id=workspace.project_id, ref="main")

        def count(path, is_expired=no_deadline, **arguments):
            with workspace.index.snapshot() as snapshot:
                return query.count_uses(snapshot, CountUses(path=path, **arguments), state, is_expired)

        def references(path, line):
            with workspace.index.snapshot() as snapshot:
                return query.find_references(snapshot, FindReferences(symbol_name=f"{path}:{line}"), state)

        return count, references

    return index


@pytest.mark.parametrize("files", [PYTHON, JAVA], ids=["python", "java"])
async def test_each_count_is_that_of_the_references_of_the_definition(counted, files):
    count, references = await counted(files)

    counts = {(path, each.line): each for path in files for each in count(path).counts}

    assert len(counts) >= 4
    for (path, line), each in counts.items():
        found = references(path, line)
        assert (each.state, each.uses, each.possible) == ("counted", found.total, found.counts.possible)
        assert each.name == found.definition.name
    assert any(each.uses > 1 for each in counts.values())


async def test_only_definitions_that_begin_in_the_lines_are_counted_by_line(counted):
    count, _ = await counted(PYTHON)

    found = count("app/store.py", line_start=2, line_end=8)

    assert [(each.line, each.name) for each in found.counts] == [(2, "save"), (5, "check"), (7, "Disk"), (8, "save")]
    assert (found.file_path, found.n_left_out, found.metadata.result_completeness) == ("app/store.py", 0, "complete")


async def test_what_the_time_does_not_suffice_for_is_said(counted):
    count, _ = await counted({"a.py": "def one(): ...\n\ndef two(): ...\n", "b.py": "from a import one, two\none()\ntwo()\n"})
    answers = iter([False, False, True, True, True])

    found = count("a.py", is_expired=lambda: next(answers))

    assert [(each.name, each.state, each.uses) for each in found.counts] == [("one", "counted", 2), ("two", "no_time", 0)]
    assert found.metadata.result_completeness == "partial"


async def test_a_count_that_the_time_cuts_is_a_lower_bound(counted):
    users = {f"user{number:03}.py": "from a import one\none()\n" for number in range(60)}
    count, _ = await counted({"a.py": "def one(): ...\n", **users})
    answers = iter([False, False, False, *[True] * 99])

    [found] = count("a.py", is_expired=lambda: next(answers)).counts

    assert found.state == "at_least"
    assert 0 < found.uses < 120


async def test_a_name_of_very_many_files_and_more_definitions_than_fit_are_not_counted(counted):
    common = {f"m{number}.py": "def common(): ...\n" for number in range(MAX_FILES + 1)}
    many = "".join(f"def f{number}(): ...\n" for number in range(MAX_DEFINITIONS + 7))
    count, _ = await counted({**common, "many.py": many})

    assert [each.state for each in count("m0.py").counts] == ["too_common"]
    found = count("many.py")
    assert (len(found.counts), found.n_left_out) == (MAX_DEFINITIONS, 7)


async def test_a_file_without_known_uses_has_no_counts_and_one_that_is_not_indexed_is_refused(counted):
    count, _ = await counted({"README.md": "# Title\n", "a.py": "x = 1\n"})

    assert count("README.md").counts == ()
    with pytest.raises(FileNotFound):
        count("../outside.py")
