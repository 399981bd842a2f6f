"""Scores search and definition lookup over real repositories: `python -m bench.quality --trees DIR --truth DIR`.

--truth is a directory with repos.jsonl and, in it or in its `dev`, semble.jsonl and nav.jsonl; --trees has a work tree for each
repository under its name. Searches query the index of the published sub-tree (--mode root, comparable with the published figures)
or of the whole repository (--mode whole); lookups always query the whole. Run files and scores are written to --out; --diff
compares with the run files of an earlier --out. --rename-folders and --hide-names query copies of the trees under other names:
with --diff they show what depends on names.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.corpus import OUT
from bench.quality import report, resampling
from bench.quality.data import Answer, Question, Repository, Truth, read_lines, read_published, write_lines
from bench.quality.harness import Mode, Tool, WorkTree, ask, ask_ripgrep, ask_semble, build, find_trees
from bench.quality.renamed_trees import hidden, renamed
from codecompass.query.words.retrieval import SIGNALS

SETS = ("search", "nav")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    options = _parser().parse_args(arguments)
    out = options.out or OUT / "quality" / options.mode
    wanted = None if options.repos is None else frozenset(options.repos.split(","))
    repositories = read_lines(_data(options.truth, "repos.jsonl"), Repository)
    trees, missing = find_trees([row for row in repositories if wanted is None or row.repo in wanted], options.trees)
    if missing:
        print(f"no work tree, left out: {', '.join(missing)}")
    for tree in trees:
        if not tree.is_pinned:
            print(f"{tree.repository.repo}: not at the commit that the truth was made for")
    if not trees:
        print("nothing to measure", file=sys.stderr)
        return 1
    if options.hide_names or options.rename_folders:
        disguised = hidden if options.hide_names else renamed
        trees = [disguised(tree, (out / "trees").absolute()) for tree in trees]
    present = {tree.repository.repo for tree in trees}
    run = _Run(trees, out, reuse=options.reuse)
    if options.only != "nav":
        truths = [row for row in read_lines(_data(options.truth, "semble.jsonl"), Truth) if row.repo in present]
        answers = run.answers(truths, options.mode, "search_code")
        _report_searches(truths, answers, options)
        _report_others(truths, answers, run, "search_code", options)
        if options.ablate:
            _report_ablations(truths, answers, run, options)
    if options.only != "search":
        truths = [row for row in read_lines(_data(options.truth, "nav.jsonl"), Truth) if row.repo in present]
        answers = run.answers(truths, "whole", "locate_symbol")
        _report_lookups(truths, answers, options)
        _report_others(truths, answers, run, "locate_symbol", options)
    print(f"\nRun files: {out}")
    return 0


def _parser() -> argparse.ArgumentParser:
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--mode", choices=("root", "whole"), default="root")
    parser.add_argument("--repos", help="only these, with commas")
    parser.add_argument("--only", choices=SETS, help="only searches, or only definition lookups")
    parser.add_argument("--out", type=Path, help="default: bench/out/quality/<mode>")
    parser.add_argument("--published", type=Path, help="repository -> system -> NDCG@10 (default: the file beside the truth)")
    parser.add_argument("--diff", type=Path, help="the --out of an earlier run")
    parser.add_argument("--reuse", action="store_true", help="keep indexes of an earlier run: when only queries have changed")
    parser.add_argument("--ripgrep", help="the program to ask the same questions")
    parser.add_argument("--semble", help="a Python that has semble installed, to ask it the same questions")
    parser.add_argument("--ablate", action="store_true", help="search again without each signal of the ranking")
    parser.add_argument("--rename-folders", action="store_true", help="copies in folders of another name; nothing may change")
    parser.add_argument("--hide-names", action="store_true", help="copies with the repository's own name in no path")
    parser.add_argument("--misses", type=int, default=0, help="show so many of the worst queries")
    return parser


class _Run:
    """Builds each workspace once, however many sets of questions use it."""

    def __init__(self, trees: Sequence[WorkTree], out: Path, *, reuse: bool) -> None:
        self._trees = trees
        self._out = out
        self._reuse = reuse
        self._built: set[Path] = set()

    def answers(self, truths: Sequence[Truth], mode: Mode, tool: Tool) -> list[Answer]:
        """Returns the answers of all trees and writes them to the run file of `tool`."""
        answers: list[Answer] = []
        home = self._out / "index"
        for tree, questions in self._questions(truths):
            name, workspace = tree.repository.repo, tree.workspace(mode)
            built = build(tree, mode, home, reuse=self._reuse or workspace in self._built)
            self._built.add(workspace)
            answers += ask(tree, mode, home, tool, questions)
            print(f"{name}, {mode}: {built}; {len(questions)} questions", file=sys.stderr, flush=True)
        write_lines(self._out / _run_file(tool), answers)
        return answers

    def answers_without(self, signal: str, truths: Sequence[Truth], mode: Mode) -> list[Answer]:
        """Returns the answers to searches with one signal off, from the indexes that `answers` built."""
        answers: list[Answer] = []
        for tree, questions in self._questions(truths):
            answers += ask(tree, mode, self._out / "index", "search_code", questions, without=signal)
        print(f"without {signal}", file=sys.stderr, flush=True)
        return answers

    def answers_of_ripgrep(self, program: str, truths: Sequence[Truth], mode: Mode, tool: Tool) -> list[Answer]:
        """Returns ripgrep's answers and writes them to a run file."""
        answers = [
            answer for tree, questions in self._questions(truths) for answer in ask_ripgrep(tree, mode, tool, questions, program)
        ]
        write_lines(self._out / f"ripgrep_{_run_file(tool)}", answers)
        return answers

    def answers_of_semble(self, interpreter: str, truths: Sequence[Truth], mode: Mode) -> list[Answer]:
        """Returns semble's answers and writes them to a run file."""
        answers: list[Answer] = []
        for tree, questions in self._questions(truths):
            answers += ask_semble(tree, mode, self._out / "semble", questions, interpreter)
            print(f"{tree.repository.repo}, {mode}: semble", file=sys.stderr, flush=True)
        write_lines(self._out / "semble_search_code.jsonl", answers)
        return answers

    def _questions(self, truths: Sequence[Truth]) -> Iterator[tuple[WorkTree, list[Question]]]:
        for tree in self._trees:
            questions = [Question(truth.repo, truth.query) for truth in truths if truth.repo == tree.repository.repo]
            if questions:
                yield tree, questions


