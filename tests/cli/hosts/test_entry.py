"""Which command a host gets: it must work from any directory and without the user's shell."""

import os
import sys
from pathlib import Path

import pytest

from codecompass.cli.hosts.entry import installed_command, portable_command

INSTALLED = Path(sys.executable).parent / "codecompass"


def shell(tmp_path: Path, says: str) -> dict[str, str]:
    """Returns an environment whose login shell runs the script `says`."""
    program = tmp_path / "shell"
    program.write_text(f"#!/bin/sh\n{says}\n")
    program.chmod(0o755)
    return {"SHELL": str(program), "HOME": str(tmp_path)}


def test_a_link_that_was_called_is_kept_as_it_outlives_an_upgrade(tmp_path, monkeypatch):
    link = tmp_path / "codecompass"
    link.symlink_to(INSTALLED)
    monkeypatch.setattr(sys, "argv", [str(link)])

    assert installed_command() == (str(link),)


def test_a_run_as_a_module_names_the_command_beside_the_interpreter(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/somewhere/codecompass/__main__.py"])

    assert installed_command() == (str(INSTALLED),)


def test_without_an_installed_command_the_directory_is_kept_off_the_module_path(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["-m"])
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))

    assert installed_command() == (str(tmp_path / "python"), "-P", "-m", "codecompass")


def test_the_bare_name_is_for_those_whose_login_shell_finds_this_installation(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(INSTALLED)])

    assert portable_command(shell(tmp_path, f"echo Welcome; echo {INSTALLED}")) == ("codecompass",)


@pytest.mark.parametrize("says", ["exit 1", "echo /usr/bin/env", "echo codecompass is a function", "printf '\\377'"])
def test_a_login_shell_that_finds_nothing_or_another_one_means_the_absolute_path(tmp_path, monkeypatch, says):
    monkeypatch.setattr(sys, "argv", [str(INSTALLED)])

    assert portable_command(shell(tmp_path, says)) == (str(INSTALLED),)


def test_a_shell_that_cannot_be_run_means_the_absolute_path(monkeypatch):
    monkeypatch.setattr(sys, "argv", [str(INSTALLED)])

    assert portable_command({"SHELL": os.devnull}) == (str(INSTALLED),)
    assert portable_command({}) == (str(INSTALLED),)
