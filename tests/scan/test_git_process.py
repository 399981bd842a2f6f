"""How git is started."""

import ast
import re

import pytest

from codecompass.scan.git_process import GitError, GitFailed, GitOutputTooLarge, git_command, run_process
from tests.support.patterns import PACKAGE


def test_git_asks_nobody_runs_nothing_and_connects_nowhere(monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    monkeypatch.setenv("GIT_TERMINAL_PROMPT", "1")

    command = git_command("status", ceiling="/base")

    assert command.arguments == ("git", "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "status")
    assert {name: value for name, value in command.environment.items() if name.startswith("GIT_")} == {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CEILING_DIRECTORIES": "/base",
    }


def test_a_caller_names_what_differs(monkeypatch):
    monkeypatch.setenv("GIT_SSH_COMMAND", "ssh -i key")
    monkeypatch.setenv("GIT_TRACE", "1")

    command = git_command(
        *("fetch", "url"),
        options=("-C", "/mirror"),
        settings=("gc.auto=0",),
        protocols=("https", "ssh"),
        inherited=re.compile("GIT_SSH_COMMAND"),
        variables={"GIT_DIR": "/mirror/.git"},
    )

    assert command.name == "fetch"
    assert command.arguments[6:] == ("-c", "gc.auto=0", "-C", "/mirror", "fetch", "url")
    assert command.environment["GIT_ALLOW_PROTOCOL"] == "https:ssh"
    assert command.environment["GIT_SSH_COMMAND"] == "ssh -i key"
    assert command.environment["GIT_DIR"] == "/mirror/.git"
    assert "GIT_TRACE" not in command.environment


def test_output_failure_and_absence_of_git_are_told_apart(monkeypatch, tmp_path):
    assert run_process(git_command("--version"), deadline_seconds=60, max_output_bytes=1000).startswith(b"git version ")
    with pytest.raises(GitOutputTooLarge):
        run_process(git_command("--version"), deadline_seconds=60, max_output_bytes=1)
    with pytest.raises(GitFailed, match=r"git rev-parse failed with status 128") as failed:
        run_process(git_command("rev-parse", "--verify", "--", "x"), deadline_seconds=60, max_output_bytes=1000)
    assert failed.value.status == 128
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(GitError, match="could not be started"):
        run_process(git_command("--version"), deadline_seconds=60, max_output_bytes=1000)


def test_no_other_module_builds_a_command_line_of_git():
    found = {
        str(path.relative_to(PACKAGE))
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.List | ast.Tuple) and is_command(node.elts)
    }

    assert found == {"scan/git_process.py"}


def is_command(elements: list[ast.expr]) -> bool:
    """Whether these are the arguments of a process: `git` and another text."""
    texts = [each.value for each in elements[:2] if isinstance(each, ast.Constant) and isinstance(each.value, str)]
    return len(texts) == 2 and texts[0] == "git"
