"""`read_file`: the text of a file from the index, bounded, and of indexed files only."""

import pytest

from codecompass import query
from codecompass.errors import FileNotFound
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import MAX_LINES_READ, ReadFile
from codecompass.query.options import MAX_RESULT_BYTES
from codecompass.query.outline import LINE_CHARACTERS, MAX_TEXT_CHARACTERS
from tests.support.workspace import TestWorkspace


@pytest.fixture
async def read(workspace: TestWorkspace):
    """Returns `read(files)`, which indexes the files and returns a function that reads one of them."""

    async def index(files):
        workspace.write(files)
        await workspace.sync()

        def ask(path, **arguments):
            with workspace.index.snapshot() as snapshot:
                state = AnswerState(workspace=str(workspace.root), project_id=workspace.project_id, ref="main")
                return query.read_file(snapshot, ReadFile(path=path, **arguments), state)

        return ask

    return index


async def test_lines_are_those_of_the_file_wherever_one_begins(read):
    lines = [f"value_{number} = {number}" for number in range(1, 1_001)]
    ask = await read({"a.py": "\n".join(lines) + "\n"})

    whole, middle, behind = ask("a.py", limit=2_000), ask("a.py", line_start=500, limit=3), ask("a.py", line_start=5_000)

    assert list(whole.lines) == lines
    assert (whole.line_start, whole.line_count, whole.metadata.result_completeness) == (1, 1_000, "complete")
    assert (middle.line_start, list(middle.lines)) == (500, lines[499:502])
    assert (middle.next_line, middle.metadata.result_completeness) == (503, "truncated")
    assert (behind.line_start, list(behind.lines)) == (1_000, lines[-1:])
    assert behind.metadata.warnings == ("line 5000 is behind the end; the last line is shown",)


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        ({"path": "a.py:120-122"}, 120, 122),
        ({"path": "a.py#L7-L9"}, 7, 9),
        ({"path": "a.py:998"}, 998, 998),
        ({"path": "a.py:120-110"}, 120, 120),
        ({"path": "a.py", "line_start": 5, "line_end": 6}, 5, 6),
        ({"path": "a.py", "line_end": 2}, 1, 2),
        ({"path": "a.py:7-9", "line_start": 990}, 990, 1_000),
        ({"path": "a.py:990-4000"}, 990, 1_000),
    ],
)
async def test_the_lines_asked_for_are_all_of_the_answer(read, asked, first, last):
    lines = [f"value_{number} = {number}" for number in range(1, 1_001)]
    ask = await read({"a.py": "\n".join(lines) + "\n"})

    found = ask(**asked)

    assert (found.line_start, list(found.lines)) == (first, lines[first - 1 : last])
    assert (found.next_line, found.metadata.result_completeness) == (0, "complete")


async def test_a_long_file_goes_on_where_its_answer_says(read):
    lines = [f"value_{number} = {number}" for number in range(1, 1_201)]
    ask = await read({"a.py": "\n".join(lines) + "\n"})
    found = [ask("a.py")]
    while found[-1].next_line:
        found.append(ask("a.py", line_start=found[-1].next_line))

    assert [line for part in found for line in part.lines] == lines
    assert [part.metadata.result_completeness for part in found] == ["truncated", "truncated", "complete"]


async def test_what_the_disk_says_meanwhile_is_not_what_was_indexed(read, workspace):
    ask = await read({"a.py": "before = 1\n"})
    workspace.write({"a.py": "after = 2\n"})

    assert ask("a.py").lines == ("before = 1",)


@pytest.mark.parametrize("path", ["../outside.txt", "/etc/passwd", "missing.py", ".env", "logo.png", "", "a.py/b"])
async def test_what_is_not_indexed_is_not_read(read, tmp_path, path):
    (tmp_path / "outside.txt").write_text("4711")
    ask = await read({"a.py": "a = 1\n", ".env": "TOKEN=4711\n", "logo.png": b"\0\0"})

    with pytest.raises(FileNotFound) as refused:
        ask(path)

    assert "4711" not in refused.value.message


async def test_a_file_without_lines_is_no_error(read):
    ask = await read({"empty.py": ""})

    assert (ask("empty.py").lines, ask("empty.py").line_count) == ((), 0)


async def test_an_answer_is_bounded_in_lines_and_characters(read):
    ask = await read(
        {
            "many.txt": "a line\n" * (MAX_LINES_READ + 10),
            "large.txt": ("word " * 60 + "\n") * 3_400,
            "wide.txt": "x " * 7_000 + "\n" + "short\n" * 200,
        }
    )

    assert len(ask("many.txt", limit=MAX_LINES_READ).lines) == MAX_LINES_READ
    assert ask("many.txt", limit=MAX_LINES_READ).metadata.result_completeness == "truncated"
    assert sum(map(len, ask("large.txt", limit=MAX_LINES_READ).lines)) <= MAX_TEXT_CHARACTERS
    assert sum(map(len, ask("large.txt").lines)) <= MAX_RESULT_BYTES
    assert [len(line) for line in ask("wide.txt").lines[:2]] == [LINE_CHARACTERS, len("short")]
