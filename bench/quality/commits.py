"""Whether the message of a commit leads to what the commit changed: `python -m bench.quality.commits --trees DIR --truth DIR`.

--truth is a directory with repos.jsonl and, in it or in its `dev`, commits.jsonl: subject lines of real commits, and the
functions that these changed. Each is searched for in the whole repository with a page of ten. A function counts at the rank of
the first hit that touches it with its own lines or with those of an `also`, for the first place only with its own; a range of
more than 120 lines does not count. A file counts at the rank of its first hit. Figures are means over the repositories of the
means of their rows. --semble and --ripgrep give those programs the same questions in the same run.
"""

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

from msgspec import Struct

from bench.corpus import OUT
from bench.quality.data import Answer, Hit, Question, Range, Repository, by_question, read_lines, write_lines
from bench.quality.harness import WorkTree, ask, ask_ripgrep, ask_semble, build, find_trees
from bench.quality.ripgrep import words_of
from bench.table import plain_table
from codecompass.languages.words import split_identifier

LIMIT: Final = 10
LONGEST_RANGE: Final = 120
STEM_LENGTH: Final = 5
"""Words with the same first letters, this many, count as the same."""


class Function(Struct, frozen=True, kw_only=True):
    """A function that a commit changed; lines are 1-based and inclusive."""

    path: str
    line_start: int
    line_end: int
    name: str


class Commit(Struct, frozen=True, kw_only=True):
    """A commit's subject line and what it changed. `category`: `named` if the line names one of the functions, else
    `described`."""

    id: str
    repo: str
    language: str
    query: str
    category: str
    relevant: tuple[Function, ...]


class Judged(Struct, frozen=True):
    """Ranks of what a commit changed, None if not in the answer; `is_first`: the first hit's own lines touch it."""

    commit: Commit
    function: int | None
    is_first: bool
    file: int | None


_FIGURES: Final[Mapping[str, Callable[[Judged], bool]]] = {
    "function@1": lambda row: row.is_first,
    "function@5": lambda row: row.function is not None and row.function <= 5,
    "function@10": lambda row: row.function is not None,
    "file@1": lambda row: row.file == 1,
    "file@10": lambda row: row.file is not None,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.commits", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "commits", help="indexes and run files")
    parser.add_argument("--reuse", action="store_true", help="keep indexes of an earlier run: when only queries have changed")
    parser.add_argument("--ripgrep", help="the program to ask the same questions")
    parser.add_argument("--semble", help="a Python that has semble installed, to ask it the same questions")
    options = parser.parse_args(arguments)
    inside = options.truth / "dev" / "commits.jsonl"
    commits = read_lines(inside if inside.is_file() else options.truth / "commits.jsonl", Commit)
    trees, _ = find_trees(read_lines(options.truth / "repos.jsonl", Repository), options.trees)
    systems: dict[str, list[Answer]] = defaultdict(list)
    few: set[str] = set()
    for tree in trees:
        own = [commit for commit in commits if commit.repo == tree.repository.repo]
        few.update(commit.id for commit in own if shares_few_words(commit, tree.path))
        questions = [Question(commit.repo, commit.query) for commit in own]
        if questions:
            _ask_all(tree, questions, systems, options)
    for name, answers in systems.items():
        write_lines(options.out / f"{name}.jsonl", answers)
        print(f"{name}\n{commits_table(judge(commits, answers), few)}\n")
    return 0


def _ask_all(
    tree: WorkTree, questions: Sequence[Question], systems: Mapping[str, list[Answer]], options: argparse.Namespace
) -> None:
    home = options.out / "index"
    built = build(tree, "whole", home, reuse=options.reuse)
    print(f"{tree.repository.repo}: {built}; {len(questions)} questions", file=sys.stderr, flush=True)
    systems["codecompass"].extend(ask(tree, "whole", home, "search_code", questions))
    if options.semble:
        systems["semble"].extend(ask_semble(tree, "whole", options.out / "semble", questions, options.semble))
    if options.ripgrep:
        systems["ripgrep"].extend(ask_ripgrep(tree, "whole", "search_code", questions, options.ripgrep))


def judge(commits: Sequence[Commit], answers: Sequence[Answer]) -> list[Judged]:
    """Returns the ranks for each commit with an answer."""
    given = by_question(answers)
    asked = [(commit, given.get(Question(commit.repo, commit.query))) for commit in commits]
    return [_judged(commit, answer.results[:LIMIT]) for commit, answer in asked if answer is not None]


def _judged(commit: Commit, hits: Sequence[Hit]) -> Judged:
    def changed(path: str, place: Range) -> bool:
        return place.line_end - place.line_start <= LONGEST_RANGE and any(
            path == each.path and place.line_start <= each.line_end and place.line_end >= each.line_start
            for each in commit.relevant
        )

    paths = {each.path for each in commit.relevant}
    owns = [None if hit.line_start is None or hit.line_end is None else Range(hit.line_start, hit.line_end) for hit in hits]
    ranks = [
        rank
        for rank, (hit, own) in enumerate(zip(hits, owns, strict=True), 1)
        if any(changed(hit.path, place) for place in (own, *hit.also) if place is not None)
    ]
    is_first = bool(hits) and owns[0] is not None and changed(hits[0].path, owns[0])
    files = [rank for rank, hit in enumerate(hits, 1) if hit.path in paths]
    return Judged(commit, min(ranks, default=None), is_first, min(files, default=None))


def shares_few_words(commit: Commit, tree: Path) -> bool:
    """Whether no changed function shares more than one word with the message, by its whole text."""
    said = _stems(" ".join(words_of(commit.query)))
    return all(len(said & _stems(_text(tree, each))) <= 1 for each in commit.relevant)


def _text(tree: Path, function: Function) -> str:
    lines = (tree / function.path).read_text("utf-8", "replace").splitlines()
    return "\n".join(lines[function.line_start - 1 : function.line_end])


def _stems(text: str) -> set[str]:
    words = [word for name in re.findall(r"\w+", text) for word in split_identifier(name)]
    return {word[:STEM_LENGTH] for word in words}


def commits_table(judged: Sequence[Judged], few: Collection[str] = ()) -> str:
    """Returns the figures of all rows, of each category, of those with the ids `few`, and of each language."""
    groups: dict[str, list[Judged]] = {"overall": list(judged)}
    for row in judged:
        groups.setdefault(row.commit.category, []).append(row)
    groups["at most one word shared"] = [row for row in judged if row.commit.id in few]
    for row in sorted(judged, key=lambda row: row.commit.language):
        groups.setdefault(row.commit.language, []).append(row)
    rows = [
        (name, *(f"{_macro(found, figure):.3f}" for figure in _FIGURES.values()), str(len(found)))
        for name, found in groups.items()
        if found
    ]
    return plain_table(("commits", *_FIGURES, "n"), rows, "<>>>>>>")


def _macro(judged: Sequence[Judged], figure: Callable[[Judged], bool]) -> float:
    by_repository: dict[str, list[float]] = defaultdict(list)
    for row in judged:
        by_repository[row.commit.repo].append(float(figure(row)))
    return mean(mean(rows) for rows in by_repository.values())


if __name__ == "__main__":
    sys.exit(main())
