"""Asks the first ten questions of a repository never seen, beside busy processors: `python -m bench.agent.busy --trees DIR`.

For each repository and number of busy processes a new server with an empty store gets ten questions, one after the other, as soon
as it has started: definitions, tokens, messages, words, outlines and references. They are drawn by a seed from the repository;
what is right is found by ripgrep and by reading its files. Prints a table; each answer is a line of busy.jsonl in --out.
"""

import argparse
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

from bench.agent.answers import Place, read_answer
from bench.agent.burners import busy
from bench.client import Said, serving
from bench.corpus import OUT
from bench.quality.ripgrep import looks_like_definition
from bench.table import markdown_table
from codecompass.languages.detect import language_of
from codecompass.languages.words import split_identifier
from codecompass.scan.path_roles import role_of
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

KINDS: Final = (
    "definition", "token", "references", "message", "outline", "definition", "token", "words", "references", "message",
)  # fmt: skip
"""The kinds of the ten questions, in order; a run begins with one of them."""

LOADS: Final = (0, 2, 8)

MAX_FILE_BYTES: Final = 200_000
TRIES: Final = 4_000
"""Lines that are looked at for a question of one kind."""

MAX_LINES: Final = 12
"""Lines that may be the truth of one question."""

LINE_TOLERANCE: Final = 2
LEAST_SHARE: Final = 0.5
"""Share of the lines with a name that an answer about its uses has to show: ripgrep counts comments and namesakes too."""

OUTLINED: Final = 3
"""Definitions of a file that its outline has to name."""

_DEFINED: Final = re.compile(
    r"^\s*(?:pub(?:\([a-z]+\))? |export |public |static |async )*"
    r"(?:def|fn|func|function|class|struct|module|interface|trait|enum)\s+(?:self\.)?(?P<name>[A-Za-z_]\w{5,})"
)
_SIGNED: Final = re.compile(r"^(?P<name>[a-z]\w{5,}) ::")
_TOKEN: Final = re.compile(
    r"(?<![\w.-])(?:--[a-z][a-z-]{5,}|[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+|[a-z]+(?:[._-][a-z0-9]+){2,})(?![\w.-])"
)
_MESSAGE: Final = re.compile(r'"(?P<text>[A-Za-z][^"\\{}#%$]{24,80})"')
_COMMENT: Final = ("#", "//", "*", "--", "/*", ";")


class Line(Struct, frozen=True):
    """A line of a file, from 1, and its text."""

    path: str
    number: int
    text: str = ""


class Question(Struct, frozen=True, kw_only=True):
    """A call, and what a right answer shows: some of the `lines`, or all of the `names`."""

    kind: str
    tool: str
    arguments: dict[str, str]
    lines: tuple[Line, ...] = ()
    names: tuple[str, ...] = ()


class BusyAnswer(Struct, frozen=True, kw_only=True):
    """One answer: a line of the file of answers. `number` is that of the question in its run, from 1; `load` is the load average
    of the machine at the start of the run, besides the `burners`."""

    repo: str
    burners: int
    number: int
    kind: str
    query: str
    seconds: float
    is_answered: bool
    is_right: bool
    load: float
    text: str


