"""Git that cannot be run, or refuses a repository, is told from a name that it does not know."""

import os
from pathlib import Path

import pytest

from codecompass.actors.commits import named_commit, refs_of
from codecompass.errors import RefNotIndexed
from codecompass.hints import for_people
from codecompass.scan.git_failures import explained
from codecompass.scan.git_process import MAX_MESSAGE_LENGTH, GitError, GitFailed, GitNotStarted, GitTimedOut, _reason
from codecompass.scan.git_repository import find_repository
from codecompass.scan.git_revisions import default_base, named_side, require_usable
from tests.support.processes import run_python

from .trees import git, repository

NAME = """
import sys
from pathlib import Path
from codecompass.actors.commits import named_commit
from codecompass.errors import RefNotIndexed
try:
    print(named_commit(Path(sys.argv[1]), sys.argv[2]))
except RefNotIndexed as error:
    print(error.message)
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return repository(tmp_path / "r", tracked={"a.py": "one\n"})


def refusal(root: Path, name: str = "main") -> str:
    with pytest.raises(RefNotIndexed) as refused:
        named_commit(root, name)
    return refused.value.message


def test_git_that_is_not_there_is_named(root, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))

    for message in (refusal(root), refusal(root, "nowhere")):
        assert "git cannot be run: it is not installed, or not on the PATH" in message
        assert "Ask the user to install git" in message
        assert "fetched" not in message
        assert "Install git" in for_people(message)
    with pytest.raises(RefNotIndexed, match="git cannot be run"):
        refs_of(root)


@pytest.mark.parametrize(
    ("path", "content", "printed", "helps"),
    [
        ("config", "[broken\n", "bad config line", "correct that setting"),
        ("config", "[core]\n\tabbrev = many\n", "bad numeric config value", "correct that setting"),
        ("config", "[core]\n\trepositoryformatversion = 99\n", "repo version", "upgrade git"),
        ("HEAD", "garbage\n", "not a git repository", "look at its .git"),
    ],
)
def test_a_repository_that_git_refuses_is_named_with_what_it_printed(root, path, content, printed, helps):
    (root / ".git" / path).write_text(content)

    message = refusal(root)

    assert printed in message
    assert f"Ask the user to {helps}" in message
    assert "fetched" not in message
    found = find_repository(str(root))
    assert found is not None
    with pytest.raises(GitError, match=printed):
        require_usable(found)
    with pytest.raises(GitError, match=printed):
        named_side(found, "main", field="base")


def test_a_base_is_not_said_to_be_missing_in_a_repository_that_git_refuses(root):
    found = find_repository(str(root))
    assert found is not None
    head = named_side(found, "main", field="head")
    (root / ".git" / "config").write_text("[broken\n")

    with pytest.raises(GitError, match="bad config line"):
        default_base(found, head)


def test_a_name_that_git_does_not_know_is_still_only_that(root):
    assert "no commit 'nowhere'" in refusal(root, "nowhere")
    assert "no commit '" + "1" * 40 in refusal(root, "1" * 40)
    assert "no commit 'main~7'" in refusal(root, "main~7")


def test_a_branch_whose_commit_is_gone_is_not_said_to_be_unknown(root):
    commit = git(root, "rev-parse", "main").decode().strip()
    (root / ".git" / "objects" / commit[:2] / commit[2:]).unlink()

    message = refusal(root)

    assert f"'main' names {commit[:12]}, which git cannot read" in message
    assert "git fsck" in message


def test_a_git_directory_that_may_not_be_read_is_not_said_to_be_missing(root):
    dot_git = root / ".git"
    dot_git.chmod(0)
    try:
        done = run_python(NAME, str(root), "main", environment={**os.environ})
    finally:
        dot_git.chmod(0o755)

    assert f"{dot_git} cannot be read: Permission denied" in done.stdout, done


def test_what_git_printed_is_bounded_and_shows_no_password_and_no_control_character():
    printed = _reason("hint: x\nfatal: unable to access 'https://me:secret@host/\x1b[31m\x07' " + "x" * 1000)

    assert printed.startswith("fatal: unable to access 'https://host/ [31m ' xxx")
    assert len(printed) == MAX_MESSAGE_LENGTH
    assert printed.isprintable()


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (GitNotStarted(PermissionError(13, "Permission denied")), "git cannot be run: Permission denied"),
        (GitFailed("log", 128, "fatal: detected dubious ownership in repository at '/x'"), "safe.directory"),
        (GitFailed("log", 128, "fatal: unable to access '/x/config': Permission denied"), "readable"),
        (GitFailed("log", 128, "fatal: loose object 1234 is corrupt"), "git fsck"),
        (GitTimedOut("git took longer than 30 seconds"), "Call again"),
    ],
)
def test_each_failure_says_what_helps(error, said):
    text = explained(error)

    assert said in text
    assert text.endswith(".")
