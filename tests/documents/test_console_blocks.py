"""Every command that the documents and `--help` show is one of the program, and prints what the documents say.

Numbers, times and hashes may differ, and `...` stands for any lines. CODECOMPASS_UPDATE_GOLDENS=1 rewrites the documents.
"""

import os
import pty
import re
import select
import subprocess
import sys
import time
from collections import Counter
from itertools import groupby
from pathlib import Path

import pytest
import trio

from tests.documents.blocks import ROOT, Example, examples, help_examples, own_commands
from tests.documents.projects import NotFetched, make_projects, reset
from tests.support.command_lines import require_known

pytestmark = pytest.mark.invariant("The documents show what is printed")

EXAMPLES = examples()

NOT_RUN = {
    "search --interactive": "needs keys: tests/cli/interactive",
    "setup": "writes into the home of a user: tests/cli/hosts",
    "ui": "serves until it is stopped: tests/ui",
    "cat ": "a file of the user's",
}
"""The beginnings of commands with output in the documents that are not run here, and why."""

SHOWN_ROOT = "/home/ada/src"
SECONDS = 240

_NUMBER = re.compile(r"\d[\d,.]*")
_HASH = re.compile(r"\b(?=[0-9a-f]*\d)[0-9a-f]{7,40}\b")
_AGO = re.compile(r"just now|# (?:second|minute|hour)s? ago")
_UNIT = re.compile(r"# (?:ms|s|min|kB|MB|GB)\b")


def run(example: Example) -> bool:
    """Whether the example's output is compared."""
    command = example.command.removeprefix("codecompass ")
    return bool(example.printed) and not command.startswith(tuple(NOT_RUN))


def masked(lines: list[str]) -> list[str]:
    """Returns the lines with one character for all that differs between runs; columns are one space apart."""
    found = []
    for line in lines:
        text = _NUMBER.sub("#", _HASH.sub("#", line))
        text = _AGO.sub("AGO", _UNIT.sub("# UNIT", text))
        found.append(" ".join(text.split()))
    return found


def agrees(printed: list[str], shown: list[str]) -> bool:
    """Whether what was printed is what is shown, in which `...` stands for any lines."""
    pattern = "".join("(?:.*\n)*?" if line == "..." else re.escape(line) + "\n" for line in masked(shown))
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in masked(printed))) is not None


class Terminal:
    """Runs commands as somebody types them, with one home for the data of all."""

    def __init__(self, places: Path, home: Path) -> None:
        self.places = places
        commands = home / "bin"
        commands.mkdir(parents=True)
        (commands / "codecompass").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m codecompass "$@"\n')
        (commands / "codecompass").chmod(0o755)
        kept = {name: os.environ[name] for name in ("LANG", "LC_ALL") if name in os.environ}
        self.environment = {
            **kept,
            "PATH": f"{commands}:{os.environ['PATH']}",
            "HOME": str(home),
            "XDG_DATA_HOME": str(home / "data"),
            "PYTHONPATH": str(ROOT),
            "TERM": "dumb",
            "NO_COLOR": "1",
        }

    def type(self, command: str, directory: str, *, columns: int = 130) -> tuple[int, list[str]]:
        """Returns the exit code, and what stands on the terminal afterwards: a line that was written over shows its last text."""
        keyboard, terminal = pty.openpty()
        with subprocess.Popen(
            ["bash", "-c", command],
            cwd=self.places / directory,
            env={**self.environment, "COLUMNS": str(columns)},
            stdin=terminal,
            stdout=terminal,
            stderr=terminal,
            start_new_session=True,
        ) as process:
            os.close(terminal)
            written = bytearray()
            ends = time.monotonic() + SECONDS
            try:
                while select.select([keyboard], [], [], max(0.0, ends - time.monotonic()))[0]:
                    try:
                        data = os.read(keyboard, 65_536)
                    except OSError:  # Linux says that the other end is closed by an error
                        break
                    if not data:
                        break
                    written += data
                process.wait(timeout=max(0.1, ends - time.monotonic()))
            finally:
                os.close(keyboard)
                process.kill()
        text = written.decode().replace("\r\n", "\n").replace("\x1b[K", "")
        lines = [line.rpartition("\r")[2] for line in text.split("\n")]
        return process.returncode, [line.replace(str(self.places), SHOWN_ROOT) for line in lines[:-1]]


