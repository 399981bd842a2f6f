"""Compares what an agent gets from us and from ripgrep for the same tasks: `python -m bench.agent --trees DIR --truth DIR`.

Sends to `codecompass serve-mcp` over pipes the rows of messages.jsonl, nav.jsonl and commits.jsonl, a first question about
repositories that it has never seen, and names right after edits of a copy; a scripted agent does the same with ripgrep. Prints
one table; each answer is a line of tasks.jsonl, first.jsonl or freshness.jsonl in --out. Trees are only read.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct

from bench.agent.asking import FIRST, Asked, ask_all, first_contact, grep_all
from bench.agent.burners import busy
from bench.agent.freshness import FreshAnswer, FreshnessRun
from bench.agent.report import agent_table, first_table, fresh_table
from bench.agent.tasks import SETS, Task, draw, read_tasks
from bench.agent.tokens import TokenAnswer, ask_tokens, draw_tokens, tokens_table
from bench.client import ServerFailed
from bench.corpus import OUT
from bench.edits import editable
from bench.quality.data import Repository, read_lines
from bench.quality.harness import WorkTree, find_trees
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

PARTS: Final = (*SETS, "first", "freshness", "tokens")

FRESHNESS_TREES: Final = 2
"""Number of repositories to edit if none are named: those with the most editable files."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line; returns 1 if nothing could be measured."""
    parser = _parser()
    options = parser.parse_args(arguments)
    ripgrep = shutil.which(options.ripgrep)
    if ripgrep is None:
        parser.error(f"{options.ripgrep} is not installed; name it with --ripgrep")
    repositories = read_lines(options.truth / "repos.jsonl", Repository)
    wanted = None if options.repos is None else frozenset(options.repos.split(","))
    trees, missing = find_trees([row for row in repositories if wanted is None or row.repo in wanted], options.trees)
    if missing:
        print(f"no work tree, left out: {', '.join(missing)}", file=sys.stderr)
    if not trees:
        print("nothing to measure", file=sys.stderr)
        return 1
    out = options.out or OUT / "agent" / options.answers
    out.mkdir(parents=True, exist_ok=True)
    parts = frozenset(PARTS if options.only is None else options.only)
    run = _Run(trees, out, options.answers, ripgrep)
    asked = run.tasks({name: _drawn(options, trees, name) for name in SETS if name in parts})
    first = run.first(
        {tree.repository.repo: _questions(options, tree) for tree in trees}, options.runs if "first" in parts else 0
    )
    fresh = run.freshness(options.edit_repos, options.rounds if "freshness" in parts else 0, options.seed, options.busy)
    tokens = run.tokens(options.tokens if "tokens" in parts else 0, options.seed)
    if not asked and not first and not fresh and not tokens:
        print("nothing to measure", file=sys.stderr)
        return 1
    print(f"answers: {options.answers}; {len(trees)} repositories; {options.busy} processors kept busy beside edits\n")
    print(agent_table([*asked, *first], fresh) if asked or first or fresh else "")
    print(f"\n{first_table(first)}" if first else "", f"\n{fresh_table(fresh)}" if fresh else "", sep="\n")
    print(f"{tokens_table(tokens)}\n" if tokens else "", end="")
    print(f"Answers: {out}")
    return 0


