"""The files of a quality run: the repositories, the truth, the questions without it, and the answers. All are JSON lines.

Field names are those of the data (see the README beside it); fields that are not needed here are ignored.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct


class Repository(Struct, frozen=True):
    """A repository at a commit. `root` is the directory in it that the published figures index, empty for all of it."""

    repo: str
    commit: str
    language: str
    root: str = ""


class Target(Struct, frozen=True, kw_only=True):
    """A right answer: lines, 1-based and inclusive, or the whole file if there are none."""

    path: str
    start_line: int | None = None
    end_line: int | None = None
    secondary: bool = False


class Truth(Struct, frozen=True, kw_only=True):
    """A query and its right answers, in no order."""

    id: str
    repo: str
    language: str
    query: str
    category: str
    relevant: tuple[Target, ...]


class Question(Struct, frozen=True):
    """The part of a truth that the answering process sees."""

    repo: str
    query: str


class Range(Struct, frozen=True):
    """Lines of a file, 1-based and inclusive."""

    line_start: int
    line_end: int


class Hit(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A place in an answer; the path is relative to the repository. `also`: further definitions of the file."""

    path: str
    line_start: int | None = None
    line_end: int | None = None
    also: tuple[Range, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """A line of a run file: hits best first, and the milliseconds that the answer took."""

    repo: str
    query: str
    results: tuple[Hit, ...]
    ms: float | None = None


Line = TypeVar("Line", bound=Struct)


def read_lines(path: Path, kind: type[Line]) -> list[Line]:
    """Returns the lines of a file. Raises OSError, or msgspec.DecodeError for a malformed line."""
    decoder = msgspec.json.Decoder(kind)
    return [decoder.decode(line) for line in path.read_bytes().splitlines() if line.strip()]


def write_lines(path: Path, rows: Iterable[Struct]) -> None:
    """Writes one row per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))


def read_published(path: Path) -> Mapping[str, Mapping[str, float]]:
    """Returns the figure of each system for each repository: repository -> system -> NDCG@10."""
    return msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, float]])


def by_question(answers: Iterable[Answer]) -> dict[Question, Answer]:
    """Returns the answers by question."""
    return {Question(answer.repo, answer.query): answer for answer in answers}
