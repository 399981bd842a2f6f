"""The kept history of changes: what was kept is read, and a file that is missing or damaged says nothing."""

import msgspec
import pytest

from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory
from codecompass.store.change_history import VERSION, keep_history, kept_history
from codecompass.store.layout import ProjectLayout

HISTORY = ChangeHistory("c" * 40, ("a.py", "tests/test_a.py"), ((0, 1), (), (1,)))


@pytest.fixture
def layout(tmp_path) -> ProjectLayout:
    (tmp_path / "project" / "refs" / ("d" * 40)).mkdir(parents=True)
    return ProjectLayout(tmp_path / "project")


def test_what_was_kept_is_read(layout):
    keep_history(layout, HISTORY)

    assert kept_history(layout) == HISTORY


def test_the_index_of_a_commit_has_the_history_of_its_project(layout):
    keep_history(layout, HISTORY)

    assert kept_history(layout.commit("d" * 40)) == HISTORY


def test_nothing_is_known_before_it_was_kept(layout):
    assert kept_history(layout) is NO_HISTORY


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\x00 not a history",
        msgspec.msgpack.encode([VERSION + 1, HISTORY]),
        msgspec.msgpack.encode([VERSION, ChangeHistory("c" * 40, ("a.py",), ((1,),))]),
        msgspec.msgpack.encode([VERSION, HISTORY])[:-3],
    ],
)
def test_a_file_that_is_damaged_or_of_another_version_says_nothing(layout, content):
    layout.changes.write_bytes(content)

    assert kept_history(layout) is NO_HISTORY
