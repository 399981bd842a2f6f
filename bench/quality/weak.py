"""Whether an answer says that nothing fits: `python -m bench.quality.weak --trees DIR --truth DIR --home DIR`.

Each question of semble.jsonl and each subject of commits.jsonl is asked of its own repository and of --others others, chosen by a
seed. An answer to the latter should be `weak`, one to the former should not, least of all with a right file on the page. AUC is
how often an answer of the own repository ranks above one of another, ordered by `weak` and then by the score of the first hit;
`score` is the same without `weak`. --home has the indexes that `python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Final

from msgspec import Struct

from bench.corpus import OUT
from bench.job import layout_for
from bench.quality.data import Repository, read_lines, write_lines
from bench.quality.harness import WorkTree, find_trees
from bench.table import plain_table
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.store.index import WorkspaceIndex

LIMIT: Final = 10
SETS: Final = ("semble", "commits")


class RightFile(Struct, frozen=True):
    """A file that answers a question."""

    path: str


class Asked(Struct, frozen=True, kw_only=True):
    """A question and the files that answer it in its own repository."""

    repo: str
    query: str
    relevant: tuple[RightFile, ...]


class Judged(Struct, frozen=True, kw_only=True):
    """An answer of the repository `asked` to a question of `repo`. `is_right`: its page has a file that answers the question."""

    set: str
    repo: str
    asked: str
    query: str
    is_weak: bool
    score: float
    is_right: bool

    @property
    def is_own(self) -> bool:
        """Whether the repository is the question's own."""
        return self.repo == self.asked


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.weak", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--others", type=int, default=2, help="other repositories that each question is asked of")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "weak", help="the run file")
    options = parser.parse_args(arguments)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    inside = options.truth / "dev"
    data = inside if inside.is_dir() else options.truth
    questions = {name: read_lines(data / f"{name}.jsonl", Asked) for name in SETS}
    judged = list(ask_all(trees, questions, options.home, options.others, options.seed))
    write_lines(options.out / "run.jsonl", judged)
    print(weak_table(judged))
    return 0


def ask_all(
    trees: Sequence[WorkTree], questions: Mapping[str, Sequence[Asked]], home: Path, n_others: int, seed: int
) -> Iterator[Judged]:
    """Yields the answers, by the repository that is asked."""
    names = [tree.repository.repo for tree in trees]
    random = Random(seed)
    by_tree: dict[str, list[tuple[str, Asked]]] = defaultdict(list)
    for name, rows in questions.items():
        for row in rows:
            others = [each for each in names if each != row.repo]
            if row.repo in names:
                for asked in (row.repo, *random.sample(others, min(n_others, len(others)))):
                    by_tree[asked].append((name, row))
    for tree in trees:
        root = canonical_root(tree.path)
        state = AnswerState(workspace=str(root), project_id=project_id(root), ref="live")
        with WorkspaceIndex(layout_for(root, home), project_id(root)).snapshot() as snapshot:
            for name, row in by_tree[tree.repository.repo]:
                reply = search_code(snapshot, SearchCode(query=row.query, limit=LIMIT), state)
                paths = {result.path for result in reply.results}
                yield Judged(
                    set=name,
                    repo=row.repo,
                    asked=tree.repository.repo,
                    query=row.query,
                    is_weak=reply.weak,
                    score=reply.results[0].score or 0.0 if reply.results else 0.0,
                    is_right=row.repo == tree.repository.repo and any(each.path in paths for each in row.relevant),
                )


def weak_table(judged: Sequence[Judged]) -> str:
    """Returns the figures of all questions and of each set."""
    groups: dict[str, list[Judged]] = {"all": list(judged)}
    for each in judged:
        groups.setdefault(each.set, []).append(each)
    rows = [
        (
            name,
            f"{auc(found, lambda each: (not each.is_weak, each.score)):.3f}",
            f"{auc(found, lambda each: (True, each.score)):.3f}",
            f"{_weak_share([each for each in found if not each.is_own]):.3f}",
            f"{_weak_share([each for each in found if each.is_own]):.3f}",
            f"{_weak_share([each for each in found if each.is_right]):.3f}",
            str(len(found)),
        )
        for name, found in groups.items()
    ]
    header = ("questions", "AUC", "score", "weak, of another", "weak, of its own", "weak, right on the page", "n")
    return plain_table(header, rows, "<>>>>>>")


def auc(judged: Sequence[Judged], value: Callable[[Judged], tuple[bool, float]]) -> float:
    """Returns how often the value of an own answer is above that of another; equal ones count half. 0 if there is no pair."""
    own = [value(each) for each in judged if each.is_own]
    others = [value(each) for each in judged if not each.is_own]
    return mean((mine > other) + 0.5 * (mine == other) for mine in own for other in others) if own and others else 0.0


def _weak_share(judged: Sequence[Judged]) -> float:
    return mean(each.is_weak for each in judged) if judged else 0.0


if __name__ == "__main__":
    sys.exit(main())
