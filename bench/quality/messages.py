"""Whether a pasted message finds its line: `python -m bench.quality.messages --trees DIR --truth DIR --home DIR`.

Each row of messages.jsonl (a string literal as somebody pastes it: verbatim, or with its placeholders filled) is searched for in
the whole repository with the default arguments. It is found at the first rank whose hit holds the line and is at most 120 lines
long. --variants repeats the verbatim rows with what surrounds a message on a screen. `--set commits` searches for the subjects of
commits instead, where a hit must touch a function that the commit changed. --home has the indexes that
`python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.figures import percentile
from bench.job import layout_for
from bench.quality.data import Answer, Hit, Repository, read_lines, write_lines
from bench.quality.harness import WorkTree, find_trees
from bench.table import plain_table
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot

LIMIT: Final = 10
MAX_LINES: Final = 120
CUTS: Final = (1, 3, 10)
SETS: Final = ("messages", "commits")


class Place(Struct, frozen=True):
    """Lines of a file, 1-based and inclusive."""

    path: str
    line_start: int
    line_end: int


class Row(Struct, frozen=True, kw_only=True):
    """A query, and its right answers."""

    repo: str
    language: str
    query: str
    category: str
    relevant: tuple[Place, ...]


Variant = Callable[[Row], str]
"""Returns a query made from a message, '' if that makes no sense."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.messages", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--set", choices=SETS, default="messages")
    parser.add_argument("--variants", action="store_true", help="ask again with prefixes, quotes, line wraps, escapes, places")
    parser.add_argument("--run", type=Path, help="write the answers here, a line each")
    parser.add_argument("--misses", type=int, default=0, help="show so many of each group that were not first")
    options = parser.parse_args(arguments)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    rows = read_lines(_data(options.truth, f"{options.set}.jsonl"), Row)
    variants = VARIANTS if options.variants else {}
    ranks: dict[str, list[int | None]] = defaultdict(list)
    answers: list[Answer] = []
    for tree in trees:
        own = [row for row in rows if row.repo == tree.repository.repo]
        for row, variant, answer in ask_tree(tree, options.home, own, variants):
            rank = rank_of(row, answer.results, is_within=options.set == "messages")
            groups = (variant,) if variant else ("overall", row.category, f"language:{row.language}")
            for group in groups:
                ranks[group].append(rank)
            if not variant:
                answers.append(answer)
            if rank != 1 and sum(other != 1 for other in ranks[groups[-1 if variant else 1]]) <= options.misses:
                print(f"{variant or row.category}: {row.repo}: rank {rank}: {answer.query!r}", file=sys.stderr)
    print(messages_table(ranks))
    times = [answer.ms for answer in answers if answer.ms is not None]
    if times:
        print(f"\nanswers: p50 {percentile(times, 0.5):.1f} ms, p95 {percentile(times, 0.95):.1f} ms")
    if options.run is not None:
        write_lines(options.run, answers)
    return 0


def ask_tree(
    tree: WorkTree, home: Path, rows: Sequence[Row], variants: Mapping[str, Variant]
) -> Iterable[tuple[Row, str, Answer]]:
    """Yields (row, name of the variant, answer) for each row verbatim ('') and in each variant."""
    root = canonical_root(tree.path)
    with WorkspaceIndex(layout_for(root, home), project_id(root)).snapshot() as snapshot:
        for row in rows:
            yield row, "", ask(snapshot, row.repo, row.query)
            for name, variant in variants.items() if row.category == "verbatim" else ():
                asked = variant(row)
                if asked:
                    yield row, name, ask(snapshot, row.repo, asked)


def ask(snapshot: Snapshot, repo: str, query: str) -> Answer:
    """Returns the hits of a search with the default arguments."""
    state = AnswerState(workspace="/", project_id=snapshot.project_id, ref="live")
    began = time.perf_counter()
    reply = search_code(snapshot, SearchCode(query=query, limit=LIMIT), state)
    milliseconds = (time.perf_counter() - began) * 1000
    hits = tuple(Hit(path=hit.path, line_start=hit.line_start, line_end=hit.line_end) for hit in reply.results)
    return Answer(repo=repo, query=query, results=hits, ms=round(milliseconds, 3))


def rank_of(row: Row, hits: Sequence[Hit], *, is_within: bool) -> int | None:
    """Returns the rank of the first hit that holds the first line of a right answer (`is_within`), or that touches one."""
    for rank, hit in enumerate(hits[:LIMIT], 1):
        if hit.line_start is None or hit.line_end is None or hit.line_end - hit.line_start > MAX_LINES:
            continue
        for place in row.relevant:
            last = place.line_start if is_within else place.line_end
            if hit.path == place.path and hit.line_start <= last and hit.line_end >= place.line_start:
                return rank
    return None


def messages_table(ranks: Mapping[str, Sequence[int | None]]) -> str:
    """Returns the share of rows found among the first one, three and ten hits, by group."""
    order = sorted(ranks, key=lambda group: (group.startswith("language:"), group != "overall", group))
    rows = []
    for group in order:
        shares = [sum(rank is not None and rank <= cut for rank in ranks[group]) / len(ranks[group]) for cut in CUTS]
        rows.append((group, *(f"{share:.3f}" for share in shares), str(len(ranks[group]))))
    return plain_table(("group", *(f"at@{cut}" for cut in CUTS), "n"), rows, "<>>>>")


def _wrapped(row: Row) -> str:
    words = row.query.split(" ")
    return "\n    ".join((" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :]))) if len(words) > 3 else ""


def _escaped(row: Row) -> str:
    escaped = "".join(character if character.isascii() else f"\\u{ord(character):04x}" for character in row.query)
    escaped = escaped.replace('"', '\\"').replace("'", "\\'")
    return f'"{escaped}\\n"' if all(ord(character) < 0x10000 for character in row.query) else ""


VARIANTS: Final[Mapping[str, Variant]] = {
    "variant: a log prefix": lambda row: f"2026-03-01 12:30:05,123 ERROR [worker-3] app.jobs.runner - {row.query}",
    "variant: time, level, key=value": lambda row: f'time=2026-03-01T12:30:05Z level=error msg="{row.query}" attempt=3',
    "variant: Error: before it": lambda row: f"Error: {row.query}",
    "variant: an exception class before it": lambda row: f"shop.errors.OrderError: {row.query}",
    "variant: a panic": lambda row: f"thread 'main' panicked at src/nowhere/run.rs:10:5:\n{row.query}",
    "variant: colours": lambda row: f"\x1b[1m\x1b[31merror[E0001]\x1b[0m: {row.query}\x1b[0m",
    "variant: quotes": lambda row: f'"{row.query}"',
    "variant: wrapped": _wrapped,
    "variant: escapes": _escaped,
    "variant: its place after it": lambda row: f"{row.query} at {row.relevant[0].path}:{row.relevant[0].line_start}",
    "variant: a place elsewhere before it": lambda row: f"/home/ci/build/nowhere/run.c:17:3: error: {row.query}",
    "variant: lower case": lambda row: row.query.lower(),
}
"""Defined last because it refers to the functions above."""


def _data(directory: Path, name: str) -> Path:
    inside = directory / "dev" / name
    return inside if inside.is_file() else directory / name


if __name__ == "__main__":
    sys.exit(main())
