"""Tokens that an agent already holds, asked as they stand: environment variables, options, dotted and kebab names, error codes,
string constants, defined names. `python -m bench.agent --only tokens`.

They are drawn by a seed from the lines of the repository itself, and the right answer is what `rg -wF` finds there, so nobody
chooses them. A token that stands on more lines than a page has is not complete on it; every line of the page counts then.
"""

import random
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.agent.answers import Place, ReadAnswer, grep_characters, read_answer
from bench.agent.asking import Sources, ask_until_answered, options_of, wait_until_indexed
from bench.agent.grep import DEADLINE_SECONDS
from bench.client import serving
from bench.figures import percentile
from bench.table import markdown_table
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

KINDS: Final[Mapping[str, re.Pattern[str]]] = {
    "environment variable": re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b"),
    "option": re.compile(r"(?<![\w-])--[a-z][a-z0-9]*(?:-[a-z0-9]+)*(?![\w-])"),
    "dotted name": re.compile(r"(?<![\w./-])[a-z_]\w*(?:\.[a-z_]\w*){1,3}(?![\w(./-])"),
    "kebab name": re.compile(r"(?<![\w./-])[a-z][a-z0-9]*(?:-[a-z0-9]+){1,4}(?![\w./-])"),
    "error code": re.compile(r"(?<![\w-])(?:[A-Z]{1,6}[-_]?[0-9]{2,6}|ERR_[A-Z_]+|E[A-Z]{4,10})(?![\w-])"),
    "string constant": re.compile(r'(?<=")[A-Za-z][^"\\{}%$\n]{9,60}(?=")'),
    "defined name": re.compile(
        r"(?:\bdef|\bfn|\bfunc|\bfun|\bclass|\bfunction|\bstruct|\btrait|\binterface)\s+([A-Za-z_]\w{3,})"
    ),
}
"""A group is the token; without one it is the whole match."""

MOST_LINES: Final = 30
"""Lines of a token at most: nobody pastes a token to read hundreds of lines."""

READ_FILES: Final = 1500
"""Files of a repository, drawn by the seed, from whose lines tokens are taken."""

LONGEST_LINE: Final = 5_000
"""Characters of a line; longer ones are data of programs."""

READ_CHARACTERS: Final = 200_000

DEFAULT_LIMIT: Final = 10

_ROW: Final = re.compile(r"(?P<path>[^\0]+)\0(?P<line>\d+):(?P<text>.*)")


class Token(Struct, frozen=True):
    """A token, and every line that has it as a whole: its path, its number and its text."""

    kind: str
    repo: str
    text: str
    lines: frozenset[tuple[str, int]]


class TokenAnswer(Struct, frozen=True, kw_only=True):
    """An answer to a token: a line of tokens.jsonl. `n_needed` are the lines that a page can show, `n_shown` those of the token
    that it shows; `rg_characters` is what `rg -nF` prints for the lines of the page."""

    repo: str
    kind: str
    query: str
    n_lines: int
    n_needed: int
    n_shown: int
    is_first: bool
    characters: int
    rg_characters: int
    ms: float
    is_error: bool
    text: str


def draw_tokens(program: str, repo: str, root: Path, count: int, seed: int) -> list[Token]:
    """Returns `count` tokens of a repository, as many of each kind as there are, in an order given by the seed."""
    chance = random.Random(f"{seed} {repo}")
    paths = sorted(file.path for file in scan(str(root), ScanRules()).files)
    chance.shuffle(paths)
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for path in paths[:READ_FILES]:
        try:
            text = (root / path).read_text("utf-8")[:READ_CHARACTERS]
        except (OSError, UnicodeDecodeError):
            continue
        for kind, pattern in KINDS.items():
            own = sorted({match[match.lastindex or 0].strip() for match in pattern.finditer(text)})
            if own:
                found[kind].append(chance.choice(own))
    waiting = {kind: _each_once(tokens) for kind, tokens in found.items()}
    tokens: list[Token] = []
    while len(tokens) < count and waiting:
        for kind in list(waiting):
            token = next(filter(None, (_token(program, repo, root, kind, text) for text in waiting[kind])), None)
            if token is None:
                del waiting[kind]
            elif len(tokens) < count:
                tokens.append(token)
    return tokens


