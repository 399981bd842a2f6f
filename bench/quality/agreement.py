"""Compares literal and regular expression search with ripgrep: `python -m bench.quality.agreement --trees DIR --home DIR`.

Patterns are made from lines of the files themselves, so that most of them match. Both search the indexed files in UTF-8, and of
those the lines that are not too long to be indexed; a difference is a line that only one of them finds. --home has the indexes
that `python -m bench.quality --out` left (OUT/index).
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Final, Literal

from msgspec import Struct

from bench.job import layout_for
from codecompass.errors import IndexNotReady
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.requests import SearchCode
from codecompass.query.options import QueryOptions
from codecompass.query.search import find
from codecompass.query.source_lines import chunk_lines
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Narrowing

Mode = Literal["literal", "regex"]
Line = tuple[str, int]

EVERYTHING: Final = 10**9
SHOWN_LINES: Final = 3

MAX_LINE_CHARACTERS: Final = Settings().index.max_line_length
"""Of the settings that the indexes were made with."""

_IN_RIPGREP: Final = {
    # RE2's classes are ASCII, ripgrep's are Unicode.
    r"\w": "[0-9A-Za-z_]",
    r"\d": "[0-9]",
    r"\s": r"[\t\n\f\r ]",
    r"\b": r"(?-u:\b)",
}


class Pattern(Struct, frozen=True):
    """A text to search for, and the mode."""

    mode: Mode
    text: str


class Difference(Struct, frozen=True):
    """Lines that only one of the two found for a pattern."""

    pattern: Pattern
    only_ours: tuple[Line, ...]
    only_theirs: tuple[Line, ...]


class Agreement(Struct, frozen=True):
    """How many patterns were compared, how many of them matched anything, and those that differed."""

    compared: int
    matching: int
    differences: tuple[Difference, ...]


def compare(snapshot: Snapshot, root: Path, ripgrep: str, seed: int, count: int) -> Agreement:
    """Compares the results of `count` random patterns. Raises CalledProcessError if ripgrep refuses one."""
    random = Random(seed)
    lines = sorted(_sample(snapshot, random))
    differences = []
    matching = 0
    for _ in range(count if lines else 0):
        pattern = random_pattern(random, lines)
        ours, theirs = our_lines(snapshot, pattern), ripgrep_lines(ripgrep, root, pattern, snapshot)
        matching += bool(theirs)
        if ours != theirs:
            differences.append(Difference(pattern, tuple(sorted(ours - theirs)), tuple(sorted(theirs - ours))))
    return Agreement(count if lines else 0, matching, tuple(differences))


def our_lines(snapshot: Snapshot, pattern: Pattern) -> set[Line]:
    """Returns all lines that our search finds."""
    request = SearchCode(query=pattern.text, mode=pattern.mode)
    hits = find(snapshot, request, EVERYTHING, QueryOptions(max_matched_lines=EVERYTHING, counted_lines=EVERYTHING))
    found = {(shown.place.file.path, line.line) for shown in hits.shown for line in shown.matched_lines}
    return {line for line in found if _is_compared(snapshot, line[0])}


def ripgrep_lines(ripgrep: str, root: Path, pattern: Pattern, snapshot: Snapshot) -> set[Line]:
    """Returns the lines that ripgrep finds in the indexed files."""
    options = ["--no-config", "--no-ignore", "--hidden", "--text", "--crlf", "--line-number", "--no-heading", "--null"]
    # The text of the lines is not needed.
    options += ["--max-columns", "1", *(["--fixed-strings"] if pattern.mode == "literal" else [])]
    text = pattern.text if pattern.mode == "literal" else in_ripgrep(pattern.text)
    done = subprocess.run([ripgrep, *options, "--regexp", text, "."], cwd=root, capture_output=True, check=False)
    if done.returncode > 1 and not done.stdout:
        raise subprocess.CalledProcessError(done.returncode, [ripgrep, text], done.stdout, done.stderr)
    found = set()
    for row in done.stdout.split(b"\n"):
        path, _, rest = row.partition(b"\0")
        if rest:
            found.add((path.removeprefix(b"./").decode("utf-8", "surrogateescape"), int(rest.partition(b":")[0])))
    lines = {path: _compared_lines(snapshot, root, path) for path in {path for path, _ in found}}
    return {(path, line) for path, line in found if lines[path] is None or line in lines[path]}


def in_ripgrep(pattern: str) -> str:
    """Returns an RE2 pattern in ripgrep's dialect."""
    return re.sub(r"\\.", lambda escape: _IN_RIPGREP.get(escape[0], escape[0]), pattern, flags=re.DOTALL)


