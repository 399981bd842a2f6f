"""Rows that are made from git: the functions that a commit changed and that are still there."""

from bench.quality.commit_rows import commits_of
from bench.quality.commits import Commit, Function

BEFORE = "def load(path):\n    return path\n\n\ndef save(path):\n    return path\n"
AFTER = "def load(path):\n    return open(path)\n\n\ndef save(path):\n    return path\n"


def committed(repository, subject: str, **contents: str) -> None:
    repository.write({f"app/{name}.py": text for name, text in contents.items()})
    repository.git("add", "-A")
    repository.git("commit", "--quiet", "-m", subject)


def rows(repository, among: int = 10, wanted: int = 10) -> list[Commit]:
    return commits_of("app", "python", repository.root, among, wanted)


def test_a_row_is_the_function_that_a_commit_changed_where_it_is_now(repository):
    committed(repository, "Begin with two functions", files=BEFORE)
    committed(repository, "Open files before they are read (#12)", files=AFTER)
    committed(repository, "Say what the module holds", files=f'"""Files."""\n\n{AFTER}')

    (row,) = rows(repository)

    assert (row.query, row.category) == ("Open files before they are read", "described")
    assert row.relevant == (Function(path="app/files.py", line_start=3, line_end=4, name="load"),)


def test_a_function_that_is_gone_makes_no_row(repository):
    committed(repository, "Begin with two functions", files=BEFORE)
    committed(repository, "Open files before they are read", files=AFTER)
    committed(repository, "Forget how to load things", files=AFTER.partition("def save")[2].join(("def save", "")))

    assert [row.query for row in rows(repository)] == []


def test_a_subject_with_the_name_of_a_function_is_named(repository):
    committed(repository, "Begin with two functions", files=BEFORE)
    committed(repository, "Let load open its file", files=AFTER)

    assert [row.category for row in rows(repository)] == ["named"]


def test_releases_and_changes_of_many_files_make_no_rows(repository):
    committed(repository, "Begin with two functions", a=BEFORE, b=BEFORE, c=BEFORE, d=BEFORE)
    committed(repository, "Release of the next version", a=AFTER)
    committed(repository, "Open files before they are read", a=BEFORE, b=AFTER, c=AFTER, d=AFTER)

    assert rows(repository) == []


def test_rows_are_thinned_out_evenly(repository):
    committed(repository, "Begin with one function", files="def load(path):\n    return 0\n")
    for number in range(1, 7):
        committed(repository, f"Return number {number} to callers", files=f"def load(path):\n    return {number}\n")

    assert [row.id for row in rows(repository, among=6, wanted=3)] == ["app-000", "app-002", "app-004"]
    assert len(rows(repository, among=2)) == 2
