"""Gives the tasks of a repository to the server as a host does, and the same ones to ripgrep.

The server has the index before its tasks are timed. The first contact with a repository is measured separately, with a new store
each time.
"""

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

from bench.agent import grep
from bench.agent.answers import ReadAnswer, grep_characters, read_answer, retry_seconds
from bench.agent.tasks import Task, rank_of
from bench.client import Connection, Said, ServerFailed, serving

OURS: Final = "codecompass"
RIPGREP: Final = "rg"

FIRST: Final = "first question"

READY_SECONDS: Final = 300.0
ANSWER_SECONDS: Final = 60.0
"""How long a question is repeated while its answer asks for a retry."""

POLL_SECONDS: Final = 0.1
LONGEST_RETRY_SECONDS: Final = 2.0

KEPT_CHARACTERS: Final = 30_000
"""Characters of an answer's text that are kept in the file of answers."""


class Asked(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One task as done by one system: a line of the file of answers.

    `rank` is that of the first right place among the `places` shown, from 1; the times are in milliseconds. `same_places` is what
    `rg -n` would print for the lines that our answer shows, in characters. `right_ms` is measured only at the first contact: from
    the first question until an answer was right, retries included.
    """

    system: str
    set: str
    category: str
    repo: str
    id: str
    query: str
    rank: int | None
    places: int
    calls: int
    characters: int
    ms: float
    admits: bool = False
    says: str = ""
    is_error: bool = False
    n_bytes: int = 0
    useful_bytes: int = 0
    same_places: int | None = None
    right_ms: float | None = None
    text: str = ""


class Sources:
    """The lines of files of a tree, read on first use."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lines: dict[str, Sequence[str]] = {}

    def __call__(self, path: str) -> Sequence[str]:
        if path not in self._lines:
            try:
                text = (self._root / path).read_bytes().decode("utf-8", "replace")
            except OSError:
                text = ""
            self._lines[path] = [line.removesuffix("\r") for line in text.split("\n")]
        return self._lines[path]


def options_of(form: str) -> tuple[str, ...]:
    """Returns the options of `serve-mcp` for answers in this form; JSON is the default."""
    return () if form == "json" else ("--answers", form)


def ask_all(root: Path, home: Path, form: str, tasks: Sequence[Task]) -> list[Asked]:
    """Returns our answers to the tasks of one repository, from one server that has the index."""
    sources = Sources(root)
    with serving(root, home, *options_of(form)) as server:
        server.initialize()
        wait_until_indexed(server)
        return [_ours(server, task, sources) for task in tasks]


def grep_all(program: str, root: Path, tasks: Sequence[Task]) -> list[Asked]:
    """Returns what an agent with ripgrep gets for the tasks of one repository."""
    answers = []
    for task in tasks:
        found = grep.find(program, root, task)
        answers.append(
            Asked(
                system=RIPGREP,
                set=task.set,
                category=task.category,
                repo=task.repo,
                id=task.id,
                query=task.query,
                rank=rank_of(task, found.places),
                places=len(found.places),
                calls=found.calls,
                characters=len(found.text),
                ms=found.seconds * 1000,
                text=found.text[:KEPT_CHARACTERS],
            )
        )
    return answers


def first_contact(root: Path, form: str, task: Task) -> Asked:
    """Sends one task to a server that has never seen the repository, as its first question.

    The returned answer is the first one; its `right_ms` is the time until a right one.
    """
    with TemporaryDirectory(prefix="bench-first-") as home, serving(root, Path(home), *options_of(form)) as server:
        server.initialize()
        began = time.monotonic()
        first = said = server.ask(*task.call)
        right_ms = None
        while right_ms is None and time.monotonic() < began + ANSWER_SECONDS:
            if rank_of(task, _read(said).places) is not None:
                right_ms = (time.monotonic() - began) * 1000
            else:
                _pause(said.text)
                said = server.ask(*task.call)
    answer = _asked(task, first, Sources(root), calls=1, seconds=first.seconds, read=len(first.text))
    return msgspec.structs.replace(answer, set=FIRST, right_ms=right_ms)


def wait_until_indexed(server: Connection) -> None:
    """Waits until the server answers as fresh and complete. Raises ServerFailed if it does not within READY_SECONDS."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        said = server.ask("search_code", {"query": "main"})
        read = _read(said)
        if not read.says and not read.admits:
            return
        if time.monotonic() > deadline:
            raise ServerFailed(f"not indexed after {READY_SECONDS:.0f} s: {said.text[:300]}")
        _pause(said.text)


def ask_until_answered(server: Connection, tool: str, arguments: Mapping[str, object]) -> tuple[list[Said], float]:
    """Repeats a question while its answer asks for a retry; returns the answers and the total seconds."""
    began = time.monotonic()
    said = [server.ask(tool, arguments)]
    while said[-1].is_error and retry_seconds(said[-1].text) is not None and time.monotonic() < began + ANSWER_SECONDS:
        _pause(said[-1].text)
        said.append(server.ask(tool, arguments))
    seconds = said[0].seconds if len(said) == 1 else time.monotonic() - began
    return said, seconds


def _ours(server: Connection, task: Task, sources: Sources) -> Asked:
    said, seconds = ask_until_answered(server, *task.call)
    return _asked(task, said[-1], sources, calls=len(said), seconds=seconds, read=sum(len(each.text) for each in said))


def _asked(task: Task, said: Said, sources: Sources, *, calls: int, seconds: float, read: int) -> Asked:
    """`read` is how many characters the model had to read, including earlier answers."""
    answer = _read(said)
    return Asked(
        system=OURS,
        set=task.set,
        category=task.category,
        repo=task.repo,
        id=task.id,
        query=task.query,
        rank=rank_of(task, answer.places),
        places=len(answer.places),
        calls=calls,
        characters=read,
        ms=seconds * 1000,
        admits=answer.admits,
        says=answer.says,
        is_error=said.is_error,
        n_bytes=answer.n_bytes,
        useful_bytes=answer.useful_bytes,
        same_places=grep_characters(answer.places, sources),
        text=said.text[:KEPT_CHARACTERS],
    )


def _read(said: Said) -> ReadAnswer:
    return read_answer(said.text, is_error=said.is_error)


def _pause(text: str) -> None:
    time.sleep(min(retry_seconds(text) or POLL_SECONDS, LONGEST_RETRY_SECONDS))
