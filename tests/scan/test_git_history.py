"""Blame and history of lines, by git, on real repositories."""

import os
import subprocess

import pytest

from codecompass.scan.git_history import MAX_BLAMED_LINES, MAX_COMMITS, blame, history
from codecompass.scan.git_repository import GitError, find_repository
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.invariant(
    "Blame and history start no program that a repository names, and are bounded in time, lines and commits"
)


@pytest.fixture
def workspace(tmp_path):
    found = TestWorkspace(tmp_path / "shop", tmp_path / "unused", git=True)
    found.write({"old.py": "one = 1\ntwo = 2\nthree = 3\n"})
    found.commit("begin")
    found.write({"old.py": "one = 1\ntwo = 22\nthree = 3\n"})
    found.commit("change two\n\nwith a body")
    found.git("mv", "old.py", "new.py")
    found.commit("rename")
    return found


def repository_of(workspace):
    return find_repository(str(workspace.root))


def test_each_line_has_the_commit_that_wrote_it(workspace):
    lines = blame(repository_of(workspace), "new.py", 1, 3)

    assert [(each.number, each.text, each.commit.subject, each.commit.author) for each in lines] == [
        (1, "one = 1", "begin", "t"),
        (2, "two = 22", "change two", "t"),
        (3, "three = 3", "begin", "t"),
    ]
    assert all(each.commit.at > 1_600_000_000 for each in lines)
    assert [each.number for each in blame(repository_of(workspace), "new.py", 2, 2)] == [2]


def test_the_history_of_a_file_goes_beyond_its_renaming_and_that_of_lines_has_only_what_changed_them(workspace):
    repository = repository_of(workspace)

    assert [each.subject for each in history(repository, "new.py").commits] == ["rename", "change two", "begin"]
    assert [each.subject for each in history(repository, "new.py", (2, 2)).commits] == ["change two", "begin"]
    assert [each.subject for each in history(repository, "new.py", (3, 3)).commits] == ["begin"]
    assert not history(repository, "new.py").is_partial


def test_another_commit_can_be_named_by_its_id_alone(workspace):
    repository = repository_of(workspace)
    first = workspace.git("rev-list", "--max-parents=0", "HEAD").strip()

    assert [each.text for each in blame(repository, "old.py", 2, 2, revision=first)] == ["two = 2"]
    for name in ("--output=x", "main", "HEAD:x", ""):
        with pytest.raises(GitError):
            history(repository, "old.py", revision=name)


@pytest.mark.parametrize(("path", "lines"), [("missing.py", (1, 2)), ("new.py", (50, 60)), ("--help", (1, 1)), ("../x", (1, 1))])
def test_a_file_or_lines_that_the_commit_does_not_have_are_errors(workspace, path, lines):
    repository = repository_of(workspace)

    with pytest.raises(GitError):
        blame(repository, path, *lines)
    with pytest.raises(GitError):
        history(repository, path, lines)


def test_odd_paths_and_texts_are_read_as_they_are(workspace):
    path = "a:b \u00e9*.py"
    workspace.write({path: "x = '\\t'\n\ty = 1\n\n"})
    workspace.commit("odd \u00e9 | x")
    repository = repository_of(workspace)

    assert [each.text for each in blame(repository, path, 1, 3)] == ["x = '\\t'", "\ty = 1", ""]
    assert [each.subject for each in history(repository, path, (1, 1)).commits] == ["odd \u00e9 | x"]
    assert [each.subject for each in history(repository, path).commits] == ["odd \u00e9 | x"]


def test_lines_and_commits_are_bounded(workspace):
    workspace.write({"long.py": "x = 1\n" * (MAX_BLAMED_LINES + 100)})
    workspace.commit("long")
    for number in range(MAX_COMMITS + 1):
        workspace.write({"busy.py": f"x = {number}\n"})
        workspace.commit(f"change {number}")
    repository = repository_of(workspace)

    assert len(blame(repository, "long.py", 1, MAX_BLAMED_LINES + 100)) == MAX_BLAMED_LINES
    found = history(repository, "busy.py")
    assert (len(found.commits), found.is_partial) == (MAX_COMMITS, True)


def test_no_program_of_the_repository_is_started(workspace, tmp_path):
    """Filters, conversions to text, differences and signatures all name programs; none of them may run."""
    marker = tmp_path / "ran"
    command = f"touch {marker}; cat"
    for name in ("filter.x.clean", "filter.x.smudge", "diff.x.textconv", "diff.x.command", "core.pager", "gpg.program"):
        workspace.git("config", name, command)
    workspace.git("config", "log.showSignature", "true")
    workspace.git("config", "core.fsmonitor", command)
    workspace.write({".gitattributes": "*.py filter=x diff=x\n"})
    repository = repository_of(workspace)

    blame(repository, "new.py", 1, 3)
    history(repository, "new.py")
    history(repository, "new.py", (1, 2))

    assert not marker.exists()
    # The same repository runs it for a plain command.
    subprocess.run(["git", "-C", workspace.root, "blame", "new.py"], capture_output=True, check=True)
    assert marker.exists()


def test_a_file_of_names_that_is_no_file_is_refused(workspace):
    os.mkfifo(workspace.root / ".mailmap")

    with pytest.raises(GitError, match="mailmap"):
        blame(repository_of(workspace), "new.py", 1, 1)
