"""How large answers are: `python -m bench.quality.sizes --trees DIR --truth DIR --home DIR`.

Bytes of hits and answers by detail level, the share of bytes that `compact` leaves of a page of functions, and whether answers of
get_code_context stay within random budgets as real vocabularies count tokens. --home has the indexes that
`python -m bench.quality --mode whole --out OUT` left (OUT/index).
"""

import argparse
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Final, get_args

from msgspec import Struct
from rs_bpe.bpe import openai  # type: ignore[import-not-found]

from bench.figures import percentile
from bench.job import layout_for
from bench.quality.data import Repository, Truth, read_lines
from bench.quality.harness import find_trees
from bench.table import plain_table
from codecompass.errors import InvalidMaxTokens
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import DetailLevel, GetCodeContext, LocateSymbol, SearchCode, Strategy
from codecompass.query import get_code_context, locate_symbol, search_code
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot

FULL_PAGE: Final = 5
"""Minimum number of functions of a page for the comparison of `compact`."""

LEAST_BUDGET: Final = 30
DECADES: Final = 3.0
"""Budgets are log-uniform, from the smallest one over this many decades."""

Sizes = defaultdict[str, list[int]]


class Budgets(Struct, frozen=True):
    """Results of random budgets: the number of answers, of those without room for code (refused), of those above their budget;
    and for the answers, the largest token count of the vocabularies divided by the promised count, and by the budget if
    something was left out."""

    answers: int
    refused: int
    exceeded: int
    of_promised: tuple[float, ...]
    of_budget: tuple[float, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 1 if an answer exceeded its budget."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.sizes", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--budgets", type=int, default=20, help="random budgets for each tree")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    data = options.truth / "dev" if (options.truth / "dev").is_dir() else options.truth
    searches, lookups = read_lines(data / "semble.jsonl", Truth), read_lines(data / "nav.jsonl", Truth)
    sizes: Sizes = defaultdict(list)
    compact: list[float] = []
    budgets: list[Budgets] = []
    random = Random(options.seed)
    for snapshot, state, name in _snapshots(options.trees, options.truth, options.home):
        questions = [truth.query for truth in searches if truth.repo == name]
        names = [truth.query for truth in lookups if truth.repo == name]
        _measure(snapshot, state, questions, names, sizes)
        compact += compact_shares(snapshot, state, questions)
        budgets.append(random_budgets(snapshot, state, questions + names, random, options.budgets, vocabularies()))
    print(sizes_table(sizes))
    print(
        f"\ncompact over context, pages of functions: median {percentile(compact, 0.5):.3f}, p95 {percentile(compact, 0.95):.3f}"
    )
    promised = [share for some in budgets for share in some.of_promised]
    filled = [share for some in budgets for share in some.of_budget]
    total = Counter[str]()
    for some in budgets:
        total.update(answers=some.answers, refused=some.refused, exceeded=some.exceeded)
    print(f"\nget_code_context: {total['answers']} answers, {total['refused']} refused, {total['exceeded']} exceed their budget;")
    print(f"  tokens over those promised: mean {sum(promised) / len(promised):.2f}, largest {max(promised):.2f}")
    print(f"  tokens over the budget, where something was left out: mean {sum(filled) / max(1, len(filled)):.2f}")
    return 1 if total["exceeded"] else 0


def vocabularies() -> dict[str, Callable[[str], int]]:
    """Returns the token counter of each vocabulary."""
    return {"cl100k": openai.cl100k_base().count, "o200k": openai.o200k_base().count}


def compact_shares(snapshot: Snapshot, state: AnswerState, questions: Sequence[str]) -> list[float]:
    """Returns the share of bytes that `compact` leaves of an answer at level `context`, for each page full of functions."""
    shares = []
    for question in questions:
        whole = search_code(snapshot, SearchCode(query=question, kind="fn", detail_level="context"), state)
        if len(whole.results) >= FULL_PAGE:
            request = SearchCode(query=question, kind="fn", detail_level="context", compact=True)
            shares.append(len(encode(search_code(snapshot, request, state))) / len(encode(whole)))
    return shares


def random_budgets(
    snapshot: Snapshot,
    state: AnswerState,
    questions: Sequence[str],
    random: Random,
    count: int,
    counters: Mapping[str, Callable[[str], int]],
) -> Budgets:
    """Requests context with random budgets, in both strategies."""
    answers = refused = exceeded = 0
    promised, filled = [], []
    for _ in range(count if questions else 0):
        budget = int(LEAST_BUDGET * 10 ** random.uniform(0.0, DECADES))
        request = GetCodeContext(query=random.choice(questions), max_tokens=budget, strategy=random.choice(get_args(Strategy)))
        try:
            reply = get_code_context(snapshot, request, state)
        except InvalidMaxTokens:
            refused += 1
            continue
        text = encode(reply).decode()
        tokens = max(counter(text) for counter in counters.values())
        answers += 1
        exceeded += tokens > budget
        promised.append(tokens / reply.estimated_tokens)
        if reply.truncated and reply.context_items:
            filled.append(tokens / budget)
    return Budgets(answers, refused, exceeded, tuple(promised), tuple(filled))


def sizes_table(sizes: Mapping[str, Sequence[int]]) -> str:
    """Returns the bytes of each kind of hit and answer: median, 95th percentile, maximum."""
    rows = [
        (name, f"{percentile(some, 0.5):.0f}", f"{percentile(some, 0.95):.0f}", f"{max(some):,}", f"{len(some):,}")
        for name, some in sorted(sizes.items())
    ]
    return plain_table(("bytes", "median", "p95", "largest", "n"), rows, "<>>>>")


def _measure(snapshot: Snapshot, state: AnswerState, questions: Sequence[str], names: Sequence[str], sizes: Sizes) -> None:
    for level in get_args(DetailLevel):
        requests: list[SearchCode | LocateSymbol] = [SearchCode(query=question, detail_level=level) for question in questions]
        requests += [LocateSymbol(name=name, detail_level=level) for name in names]
        for request in requests:
            reply = (
                search_code(snapshot, request, state)
                if isinstance(request, SearchCode)
                else locate_symbol(snapshot, request, state)
            )
            sizes[f"answer, {level}"].append(len(encode(reply)))
            for result in reply.results:
                sizes[f"{'symbol' if result.symbol_id else 'other'} hit, {level}"].append(len(encode(result)))


def _snapshots(directory: Path, truth: Path, home: Path) -> Iterator[tuple[Snapshot, AnswerState, str]]:
    trees, _ = find_trees(read_lines(truth / "repos.jsonl", Repository), directory)
    for tree in trees:
        root = canonical_root(tree.path)
        state = AnswerState(workspace=str(root), project_id=project_id(root), ref="main")
        with WorkspaceIndex(layout_for(root, home), project_id(root)).snapshot() as snapshot:
            yield snapshot, state, tree.repository.repo


if __name__ == "__main__":
    sys.exit(main())