class Repository:
    """A work tree and what is drawn from it."""

    def __init__(self, root: Path, ripgrep: str, seed: int) -> None:
        self.root = root
        self._ripgrep = ripgrep
        self._random = random.Random(f"{root.name} {seed}")
        files = [file for file in scan(str(root), ScanRules()).files if file.size <= MAX_FILE_BYTES]
        self._all = [file.path for file in files]
        self._code = [path for path in self._all if role_of(path).rank == 0]

    def questions(self) -> list[Question]:
        """Returns one question for each of KINDS for which the repository has one, no two alike."""
        makers: dict[str, Callable[[], Iterator[Question]]] = {
            "definition": self._definitions,
            "token": self._tokens,
            "message": self._messages,
            "words": self._words,
            "outline": self._outlines,
            "references": self._references,
        }
        drawn: dict[str, Iterator[Question]] = {kind: make() for kind, make in makers.items()}
        found = [next(drawn[kind], None) for kind in KINDS]
        return [question for question in found if question is not None]

    def lines_with(self, text: str, *, is_word: bool) -> list[Line]:
        """Returns the lines that ripgrep finds, by path and number."""
        command = [
            self._ripgrep,
            "--no-config",
            "--line-number",
            "--no-heading",
            "--with-filename",
            "--color",
            "never",
            "--sort",
            "path",
        ]
        command += ["--fixed-strings", *(["--word-regexp"] if is_word else []), "--regexp", text, "--", "."]
        done = subprocess.run(command, cwd=self.root, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
        found = []
        for row in done.stdout.decode("utf-8", "replace").splitlines():
            path, _, rest = row.removeprefix("./").partition(":")
            number, _, line = rest.partition(":")
            if number.isdigit():
                found.append(Line(path, int(number), line))
        return found

    def _definitions(self) -> Iterator[Question]:
        for number, (name, line) in enumerate(self._defined()):
            if number % 2:
                yield Question(kind="definition", tool="search_code", arguments={"query": name}, lines=(line,))
            else:
                yield Question(kind="definition", tool="locate_symbol", arguments={"name": name}, lines=(line,))

    def _references(self) -> Iterator[Question]:
        for name, line in self._defined():
            language = language_of(line.path, b"")
            uses = [
                use
                for use in self.lines_with(name, is_word=True)
                if (use.path, use.number) != (line.path, line.number)
                and language_of(use.path, b"") == language
                and not use.text.lstrip().startswith(_COMMENT)
            ]
            if 1 <= len(uses) <= MAX_LINES:
                yield Question(kind="references", tool="find_references", arguments={"symbol_name": name}, lines=tuple(uses))

    def _words(self) -> Iterator[Question]:
        for name, line in self._defined():
            words = split_identifier(name)
            if len(words) >= 3:
                yield Question(
                    kind="words", tool="search_code", arguments={"query": "where is " + " ".join(words)}, lines=(line,)
                )

    def _tokens(self) -> Iterator[Question]:
        for _path, line in self._drawn_lines(self._all):
            for token in _TOKEN.findall(line)[:1]:
                lines = self.lines_with(token, is_word=True)
                if 1 <= len(lines) <= MAX_LINES:
                    yield Question(kind="token", tool="search_code", arguments={"query": token}, lines=tuple(lines))

    def _messages(self) -> Iterator[Question]:
        for _path, line in self._drawn_lines(self._code):
            found = _MESSAGE.search(line)
            if found is None or len(found["text"].split()) < 4:
                continue
            lines = self.lines_with(found["text"], is_word=False)
            if len(lines) == 1:
                yield Question(kind="message", tool="search_code", arguments={"query": found["text"]}, lines=tuple(lines))

    def _outlines(self) -> Iterator[Question]:
        for path in self._shuffled(self._code):
            names = list(dict.fromkeys(name for line in self._read(path) if (name := _defined_name(line))))
            if len(names) >= OUTLINED:
                yield Question(kind="outline", tool="get_file_outline", arguments={"path": path}, names=tuple(names[:OUTLINED]))

    def _defined(self) -> Iterator[tuple[str, Line]]:
        """Yields names that a single line of the repository defines, with that line."""
        seen = set()
        for path, text in self._drawn_lines(self._code):
            name = _defined_name(text)
            if not name or name in seen or len(split_identifier(name)) < 2:
                continue
            seen.add(name)
            looks = looks_like_definition(name)
            defined = [
                line
                for line in self.lines_with(name, is_word=True)
                if looks.search(line.text) or _defined_name(line.text) == name
            ]
            if len(defined) == 1 and defined[0].path == path:
                yield name, defined[0]

    def _drawn_lines(self, paths: Sequence[str]) -> Iterator[tuple[str, str]]:
        for path in self._shuffled(paths)[:TRIES]:
            lines = self._read(path)
            for line in self._random.sample(lines, min(len(lines), 40)):
                yield path, line

    def _shuffled(self, paths: Sequence[str]) -> list[str]:
        return self._random.sample(paths, len(paths))

    def _read(self, path: str) -> list[str]:
        try:
            return (self.root / path).read_bytes().decode().splitlines()
        except (OSError, UnicodeDecodeError):
            return []


def _defined_name(line: str) -> str:
    found = _DEFINED.match(line) or _SIGNED.match(line)
    return "" if found is None else found["name"]


def is_right(question: Question, said: Said) -> bool:
    """Whether an answer is right: an outline names the definitions, a list of uses shows enough of them, any other answer a right
    line; a token's answer shows one first."""
    if said.is_error:
        return False
    if question.names:
        return all(re.search(rf"(?<!\w){re.escape(name)}(?!\w)", said.text) for name in question.names)
    places = read_answer(said.text).places
    if question.kind == "token":
        return any(_shows(place, question.lines, 0) for place in places[:1])
    if question.kind == "references":
        shown = sum(any(_shows(place, (line,), 0) for place in places) for line in question.lines)
        return shown >= LEAST_SHARE * len(question.lines)
    return any(_shows(place, question.lines, LINE_TOLERANCE if question.kind != "message" else 0) for place in places)


def _shows(place: Place, lines: Iterable[Line], tolerance: int) -> bool:
    numbers = place.lines or (() if place.line_start is None else (place.line_start,))
    return any(place.path == line.path and any(abs(number - line.number) <= tolerance for number in numbers) for line in lines)


def ask_ten(root: Path, questions: Sequence[Question], form: str, burners: int, begins_with: int) -> Iterator[BusyAnswer]:
    """Yields the answers of a server that has never seen the repository; the questions begin with one of them, then go round."""
    order = [*questions[begins_with:], *questions[:begins_with]]
    load = os.getloadavg()[0]
    with busy(burners), TemporaryDirectory(prefix="bench-busy-") as home, serving(root, Path(home), "--answers", form) as server:
        server.initialize()
        for number, question in enumerate(order, 1):
            said = server.ask(question.tool, question.arguments)
            yield BusyAnswer(
                repo=root.name,
                burners=burners,
                number=number,
                kind=question.kind,
                query=next(iter(question.arguments.values())),
                seconds=said.seconds,
                is_answered=not said.is_error,
                is_right=is_right(question, said),
                load=round(load, 2),
                text=said.text[:2_000],
            )


def table(answers: Sequence[BusyAnswer]) -> str:
    """Returns the table: each repository under each number of busy processes, then all of them by that number."""
    header = ("repository", "busy", "load before", "asked", "answered", "right", "first s", "s p50", "max")
    groups: dict[tuple[str, int], list[BusyAnswer]] = {}
    for answer in answers:
        groups.setdefault((answer.repo, answer.burners), []).append(answer)
    for answer in answers:
        groups.setdefault(("all", answer.burners), []).append(answer)
    cells = [
        (
            repo,
            str(burners),
            f"{rows[0].load:.1f}",
            str(len(rows)),
            f"{sum(row.is_answered for row in rows) / len(rows):.2f}",
            f"{sum(row.is_right for row in rows) / len(rows):.2f}",
            f"{median(row.seconds for row in rows if row.number == 1):.1f}",
            f"{median(row.seconds for row in rows):.1f}",
            f"{max(row.seconds for row in rows):.1f}",
        )
        for (repo, burners), rows in groups.items()
    ]
    return markdown_table(header, cells, "<" + ">" * (len(header) - 1))


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 1 if nothing could be measured."""
    parser = argparse.ArgumentParser(
        prog="bench.agent.busy", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trees", type=Path, required=True, help="work trees under their names")
    parser.add_argument("--repos", help="only these, with commas")
    parser.add_argument("--busy", default=",".join(map(str, LOADS)), help="numbers of busy processes, with commas (%(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="of the questions")
    parser.add_argument("--answers", choices=("json", "text"), default="text", help="the form of the answers")
    parser.add_argument("--out", type=Path, default=OUT / "agent", help="directory of busy.jsonl")
    parser.add_argument("--ripgrep", default="rg")
    options = parser.parse_args(arguments)
    if shutil.which(options.ripgrep) is None:
        parser.error(f"{options.ripgrep} is not installed; name it with --ripgrep")
    wanted = None if options.repos is None else options.repos.split(",")
    roots = sorted(root for root in options.trees.iterdir() if root.is_dir() and (wanted is None or root.name in wanted))
    options.out.mkdir(parents=True, exist_ok=True)
    answers: list[BusyAnswer] = []
    with (options.out / "busy.jsonl").open("wb") as file:
        for root in roots:
            questions = Repository(root, options.ripgrep, options.seed).questions()
            for run, burners in enumerate(int(each) for each in options.busy.split(",")):
                if not questions:
                    break
                for answer in ask_ten(root, questions, options.answers, burners, run * 3 % len(questions)):
                    answers.append(answer)
                    file.write(msgspec.json.encode(answer) + b"\n")
                print(
                    f"{root.name}, {burners} busy: {sum(each.repo == root.name for each in answers)} answers",
                    file=sys.stderr,
                    flush=True,
                )
    if not answers:
        print("nothing to measure", file=sys.stderr)
        return 1
    print(table(answers))
    return 0


if __name__ == "__main__":
    sys.exit(main())
