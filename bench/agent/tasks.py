"""Tasks from the truth, and whether a place of an answer is right. Pure, except for reading the files.

Three sets: `messages` (a pasted string literal: find its line), `nav` (a name: find its definition) and `commits` (a commit's
subject: find a function that it changed). Rows are drawn evenly and reproducibly.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.agent.answers import Place
from bench.quality.data import Hit, Target, read_lines
from bench.quality.scores import LINE_TOLERANCE, is_definition

SETS: Final = ("messages", "nav", "commits")

LONGEST_RANGE: Final = 120
"""A longer range names a part of a file, not a place."""


class Span(Struct, frozen=True):
    """Lines of a file that are a right answer; from 1, inclusive."""

    path: str
    line_start: int
    line_end: int


class Task(Struct, frozen=True, kw_only=True):
    """A question about a repository, and the right answers."""

    id: str
    set: str
    repo: str
    category: str
    query: str
    relevant: tuple[Span, ...]

    @property
    def call(self) -> tuple[str, Mapping[str, object]]:
        """The tool that an agent calls, with its arguments."""
        if self.set == "nav":
            return "locate_symbol", {"name": self.query}
        return "search_code", {"query": self.query}


class _Target(Struct, frozen=True):
    path: str
    line_start: int | None = None
    line_end: int | None = None
    start_line: int | None = None
    end_line: int | None = None


class _Row(Struct, frozen=True):
    id: str
    repo: str
    query: str
    category: str
    relevant: tuple[_Target, ...]


def read_tasks(truth: Path, name: str, repositories: Iterable[str]) -> list[Task]:
    """Returns the tasks of a set for these repositories; none if the file is missing. Sets name lines in two ways."""
    file = truth / "dev" / f"{name}.jsonl"
    file = file if file.is_file() else truth / f"{name}.jsonl"
    wanted = frozenset(repositories)
    rows = read_lines(file, _Row) if file.is_file() else []
    return [_task(name, row) for row in rows if row.repo in wanted]


def draw(tasks: Sequence[Task], count: int | None) -> list[Task]:
    """Returns `count` of the tasks (all for None), in their order; they are chosen by the hashes of their ids."""
    if count is None or count >= len(tasks):
        return list(tasks)
    drawn = {
        task.id for task in sorted(tasks, key=lambda task: hashlib.blake2b(task.id.encode(), digest_size=8).digest())[:count]
    }
    return [task for task in tasks if task.id in drawn]


def rank_of(task: Task, places: Iterable[Place]) -> int | None:
    """Returns the rank, from 1, of the first right place; None if no place is right."""
    return next((rank for rank, place in enumerate(places, 1) if is_right(task, place)), None)


def is_right(task: Task, place: Place) -> bool:
    """Whether a place answers a task: a definition begins there or is shown, else a right line is shown or within the place's
    range, if that is short."""
    return any(place.path == span.path and _leads_to(task.set, place, span) for span in task.relevant)


def _leads_to(name: str, place: Place, span: Span) -> bool:
    slack = LINE_TOLERANCE if name == "nav" else 0
    last = span.line_start if name == "nav" else span.line_end
    if any(span.line_start - slack <= line <= last + slack for line in place.lines):
        return True
    if place.line_start is None or place.line_end is None:
        return False
    if name == "nav":
        hit = Hit(path=place.path, line_start=place.line_start, line_end=place.line_end)
        return is_definition(hit, Target(path=span.path, start_line=span.line_start, end_line=span.line_end))
    is_short = place.line_end - place.line_start <= LONGEST_RANGE
    return is_short and place.line_start <= span.line_end and place.line_end >= span.line_start


def _task(name: str, row: _Row) -> Task:
    spans = []
    for target in row.relevant:
        start = target.line_start or target.start_line
        if start is not None:
            spans.append(Span(target.path, start, target.line_end or target.end_line or start))
    return Task(id=row.id, set=name, repo=row.repo, category=row.category, query=row.query, relevant=tuple(spans))
