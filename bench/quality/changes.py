"""From a change to its tests, and from one file to the others: `python -m bench.quality.changes REPOSITORY ... --out DIR`.

A REPOSITORY is a clone, bare or not, named NAME=PATH. Truth is made from its history: of the newest commits that change code and
tests (--among, evenly thinned out to --commits), each is measured at its parent. The code of the commit is put into a working
tree of the parent, and `diff_context` is asked which tests go with it: those that the commit changed are the truth (code2test).
Then one changed file of code alone is put there, and the commit's other files are the truth (edit2ripple); an answer's two lists,
read in turns, are what else must change. Only files that the parent has count. A figure is the share of these among the first
twenty, the mean over the rows, then over the repositories.

Nothing of the commit or after it is seen: HEAD is the parent, and so ends the history that the program reads. The baseline is
what an answer without the two lists says: the users of the changed definitions in reading order (tests among them), and the page
of twenty hits of `search_code` asked for "tests for NAME" of the definition with most users.
"""

import argparse
import hashlib
import itertools
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

import msgspec
import trio
from msgspec import Struct

from bench.corpus import OUT
from bench.quality.data import write_lines
from bench.table import plain_table
from codecompass.actors.change_upkeep import history_of_head
from codecompass.actors.differences import IsCancelled, T, read_difference
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.worker_pool import WorkerPool, default_pool_size, open_worker_pool
from codecompass.identity import canonical_root, project_id
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import DiffContext, SearchCode
from codecompass.query import search_code
from codecompass.query.diff_context import diff_context
from codecompass.query.differences.companions import is_test
from codecompass.query.options import QueryOptions
from codecompass.scan.git_roots import ANYWHERE
from codecompass.scan.path_roles import role_of
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout

PLACES: Final = 20
MOST_FILES: Final = 20
"""A commit that changes more files is left out: it is a release, or a change of style."""

ABLATIONS: Final[Mapping[str, frozenset[str]]] = {
    "without history": frozenset({"together", "near", "often"}),
    "without references": frozenset({"uses"}),
    "without names": frozenset({"names"}),
    "without words": frozenset({"words"}),
    "without packages and paths": frozenset({"near", "path", "stem"}),
    "history alone": frozenset({"words", "names", "uses", "path", "stem"}),
}
TASKS: Final = ("code2test", "edit2ripple")


class Row(Struct, frozen=True, kw_only=True):
    """A commit and what it changed of its parent's files."""

    commit: str
    parent: str
    code: tuple[str, ...]
    tests: tuple[str, ...]
    given: str
    others: tuple[str, ...]


class Measured(Struct, frozen=True, kw_only=True):
    """A line of the run file: by system the recall of one task, the milliseconds and the characters of the answer."""

    repo: str
    commit: str
    task: str
    recall: dict[str, float]
    ms: float
    characters: int