class _Run:
    """Runs the parts. If one repository fails, the failure is printed and the others are measured."""

    def __init__(self, trees: Sequence[WorkTree], out: Path, form: str, ripgrep: str) -> None:
        self._trees = trees
        self._out = out
        self._form = form
        self._ripgrep = ripgrep

    def tasks(self, sets: Mapping[str, Sequence[Task]]) -> list[Asked]:
        """Returns the answers of both systems, grouped by set."""
        rows: list[Asked] = []
        home = self._home("home")
        with _lines(self._out / "tasks.jsonl", bool(sets)) as file:
            for tree in self._trees:
                tasks = [task for tasks in sets.values() for task in tasks if task.repo == tree.repository.repo]
                if not tasks:
                    continue
                with _saying(tree.repository.repo, f"{len(tasks)} tasks"):
                    answers = [
                        *ask_all(tree.path, home, self._form, tasks),
                        *grep_all(self._ripgrep, tree.path, tasks),
                    ]
                    _write(file, answers)
                    rows += answers
        order = {name: number for number, name in enumerate(sets)}
        return sorted(rows, key=lambda row: (order[row.set], row.category))

    def first(self, questions: Mapping[str, Sequence[Task]], runs: int) -> list[Asked]:
        """Returns the first answers of servers that had never seen the repository."""
        rows: list[Asked] = []
        with _lines(self._out / "first.jsonl", runs > 0) as file:
            for number in range(runs):
                for tree in self._trees:
                    tasks = questions[tree.repository.repo]
                    if not tasks:
                        continue
                    with _saying(tree.repository.repo, f"{FIRST} {number + 1}"):
                        answer = first_contact(tree.path, self._form, tasks[number % len(tasks)])
                        _write(file, [answer])
                        rows.append(answer)
        return rows

    def freshness(self, names: str | None, rounds: int, seed: int, burners: int) -> list[FreshAnswer]:
        """Returns the answers after edits, of both systems."""
        rows: list[FreshAnswer] = []
        trees = self._edited(names) if rounds else []
        with _lines(self._out / "freshness.jsonl", bool(trees)) as file, busy(burners if trees else 0):
            for tree in trees:

                def keep(answer: FreshAnswer) -> None:
                    _write(file, [answer])
                    rows.append(answer)

                with _saying(tree.repository.repo, f"{rounds} rounds of edits"):
                    FreshnessRun(tree.path, self._home("edited"), self._form, self._ripgrep, keep).run(rounds, seed)
        return rows

    def tokens(self, count: int, seed: int) -> list[TokenAnswer]:
        """Returns our answers to `count` tokens, the same number of each repository."""
        rows: list[TokenAnswer] = []
        home = self._home("tokens") if count else self._out
        with _lines(self._out / "tokens.jsonl", count > 0) as file:
            for number, tree in enumerate(self._trees if count else ()):
                own = count * (number + 1) // len(self._trees) - count * number // len(self._trees)
                with _saying(tree.repository.repo, f"{own} tokens"):
                    drawn = draw_tokens(self._ripgrep, tree.repository.repo, tree.path, own, seed)
                    for answer in ask_tokens(tree.path, home, self._form, drawn):
                        _write(file, [answer])
                        rows.append(answer)
        return rows

    def _edited(self, names: str | None) -> list[WorkTree]:
        if names is not None:
            wanted = frozenset(names.split(","))
            return [tree for tree in self._trees if tree.repository.repo in wanted]
        return sorted(self._trees, key=_editable_files, reverse=True)[:FRESHNESS_TREES]

    def _home(self, name: str) -> Path:
        home = (self._out / name).absolute()
        shutil.rmtree(home, ignore_errors=True)
        return home


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.agent", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True, help="a work tree for each repository under its name")
    parser.add_argument("--truth", type=Path, required=True, help="repos.jsonl, and the sets in it or in its `dev`")
    parser.add_argument("--repos", help="only these, with commas")
    parser.add_argument("--rows", type=_rows, default={}, help="rows of each set (60), or of some (commits=60,nav=200)")
    parser.add_argument("--answers", choices=("json", "text"), default="json", help="the form of our answers")
    parser.add_argument("--only", type=_parts, help=f"parts, with commas: {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=3, help="first questions for each repository")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of edits")
    parser.add_argument("--edit-repos", help="repositories to edit copies of, with commas (default: the two largest)")
    parser.add_argument("--busy", type=int, default=0, help="processes that burn CPU beside the edits")
    parser.add_argument("--tokens", type=int, default=300, help="tokens in all, drawn from the repositories")
    parser.add_argument("--seed", type=int, default=1, help="of the edits and of the tokens")
    parser.add_argument("--out", type=Path, help="default: bench/out/agent/<answers>")
    parser.add_argument("--ripgrep", default="rg")
    return parser


def _rows(text: str) -> dict[str, int]:
    """Parses `60` (every set) or `commits=60,nav=200`."""
    if text.isdigit():
        return dict.fromkeys(SETS, int(text))
    counts = {}
    for part in text.split(","):
        name, _, count = part.partition("=")
        if name not in SETS or not count.isdigit():
            raise argparse.ArgumentTypeError(f"{part!r} is not a set with a count, as in commits=60; sets: {', '.join(SETS)}")
        counts[name] = int(count)
    return counts


def _parts(text: str) -> list[str]:
    parts = text.split(",")
    if wrong := [part for part in parts if part not in PARTS]:
        raise argparse.ArgumentTypeError(f"no such part: {', '.join(wrong)}; parts: {', '.join(PARTS)}")
    return parts


def _drawn(options: argparse.Namespace, trees: Sequence[WorkTree], name: str) -> list[Task]:
    tasks = read_tasks(options.truth, name, [tree.repository.repo for tree in trees])
    return draw(tasks, options.rows.get(name))


def _questions(options: argparse.Namespace, tree: WorkTree) -> list[Task]:
    """Returns candidates for a first question: messages that occur in the code and names with one definition, alternating."""
    kinds = (("messages", "verbatim"), ("nav", "unique"))
    found = [
        draw(
            [task for task in read_tasks(options.truth, name, [tree.repository.repo]) if task.category == category], options.runs
        )
        for name, category in kinds
    ]
    longest = max(map(len, found))
    return [tasks[number] for number in range(longest) for tasks in found if number < len(tasks)]


def _editable_files(tree: WorkTree) -> int:
    return len(editable(file.path for file in scan(str(tree.path), ScanRules()).files))


@contextmanager
def _saying(repository: str, what: str) -> Iterator[None]:
    try:
        yield
    except ServerFailed as failed:
        print(f"{repository}, {what}: left out, {failed}", file=sys.stderr, flush=True)
    else:
        print(f"{repository}: {what}", file=sys.stderr, flush=True)


@contextmanager
def _lines(path: Path, is_wanted: bool) -> Iterator[BinaryIO | None]:
    """Opens a file to which rows are written as they come, so that measured rows are kept if the run ends early."""
    if not is_wanted:
        yield None
        return
    with path.open("wb") as file:
        yield file


def _write(file: BinaryIO | None, rows: Sequence[Struct]) -> None:
    if file is not None:
        file.writelines(msgspec.json.encode(row) + b"\n" for row in rows)
        file.flush()


if __name__ == "__main__":
    sys.exit(main())
