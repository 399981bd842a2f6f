"""Whether a question that names a role finds it: `python -m bench.quality.roles --trees DIR --truth DIR --home DIR`.

A question asks for the tests, the guide, the default, the implementation .. of something. Each row of roles.jsonl is a search of
the whole repository with the default arguments. Its right answers were found by reading the trees; a right answer without lines
is the whole file. It is found at a rank if the hit has the path and touches the lines, with its own range or one of `also`.
--home has the indexes that `python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from bench.job import layout_for
from bench.quality.data import Repository, read_lines
from bench.quality.harness import find_trees
from bench.table import plain_table
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import Result
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot

LIMIT: Final = 10
CUTS: Final = (1, 5, 10)
MISS_PLACES: Final = 3
ROWS: Final = Path(__file__).parent / "roles.jsonl"


class Place(Struct, frozen=True, omit_defaults=True):
    """Lines of a file, 1-based and inclusive; without them the whole file."""

    path: str
    line_start: int | None = None
    line_end: int | None = None


class Row(Struct, frozen=True, kw_only=True):
    """A query, the kind of thing that it asks for, and every right answer."""

    id: str
    repo: str
    kind: str
    query: str
    relevant: tuple[Place, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.roles", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--rows", type=Path, default=ROWS, help="default: roles.jsonl beside the module")
    parser.add_argument("--misses", type=int, default=0, help="show so many of each kind that were not first")
    options = parser.parse_args(arguments)
    rows = read_lines(options.rows, Row)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    ranks: dict[str, list[int | None]] = defaultdict(list)
    missed: dict[str, int] = defaultdict(int)
    for tree in trees:
        root = canonical_root(tree.path)
        asked = [row for row in rows if row.repo == tree.repository.repo]
        if not asked:
            continue
        with WorkspaceIndex(layout_for(root, options.home), project_id(root)).snapshot() as snapshot:
            for row, results in ask(snapshot, asked):
                rank = rank_of(row, results)
                ranks["overall"].append(rank)
                ranks[row.kind].append(rank)
                missed[row.kind] += rank != 1
                if rank != 1 and missed[row.kind] <= options.misses:
                    print(miss_line(row, rank, results), file=sys.stderr)
    print(roles_table(ranks))
    return 0


def ask(snapshot: Snapshot, rows: Sequence[Row]) -> Iterator[tuple[Row, Sequence[Result]]]:
    """Yields each row with the results of a search with the default arguments."""
    state = AnswerState(workspace="/", project_id=snapshot.project_id, ref="live")
    for row in rows:
        yield row, search_code(snapshot, SearchCode(query=row.query, limit=LIMIT), state).results


def rank_of(row: Row, results: Sequence[Result]) -> int | None:
    """Returns the rank of the first result that is a right answer; None if none is."""
    return next(
        (rank for rank, result in enumerate(results[:LIMIT], 1) if any(_answers(result, place) for place in row.relevant)), None
    )


def roles_table(ranks: Mapping[str, Sequence[int | None]]) -> str:
    """Returns the share of questions with a right answer first, in five and in ten, by kind."""
    rows = []
    for kind in sorted(ranks, key=lambda kind: (kind != "overall", kind)):
        shares = [sum(rank is not None and rank <= cut for rank in ranks[kind]) / len(ranks[kind]) for cut in CUTS]
        rows.append((kind, *(f"{share:.3f}" for share in shares), str(len(ranks[kind]))))
    return plain_table(("kind", *(f"at@{cut}" for cut in CUTS), "n"), rows, "<>>>>")


def miss_line(row: Row, rank: int | None, results: Sequence[Result]) -> str:
    """Returns a line about a question without a right first answer: the right rank, and what came first."""
    shown = ", ".join(f"{result.path}:{result.line_start}-{result.line_end}" for result in results[:MISS_PLACES])
    return f"{row.id} {row.repo}: {row.query!r}: {'not in ten' if rank is None else f'rank {rank}'}; {shown or 'nothing found'}"


def _answers(result: Result, place: Place) -> bool:
    if result.path != place.path:
        return False
    if place.line_start is None or place.line_end is None:
        return True
    ranges = [(result.line_start, result.line_end), *((further.line_start, further.line_end) for further in result.also)]
    return any(first <= place.line_end and last >= place.line_start for first, last in ranges)


if __name__ == "__main__":
    sys.exit(main())
