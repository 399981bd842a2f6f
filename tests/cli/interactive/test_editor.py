"""How each editor is told which line to open."""

from pathlib import Path

import pytest

from codecompass.cli.interactive.editor import editor_command
from codecompass.errors import InvalidInput

FILE = Path("/src/a b.py")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("vi", ["vi", "+12", "/src/a b.py"]),
        ("/opt/bin/nvim -p", ["/opt/bin/nvim", "-p", "+12", "/src/a b.py"]),
        ("nano", ["nano", "+12", "/src/a b.py"]),
        ("emacsclient -nw", ["emacsclient", "-nw", "+12", "/src/a b.py"]),
        ("hx", ["hx", "/src/a b.py:12"]),
        ("subl -w", ["subl", "-w", "/src/a b.py:12"]),
        ("zed --wait", ["zed", "--wait", "/src/a b.py:12"]),
        ("code --wait", ["code", "--wait", "--goto", "/src/a b.py:12"]),
        ("cursor", ["cursor", "--goto", "/src/a b.py:12"]),
        ("idea64.exe", ["idea64.exe", "--line", "12", "/src/a b.py"]),
        ("'/opt/my tools/pycharm.sh'", ["/opt/my tools/pycharm.sh", "--line", "12", "/src/a b.py"]),
        ("kate -b", ["kate", "-b", "-l", "12", "/src/a b.py"]),
        ("my-editor", ["my-editor", "/src/a b.py"]),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(value, words):
    assert editor_command({"EDITOR": value, "PATH": ""}, FILE, 12) == words


def test_a_link_is_known_by_the_editor_that_it_leads_to(tmp_path):
    (tmp_path / "code").write_text("#!/bin/sh\n")
    (tmp_path / "code").chmod(0o755)
    (tmp_path / "e").symlink_to("code")

    assert editor_command({"VISUAL": str(tmp_path / "e")}, FILE, 3) == [str(tmp_path / "e"), "--goto", "/src/a b.py:3"]


def test_a_blank_variable_names_no_editor(tmp_path):
    assert editor_command({"VISUAL": " ", "EDITOR": "vim"}, FILE, 1)[0] == "vim"


def test_without_a_variable_an_editor_that_is_installed_is_taken(tmp_path):
    (tmp_path / "nano").write_text("#!/bin/sh\n")
    (tmp_path / "nano").chmod(0o755)

    assert editor_command({"PATH": str(tmp_path)}, FILE, 5) == ["nano", "+5", "/src/a b.py"]


@pytest.mark.parametrize(
    ("environment", "told"), [({"PATH": ""}, "export EDITOR=vim"), ({"VISUAL": "vim '"}, "export VISUAL=vim")]
)
def test_what_is_no_editor_is_told_with_what_to_do(environment, told):
    with pytest.raises(InvalidInput, match=told):
        editor_command(environment, FILE, 1)