def _report_searches(truths: Sequence[Truth], answers: Sequence[Answer], options: argparse.Namespace) -> None:
    judged = report.judge_searches(truths, answers)
    print(f"\nsearch_code, mode {options.mode}; {report.latency_line(answers)}\n\n{report.search_table(judged)}")
    print(f"\n{resampling.halves_line(judged, report.search_figure)}")
    path = options.published or _data(options.truth, "published_by_repo.json")
    if path.is_file():
        published = read_published(path)
        print("\nbeside published figures (over all their queries), mean over the same repositories:\n")
        print(report.published_table(judged, published), report.repository_table(judged, published), sep="\n\n")
    if options.misses:
        print(f"\nworst searches:\n{report.misses_table(judged, options.misses)}")
    if options.diff is not None:
        before = report.judge_searches(truths, read_lines(options.diff / _run_file("search_code"), Answer))
        print(f"\nNDCG@10 against {options.diff}:\n{report.difference_table(judged, before, report.search_figure)}")


def _report_others(
    truths: Sequence[Truth], answers: Sequence[Answer], run: _Run, tool: Tool, options: argparse.Namespace
) -> None:
    """Compares other programs on exactly the same rows, in the same run."""
    mode: Mode = options.mode if tool == "search_code" else "whole"
    systems = {"codecompass": answers}
    if options.semble and tool == "search_code":
        systems["semble without a model"] = run.answers_of_semble(options.semble, truths, mode)
    if options.ripgrep:
        systems["ripgrep"] = run.answers_of_ripgrep(options.ripgrep, truths, mode, tool)
    if len(systems) == 1:
        return
    if tool == "search_code":
        searches = {name: report.judge_searches(truths, given) for name, given in systems.items()}
        print(f"\nNDCG@10 of the same questions, mode {mode}:\n\n{report.systems_table(searches, report.search_figure)}")
    else:
        lookups = {name: report.judge_lookups(truths, given) for name, given in systems.items()}
        print(f"\nsuccess@1 of the same lookups:\n\n{report.systems_table(lookups, report.lookup_figure)}")


def _report_ablations(truths: Sequence[Truth], answers: Sequence[Answer], run: _Run, options: argparse.Namespace) -> None:
    judged = report.judge_searches(truths, answers)
    without = {signal: report.judge_searches(truths, run.answers_without(signal, truths, options.mode)) for signal in SIGNALS}
    print(f"\nNDCG@10 without each signal, mode {options.mode}:\n\n{report.ablation_table(judged, without)}")
    print(
        f"\nShare of random halves of the repositories in which each signal earns:\n\n{resampling.earning_table(judged, without)}"
    )


def _report_lookups(truths: Sequence[Truth], answers: Sequence[Answer], options: argparse.Namespace) -> None:
    judged = report.judge_lookups(truths, answers)
    print(f"\nlocate_symbol, whole repositories; {report.latency_line(answers)}\n\n{report.lookup_table(judged)}")
    print(f"\nsuccess@1 in {resampling.halves_line(judged, report.lookup_figure)}")
    if options.misses:
        print(f"\nworst lookups:\n{report.misses_table(judged, options.misses)}")
    if options.diff is not None:
        before = report.judge_lookups(truths, read_lines(options.diff / _run_file("locate_symbol"), Answer))
        print(f"\nsuccess@1 against {options.diff}:\n{report.difference_table(judged, before, report.lookup_figure)}")


def _run_file(tool: Tool) -> str:
    return f"{tool}.jsonl"


def _data(directory: Path, name: str) -> Path:
    """Returns the file in `dev`, the part of the data that may be used for tuning, or else in the directory itself."""
    inside = directory / "dev" / name
    return inside if inside.is_file() else directory / name


if __name__ == "__main__":
    sys.exit(main())