def random_pattern(random: Random, lines: Sequence[str]) -> Pattern:
    """Returns a piece of a line, verbatim or generalized to a regular expression."""
    piece = _piece(random, random.choice(lines))
    if random.random() < 0.4:
        return Pattern("literal", piece)
    pattern = "".join(_loosened(random, part) for part in re.findall(r"\w+|\s+|[^\w\s]", piece))
    form = random.randrange(10)
    if form == 0:
        pattern = rf"^\s*{pattern}"
    elif form == 1:
        pattern = rf"{pattern}.*$"
    elif form == 2:
        pattern = f"(?:{pattern}|{_escaped(_piece(random, random.choice(lines)))})"
    elif form == 3:
        pattern = f"(?i){pattern}"
    elif form == 4 and piece[0].isalnum() and piece[0].isascii():
        pattern = rf"\b{pattern}"
    elif form == 5:
        pattern = rf"\b{random.choice(re.findall(r'[0-9A-Za-z_]+', piece) or ['x'])}\b\s*\("
    elif form == 6:
        words = re.findall(r"[A-Za-z]+", piece) or ["x"]
        pattern = rf"(?i){random.choice(words)}\w*{random.choice(words)}"
    return Pattern("regex", pattern)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 1 if anything differed."""
    layout = argparse.RawTextHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.agreement", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--ripgrep", default="rg")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=40, help="patterns for each tree")
    options = parser.parse_args(arguments)
    results = []
    for tree in sorted(path for path in options.trees.iterdir() if path.is_dir()):
        root = canonical_root(tree)
        try:
            with WorkspaceIndex(layout_for(root, options.home), project_id(root)).snapshot() as snapshot:
                result = compare(snapshot, root, options.ripgrep, options.seed, options.count)
        except IndexNotReady:
            print(f"{tree.name}: has no index, left out")
            continue
        results.append(result)
        for difference in result.differences:
            print(f"{tree.name}: {difference.pattern.mode} {difference.pattern.text!r}")
            print(f"  only ours: {difference.only_ours[:SHOWN_LINES]}; only ripgrep's: {difference.only_theirs[:SHOWN_LINES]}")
    compared, matching = sum(result.compared for result in results), sum(result.matching for result in results)
    differing = sum(len(result.differences) for result in results)
    print(f"{compared} patterns, {matching} of them match something, {differing} differ")
    return 1 if differing else 0


def _sample(snapshot: Snapshot, random: Random, count: int = 300) -> Iterator[str]:
    """Yields random lines of some files, except blank and very long ones."""
    everything = snapshot.text.chunks_holding(Narrowing())
    for passage in everything.passages(random.sample(range(len(everything)), min(count, len(everything)))):
        lines = [line for line in chunk_lines(passage.text) if 3 <= len(line.strip()) <= 200]
        if lines:
            yield random.choice(lines)


def _piece(random: Random, line: str) -> str:
    line = line.strip()
    start = random.randrange(len(line) - 2)
    return line[start : start + random.randint(3, 40)].strip() or line


def _loosened(random: Random, part: str) -> str:
    """Returns a pattern for a word, a run of blanks or a punctuation mark, verbatim in most cases."""
    if random.random() < 0.6:
        return _escaped(part)
    if part.isspace():
        return r"\s+"
    if not part.isascii():
        return ".+"
    if part.isdigit():
        return r"\d+"
    if part.isalnum() or "_" in part:
        head = _escaped(part[:2])
        return random.choice([r"\w+", rf"{head}\w*", rf"[{part[0]}x]{_escaped(part[1:])}", rf"\b{_escaped(part)}\b"])
    return random.choice([".", f"{_escaped(part)}?", rf"{_escaped(part)}{{1,2}}", r"[^\w\s]"])


def _escaped(text: str) -> str:
    """Returns the text as a pattern valid in both dialects: backslashes only before special characters."""
    return re.sub(r"[\\^$.|?*+()\[\]{}]", lambda mark: f"\\{mark[0]}", text)


def _is_compared(snapshot: Snapshot, path: str) -> bool:
    """Whether a file is indexed and both read it as UTF-8."""
    file = snapshot.facts.file(path)
    return file is not None and file.status == "indexed" and not file.encoding


def _compared_lines(snapshot: Snapshot, root: Path, path: str) -> Collection[int] | None:
    """Returns the lines of a file that are indexed, from 1; None for all."""
    if not _is_compared(snapshot, path):
        return ()
    file = snapshot.facts.file(path)
    if file is None or not file.long_lines:
        return None
    lines = (root / path).read_bytes().decode().replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return {number for number, line in enumerate(lines, 1) if len(line) <= MAX_LINE_CHARACTERS}


if __name__ == "__main__":
    sys.exit(main())