def git(root: Path, *arguments: str) -> str:
    """Returns what git prints."""
    done = subprocess.run(["git", "-C", str(root), *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "surrogateescape")


def rows_of(clone: Path, among: int, wanted: int) -> list[Row]:
    """Returns the rows of the newest `among` commits that qualify, evenly thinned out, the oldest first."""
    found: list[Row] = []
    for commit, parent, statuses in _commits(clone):
        changed = [path for path, status in statuses.items() if status == "M"]
        code = tuple(path for path in changed if role_of(path).rank == 0)
        tests = tuple(filter(is_test, changed))
        if not code or not tests or len(statuses) > MOST_FILES:
            continue
        # Any of them, but the same one in each run.
        given = code[int(hashlib.sha256(commit.encode()).hexdigest(), 16) % len(code)]
        others = tuple(path for path in changed if path != given)
        found.append(Row(commit=commit, parent=parent, code=code, tests=tests, given=given, others=others))
        if len(found) == among:
            break
    return [found[at * len(found) // wanted] for at in range(wanted)][::-1] if len(found) > wanted else found[::-1]


def _commits(clone: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yields commits with one parent, newest first, with the status letter of each file."""
    form = ("--no-merges", "--min-parents=1", "--no-renames", "--name-status", "-z", "--format=%x01%H %P")
    for record in git(clone, "log", "--max-count=8000", "--topo-order", *form, "HEAD").split("\x01")[1:]:
        head, _, rest = record.partition("\0")
        words = rest.removeprefix("\n").split("\0")
        yield *head.split(" ", 1), dict(zip(words[1::2], words[::2], strict=False))  # type: ignore[misc]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.changes", description=__doc__, formatter_class=layout)
    parser.add_argument("repositories", nargs="+", help="NAME=PATH")
    parser.add_argument("--among", type=int, default=200)
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--ablations", action="store_true", help="leave out each signal, too")
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "changes", help="working trees, indexes and run files")
    options = parser.parse_args(arguments)
    measured: list[Measured] = []
    for named in options.repositories:
        name, _, path = named.partition("=")
        rows = rows_of(Path(path), options.among, options.commits)
        began = time.process_time()
        own = trio.run(_measured, name, Path(path), rows, options.out, options.ablations)
        write_lines(options.out / f"{name}.jsonl", own)
        measured += own
        print(f"{name}: {len(rows)} commits, {time.process_time() - began:.0f} s\n{table(own)}", file=sys.stderr, flush=True)
    print(table(measured))
    return 0


async def _measured(name: str, clone: Path, rows: Sequence[Row], out: Path, ablations: bool) -> list[Measured]:
    root = _tree(name, clone, out)
    found: list[Measured] = []
    async with open_worker_pool(default_pool_size()) as pool:
        for row in rows:
            git(root, "checkout", "--quiet", "--force", "--detach", row.parent)
            for task, paths, truth in (("code2test", row.code, row.tests), ("edit2ripple", (row.given,), row.others)):
                if truth:
                    git(root, "reset", "--quiet", "--hard")
                    git(root, "checkout", row.commit, "--", *paths)
                    asked = Asked(root, out, pool, paths)
                    found.append(await asked.measured(name, row.commit, task, truth, ABLATIONS if ablations else {}))
    return found


def _tree(name: str, clone: Path, out: Path) -> Path:
    root = out / "trees" / name
    if not root.is_dir():
        root.parent.mkdir(parents=True, exist_ok=True)
        command = ["git", "clone", "--quiet", "--shared", "--no-checkout", str(clone), str(root)]
        subprocess.run(command, check=True, capture_output=True)
    return canonical_root(root)


class Asked:
    """A working tree with a change in it."""

    def __init__(self, root: Path, out: Path, pool: WorkerPool, paths: Collection[str]) -> None:
        self._root, self._pool, self._paths = root, pool, paths
        self._layout = HomeLayout(out / "home").project(project_id(root))
        self._limits = IndexLimits(rules=ScanRules())
        self._state = AnswerState(workspace=str(root), project_id=project_id(root), ref="HEAD")

    async def measured(
        self, name: str, commit: str, task: str, truth: Collection[str], ablations: Mapping[str, frozenset[str]]
    ) -> Measured:
        """Indexes the tree, asks, and returns what of the truth was found."""
        await IndexJob(
            JobContext(root=self._root, layout=self._layout, pool=self._pool, limits=self._limits), JobOrder(job_id="bench")
        ).run()
        history = history_of_head(self._layout, str(self._root), ANYWHERE)
        request = DiffContext(base="HEAD")
        difference = await read_difference(self._root, request, self._limits, self._pool, _here)
        with WorkspaceIndex(self._layout, project_id(self._root)).snapshot() as snapshot:

            def answer(without: frozenset[str] = frozenset()) -> DiffContextReply:
                options = QueryOptions(difference=difference, history=history, without_signals=without)
                return diff_context(snapshot, request, difference, self._state, options)

            began = time.process_time()
            reply = answer()
            spent = time.process_time() - began
            recall = {"now": _recall(_listed(reply, task), truth)}
            recall["users alone"] = _recall(self._users(reply, task), truth)
            asked = max(reply.items, key=lambda item: item.users_outside + item.tests_outside, default=None)
            if asked is not None and asked.name:
                found = search_code(snapshot, SearchCode(query=f"tests for {asked.name}", limit=PLACES), self._state)
                recall["search_code"] = _recall([hit.path for hit in found.results], truth)
            recall |= {name: _recall(_listed(answer(without), task), truth) for name, without in ablations.items()}
        lists = msgspec.json.encode([reply.tests, reply.may_change])
        return Measured(repo=name, commit=commit, task=task, recall=recall, ms=spent * 1000, characters=len(lists))

    def _users(self, reply: DiffContextReply, task: str) -> list[str]:
        paths = dict.fromkeys(user.path for item in reply.items for user in item.users if user.path not in self._paths)
        return [path for path in paths if task == "edit2ripple" or is_test(path)]


async def _here(work: Callable[[IsCancelled], T]) -> T:
    return work(lambda: False)


def _listed(reply: DiffContextReply, task: str) -> list[str]:
    """Returns the paths that answer a task: what else must change are the tests and the other files, read in turns."""
    if task == "code2test":
        return [each.path for each in reply.tests]
    turns = itertools.zip_longest(reply.may_change, reply.tests)
    return [each.path for pair in turns for each in pair if each is not None]


def _recall(found: Sequence[str], truth: Collection[str]) -> float:
    return len(set(truth).intersection(list(dict.fromkeys(found))[:PLACES])) / len(truth)


def table(measured: Sequence[Measured]) -> str:
    """Returns the recall of each task and system: the mean over the repositories of the means of their rows."""
    systems = list(dict.fromkeys(system for row in measured for system in row.recall))
    rows = []
    for system in systems:
        cells = []
        for task in TASKS:
            by_repository: dict[str, list[float]] = defaultdict(list)
            for row in measured:
                if row.task == task:
                    by_repository[row.repo].append(row.recall.get(system, 0.0))
            cells.append(f"{mean(map(mean, by_repository.values())):.3f}" if by_repository else "")
        rows.append((system, *cells))
    costs = sorted(row.ms for row in measured) or [0.0]
    sizes = sorted(row.characters for row in measured) or [0]
    middle = f"answer: median {costs[len(costs) // 2]:.0f} ms, p95 {costs[len(costs) * 95 // 100]:.0f} ms"
    return f"{plain_table(('recall at 20', *TASKS), rows, '<>>')}\n{middle}; lists: median {sizes[len(sizes) // 2]} characters"


if __name__ == "__main__":
    sys.exit(main())
