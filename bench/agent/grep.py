"""A scripted agent with ripgrep: what it would run for each task, and what it would read.

Output is cut as agents' tools cut it. ripgrep prints files in the order in which its threads finish; here they are sorted by
path, so that figures are reproducible.
"""

import re
import subprocess
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.agent.answers import Place
from bench.agent.tasks import Task
from bench.quality.ripgrep import looks_like_definition, words_of

HEAD_LINES: Final = 200
HEAD_CHARACTERS: Final = 30_000
"""Limits at which agents' tools cut the output of a command."""

KEYWORDS: Final = 5
"""Keywords of a sentence; each is a call."""

WORDS_TOGETHER: Final = 3

PROSE: Final = (".md", ".mdx", ".rst", ".txt", ".adoc", ".html", ".json", ".yml", ".yaml", ".toml", ".lock")
"""Suffixes of files without functions: changelogs have more words of a sentence than any code has."""

DEADLINE_SECONDS: Final = 120.0

_ROW: Final = re.compile(r"(?P<path>.+?):(?P<line>\d+):(?P<text>.*)")
_FILLED: Final = re.compile(r"[\d\"'`]")
"""Characters in a message that more often come from a filled-in value than from the template."""


class Grepped(Struct, frozen=True, kw_only=True):
    """What the agent got from its calls: places in the order in which it would read them, and all output."""

    places: tuple[Place, ...]
    text: str
    calls: int
    seconds: float


class Ripgrep:
    """Runs ripgrep in a tree and records the calls, the time and the output."""

    def __init__(self, program: str, root: Path) -> None:
        self._program = program
        self._root = root
        self._read: list[str] = []
        self._calls = 0
        self._seconds = 0.0

    def lines(self, *arguments: str) -> list[Place]:
        """Returns the lines that `rg -n` prints, after its output is cut."""
        return [place for row in self._run("--line-number", *arguments) if (place := _place(row))]

    def files(self, *arguments: str) -> list[str]:
        """Returns the files that `rg -l` lists, after its output is cut."""
        return self._run("--files-with-matches", *arguments)

    def done(self, places: Sequence[Place]) -> Grepped:
        """Returns the record, with the places that the agent found."""
        return Grepped(places=tuple(places), text="".join(self._read), calls=self._calls, seconds=self._seconds)

    def _run(self, *arguments: str) -> list[str]:
        command = [self._program, "--no-config", "--no-heading", "--with-filename", "--color", "never", *arguments]
        # A directory must be named: without one, ripgrep reads stdin if that is a pipe.
        command += [] if "--" in arguments else ["--", "."]
        began = time.monotonic()
        done = subprocess.run(
            command, cwd=self._root, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=DEADLINE_SECONDS
        )
        self._seconds += time.monotonic() - began
        self._calls += 1
        rows = [row.removeprefix("./") for row in done.stdout.decode("utf-8", "replace").split("\n") if row]
        shown = head(sorted(rows, key=_path))
        self._read += [row + "\n" for row in shown]
        return shown


def find(program: str, root: Path, task: Task) -> Grepped:
    """Does a task of the truth."""
    ripgrep = Ripgrep(program, root)
    match task.set:
        case "messages":
            return ripgrep.done(_message(ripgrep, task.query))
        case "nav":
            return ripgrep.done(_definition(ripgrep, task.query))
        case _:
            return ripgrep.done(_sentence(ripgrep, task.query))


def find_name(program: str, root: Path, name: str) -> Grepped:
    """Searches for a name as a whole word."""
    ripgrep = Ripgrep(program, root)
    return ripgrep.done(ripgrep.lines("--word-regexp", "--fixed-strings", "--regexp", name))


def head(rows: Sequence[str]) -> list[str]:
    """Returns the rows that an agent reads: at most HEAD_LINES and HEAD_CHARACTERS, the last row cut."""
    shown, left = [], HEAD_CHARACTERS
    for row in rows[:HEAD_LINES]:
        if left <= 0:
            break
        shown.append(row[:left])
        left -= len(row) + 1
    return shown


def plain_run(message: str) -> str:
    """Returns the longest run of words of a message in which nothing looks filled in; empty if there is none."""
    runs, run = [], list[str]()
    for word in [*message.split(), "0"]:
        if _FILLED.search(word):
            runs.append(" ".join(run))
            run = []
        else:
            run.append(word)
    return max(runs, key=len)


def _message(ripgrep: Ripgrep, message: str) -> list[Place]:
    """Searches the verbatim message, else its longest run without values, else a line with its three longest words."""
    places = ripgrep.lines("--fixed-strings", "--regexp", message)
    run = plain_run(message)
    if not places and run and run != message:
        places = ripgrep.lines("--fixed-strings", "--regexp", run)
    words = [word for word in dict.fromkeys(re.findall(r"\w+", message)) if not _FILLED.search(word)]
    rarest = sorted(words, key=len, reverse=True)[:WORDS_TOGETHER]
    if not places and rarest:
        places = ripgrep.lines("--regexp", ".*".join(re.escape(word) for word in words if word in rarest))
    return places


def _definition(ripgrep: Ripgrep, name: str) -> list[Place]:
    """Searches the name as a whole word; lines that look like a definition come first."""
    looks = looks_like_definition(name)
    places = ripgrep.lines("--word-regexp", "--fixed-strings", "--regexp", name)
    return sorted(places, key=lambda place: looks.search(place.words) is None)


def _sentence(ripgrep: Ripgrep, sentence: str) -> list[Place]:
    """Lists the files of each keyword, then the lines of all keywords in the file with most of them, best lines first.

    A function is sought: prose files are chosen only if there is no code, and among equals tests come last.
    """
    words = sorted(words_of(sentence), key=len, reverse=True)[:KEYWORDS]
    files: Counter[str] = Counter()
    for word in words:
        files.update(ripgrep.files("--ignore-case", "--fixed-strings", "--regexp", word))
    if not files:
        return []
    best = min(files, key=lambda path: (_is_prose(path), -files[path], "test" in path.lower(), path))
    patterns = [part for word in words for part in ("--regexp", word)]
    places = ripgrep.lines("--ignore-case", "--fixed-strings", *patterns, "--", best)
    return sorted(places, key=lambda place: -sum(word in place.words.lower() for word in words))


def _is_prose(path: str) -> bool:
    return path.lower().endswith(PROSE)


def _place(row: str) -> Place | None:
    found = _ROW.fullmatch(row)
    if found is None:
        return None
    line = int(found["line"])
    return Place(path=found["path"], line_start=line, line_end=line, lines=(line,), words=found["text"])


def _path(row: str) -> str:
    found = _ROW.fullmatch(row)
    return found["path"] if found else row
