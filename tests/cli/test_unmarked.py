"""Directories without a project's marker: which of them a question alone makes a project, and what it says of the others."""

import os
import pty
import subprocess

import pytest

from tests.cli.conftest import write

NONE = {"projects": []}
MANY = {f"{n // 10}/a{n}.txt": "needle\n" for n in range(40)}
LIMIT = {"CODECOMPASS_INDEX_MAX_UNMARKED_FILES": "30"}


@pytest.mark.parametrize("command", [("search", "needle"), ("locate", "needle"), ("refs", "needle"), ("sync",)])
def test_a_large_directory_without_a_marker_is_not_indexed_by_a_question(cli, command):
    root = cli.tree("downloads", MANY, git=False)

    done = cli(*command, **LIMIT)

    assert done.code == 3
    assert "no project marker such as .git, and more than 30 files" in done.err
    assert f"codecompass index {root}" in done.err
    assert "--workspace PATH" in done.err
    assert cli("projects", "list", "--json").json == NONE


def test_a_large_directory_is_indexed_when_it_is_ordered_or_has_a_marker_or_is_small_enough(cli):
    root = cli.tree("downloads", MANY, git=False)
    cli("index", root, **LIMIT)
    assert cli("search", "needle", **LIMIT).code == 0
    cli("projects", "remove", root)

    assert cli("search", "needle").code == 0
    cli("projects", "remove", root)

    write(root, {"Makefile": "all:\n"})
    assert cli("search", "needle", **LIMIT).code == 0


def test_hidden_and_installed_files_do_not_make_a_directory_large(cli):
    installed = {f"{directory}/a{n}.txt": "x" for n in range(20) for directory in ("node_modules", ".cache", "build")}
    cli.tree("notes", {"a.md": "needle\n", **installed}, git=False)

    assert cli("search", "needle", **LIMIT).code == 0


@pytest.mark.parametrize("directory", ["/tmp", "/var", "/usr", "/opt", "/etc"])
def test_a_directory_of_the_system_is_never_indexed_by_a_question(cli, directory):
    for arguments, cwd in ((("search", "x"), directory), (("search", "x", "--workspace", directory), cli.user)):
        done = cli(*arguments, cwd=cwd)

        assert done.code == 3
        assert f"codecompass index {directory}" in done.err
    assert cli("projects", "list", "--json").json == NONE


def test_the_parent_of_projects_is_not_indexed_by_a_question(cli, shop):
    cli("init")
    write(cli.base / "other", {"a.py": "x = 1\n"})

    done = cli("search", "x", cwd=cli.base)

    assert done.code == 3
    assert "holds 1 registered project." in done.err


def test_a_mount_point_without_a_marker_is_not_indexed_by_a_question(cli):
    done = cli("search", "x", "--workspace", "/dev/pts")

    assert done.code == 3
    assert "is a mount point" in done.err


@pytest.mark.parametrize(("answer", "code"), [("n", 3), ("", 3), ("y", 0)])
def test_on_a_terminal_it_is_asked(cli, program, answer, code):
    root = cli.tree("downloads", MANY, git=False)
    ours, theirs = pty.openpty()
    os.write(ours, (answer + "\n").encode())

    process = subprocess.Popen(
        program.command(("search", "needle")),
        cwd=root,
        env={**cli.environment, **LIMIT, "TERM": "xterm"},
        stdin=theirs,
        stderr=theirs,
        stdout=subprocess.PIPE,
    )
    os.close(theirs)
    out, _ = process.communicate(timeout=120)
    said = os.read(ours, 100_000).decode()
    os.close(ours)

    assert process.returncode == code
    assert "Index all of it? [y/N]" in said
    assert bool(out) == (code == 0)
    assert bool(cli("projects", "list", "--json").json["projects"]) == (code == 0)