@pytest.mark.parametrize("example", [each for each in EXAMPLES if own_commands(each.command)], ids=str)
def test_the_program_knows_every_command_of_the_documents(example: Example) -> None:
    for command in own_commands(example.command):
        require_known(command)


def test_the_program_knows_every_example_of_its_help() -> None:
    found = trio.run(help_examples)

    assert len(found) > 100
    for _command, example in found:
        for own in own_commands(example):
            require_known(own)


def test_every_command_has_examples() -> None:
    with_examples = Counter(command for command, _example in trio.run(help_examples))

    for name in ("search", "locate", "refs", "index", "status", "projects", "setup", "serve-mcp"):
        assert with_examples[f"codecompass {name}"], name


def test_masks_leave_what_a_reader_reads() -> None:
    shown = ["src/a.py:12  in class A", "built      1 minute ago", "...", "on 258d68b6ff5e, 1.8 MB"]

    assert agrees(["src/a.py:14  in  class A", "built  just now", "one", "two", "on a7cb18366b2a, 20 kB"], shown)
    assert not agrees(["src/b.py:14  in class A", "built  just now", "on a7cb18366b2a, 20 kB"], shown)
    assert not agrees(shown[:2], shown)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("src")
    cache = os.environ.get("CODECOMPASS_TEST_PROJECTS")
    try:
        make_projects(made, Path(cache) if cache else tmp_path_factory.mktemp("fetched"))
    except NotFetched as error:
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            raise
        pytest.skip(f"the projects that the documents show cannot be fetched: {error}")
    return made


@pytest.fixture
def terminal(places: Path, tmp_path: Path) -> Terminal:
    """One of somebody who has indexed Click."""
    reset(places)
    made = Terminal(places, tmp_path / "home")
    made.type("codecompass index", "click")
    return made


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one fetches the projects
@pytest.mark.xdist_group("documents")
@pytest.mark.parametrize("document", [name for name, _ in groupby(filter(run, EXAMPLES), lambda each: each.document)])
def test_a_document_shows_what_is_printed(document: str, terminal: Terminal) -> None:
    """In the order of the document: a command may need what an earlier one did."""
    wrong = []
    for example in filter(run, EXAMPLES):
        if example.document == document:
            # Where the README is read, a line has no room for more.
            _code, printed = terminal.type(example.command, "flask", columns=100 if document == "README.md" else 130)
            if not agrees(printed, list(example.printed)):
                wrong.append(example)
                if os.environ.get("CODECOMPASS_UPDATE_GOLDENS") and "..." not in example.printed:
                    _rewrite(example, printed)
                else:
                    print(f"{example}\n$ {example.command}", *printed, sep="\n")

    assert wrong == []


@pytest.mark.slow
@pytest.mark.timeout(900)  # the first one fetches the projects
@pytest.mark.xdist_group("documents")
def test_a_command_finds_the_same_in_a_directory_of_the_project(terminal: Terminal) -> None:
    """Paths are relative to it. A line that is too long for the terminal is cut."""

    def found_in(directory: str, command: str) -> list[str]:
        _code, printed = terminal.type(command, directory)
        return [line.replace("../", "")[:80] for line in printed]

    terminal.type("codecompass index", "flask")
    for example in filter(run, EXAMPLES):
        command = example.command.removeprefix("codecompass ")
        # The first question about a commit says that it is indexed.
        if command.startswith(("search", "locate", "refs", "config show")) and "--ref" not in command:
            assert masked(found_in("flask/docs", example.command)) == masked(found_in("flask", example.command)), example


def _rewrite(example: Example, printed: list[str]) -> None:
    path = ROOT / example.document
    before = "\n".join((example.command, *example.printed))
    text = path.read_text(encoding="utf-8")
    assert text.count(before) == 1, example
    path.write_text(text.replace(before, "\n".join((example.command, *printed))), encoding="utf-8")