def ask_tokens(root: Path, home: Path, form: str, tokens: Sequence[Token]) -> Iterator[TokenAnswer]:
    """Yields the answers of `search_code`, with no other argument, from one server that has the index."""
    sources = Sources(root)
    with serving(root, home, *options_of(form)) as server:
        server.initialize()
        wait_until_indexed(server)
        for token in tokens:
            said, seconds = ask_until_answered(server, "search_code", {"query": token.text})
            last = said[-1]
            yield _judged(token, last.text, read_answer(last.text, is_error=last.is_error), seconds * 1000, sources)


def tokens_table(answers: Sequence[TokenAnswer]) -> str:
    """Returns the figures by kind of token."""
    header = ("token", "n", "its line first", "lines shown", "characters / rg p50", "all", "ms p50", "p95", "errors")
    groups = [*((kind, [answer for answer in answers if answer.kind == kind]) for kind in KINDS), ("all", list(answers))]
    return markdown_table(header, [(name, *_cells(rows)) for name, rows in groups if rows], "<" + ">" * 8)


def _cells(rows: Sequence[TokenAnswer]) -> tuple[str, ...]:
    ratios = [row.characters / row.rg_characters for row in rows if row.rg_characters]
    read = sum(row.characters for row in rows if row.rg_characters)
    milliseconds = [row.ms for row in rows]
    return (
        str(len(rows)),
        f"{sum(row.is_first for row in rows) / len(rows):.3f}",
        f"{sum(row.n_shown >= row.n_needed for row in rows) / len(rows):.3f}",
        f"{percentile(ratios, 0.5):.2f}" if ratios else "",
        f"{read / max(1, sum(row.rg_characters for row in rows)):.2f}",
        f"{percentile(milliseconds, 0.5):,.0f}",
        f"{percentile(milliseconds, 0.95):,.0f}",
        str(sum(row.is_error for row in rows)),
    )


def _judged(
    token: Token, text: str, read: ReadAnswer, milliseconds: float, sources: Callable[[str], Sequence[str]]
) -> TokenAnswer:
    places = list(read.places)
    shown = {line for place in places for line in _lines_of(place)}
    return TokenAnswer(
        repo=token.repo,
        kind=token.kind,
        query=token.text,
        n_lines=len(token.lines),
        n_needed=min(len(token.lines), DEFAULT_LIMIT),
        n_shown=len(shown & token.lines),
        is_first=bool(places) and bool(set(_first_lines(places[0])) & token.lines),
        characters=len(text),
        rg_characters=grep_characters(
            [Place(path=path, line_start=line, line_end=line, lines=(line,)) for path, line in sorted(shown & token.lines)],
            sources,
        ),
        ms=milliseconds,
        is_error=read.admits and not places,
        text=text[:4000],
    )


def _lines_of(place: Place) -> list[tuple[str, int]]:
    """Returns the lines whose text a place shows; a heading shows the first line of its definition."""
    heading = [] if place.line_start is None else [place.line_start]
    return [(place.path, line) for line in dict.fromkeys((*heading, *place.lines))]


def _first_lines(place: Place) -> list[tuple[str, int]]:
    return _lines_of(place)[:1] if place.line_start is None or not place.lines else _lines_of(place)[:2]


def _token(program: str, repo: str, root: Path, kind: str, text: str) -> Token | None:
    """Returns the token with its lines; None if it stands on too many, or only in files that ripgrep does not read."""
    command = [
        program,
        "--no-config",
        "--no-heading",
        "--null",
        "--line-number",
        "--color",
        "never",
        "--hidden",
        "--glob",
        "!.git",
    ]
    done = subprocess.run(
        [*command, "--word-regexp", "--fixed-strings", "--regexp", text, "--", "."],
        cwd=root,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=DEADLINE_SECONDS,
    )
    rows = [_ROW.fullmatch(row) for row in done.stdout.decode("utf-8", "replace").split("\n") if row]
    known = [row for row in rows if row is not None]
    if any(len(row["text"]) > LONGEST_LINE for row in known):
        return None
    lines = frozenset((row["path"].removeprefix("./"), int(row["line"])) for row in known)
    return Token(kind, repo, text, lines) if 0 < len(lines) <= MOST_LINES else None


def _each_once(texts: Sequence[str]) -> Iterator[str]:
    yield from dict.fromkeys(texts)
