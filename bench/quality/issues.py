"""From the text of an issue to its fix: `python -m bench.quality.issues --repositories DIR --truth DIR`.

--truth is a directory with issues.jsonl in it or in its `dev`: real issues, and the places that their fixes changed, each in the
tree at the commit before. --repositories has a clone of each repository as OWNER+NAME/repo, OWNER/NAME or NAME; it needs no
checked-out files. A figure is the share of the issues all of whose places are among the first k different ones of the answer, as
the papers on SWE-bench Lite define it; `also` counts at its place in reading order, by its bare name. --first-line asks only the
first line of each issue. The run file has a line for each issue, so that two runs can be compared row by row (--diff).
"""

import argparse
import subprocess
import sys
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from statistics import mean, median
from typing import Final

import msgspec
from msgspec import Struct

from bench.corpus import OUT
from bench.measure import python
from bench.quality.ask_at_commits import AnswerAtCommit, AskedCommit, NamedHit
from bench.quality.data import read_lines, write_lines
from bench.table import plain_table

FIGURES: Final = (("file", 1), ("file", 3), ("file", 5), ("file", 10), ("function", 5), ("function", 10))

_FUNCTIONS: Final = frozenset({"fn", "method", "class", "function", "test", "enum", "struct", "interface"})


class Issue(Struct, frozen=True, kw_only=True):
    """An issue, the commit before its fix, and what that changed: paths, and functions as `path:name`."""

    id: str
    repo: str
    commit: str
    query: str
    files: tuple[str, ...]
    functions: tuple[str, ...]


Judged = Mapping[tuple[str, int], bool]
"""Which figures an answer reaches; those of functions only if the fix changed some."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.quality.issues", description=__doc__, formatter_class=layout)
    parser.add_argument("--repositories", type=Path, required=True)
    parser.add_argument("--truth", type=Path, required=True)
    parser.add_argument("--per-repository", type=int, default=0, help="at most so many issues of each, evenly spread")
    parser.add_argument("--first-line", action="store_true", help="ask only the first line of each issue")
    parser.add_argument("--out", type=Path, default=OUT / "quality" / "issues", help="indexes and run files")
    parser.add_argument("--diff", type=Path, help="the run file of an earlier run")
    options = parser.parse_args(arguments)
    inside = options.truth / "dev" / "issues.jsonl"
    issues = read_lines(inside if inside.is_file() else options.truth / "issues.jsonl", Issue)
    by_repository: dict[str, list[Issue]] = defaultdict(list)
    for issue in issues:
        by_repository[issue.repo].append(issue)
    asked = {repo: evenly(rows, options.per_repository) for repo, rows in by_repository.items()}
    answers: list[AnswerAtCommit] = []
    for repo, rows in asked.items():
        path = find_repository(repo, options.repositories)
        if path is None:
            print(f"no clone, left out: {repo}", file=sys.stderr)
            continue
        questions = [AskedCommit(each.id, each.commit, _asked(each, is_first_line=options.first_line)) for each in rows]
        answers += answers_at(path, questions, options.out / "index")
        print(f"{repo}: {len(rows)} issues", file=sys.stderr, flush=True)
    run_file = options.out / ("first_line.jsonl" if options.first_line else "whole.jsonl")
    write_lines(run_file, answers)
    given = {answer.id: answer for answer in answers}
    rows = [issue for chosen in asked.values() for issue in chosen if issue.id in given]
    print(issues_table(rows, given))
    costs = sorted(answer.ms for answer in answers)
    print(f"\nms of processor time: median {median(costs):.0f}, 95th percentile {costs[len(costs) * 95 // 100]:.0f}")
    if options.diff is not None:
        before = {answer.id: answer for answer in read_lines(options.diff, AnswerAtCommit)}
        print(f"\nagainst {options.diff}:\n\n{differences_table(rows, given, before)}")
    print(f"\nRun file: {run_file}")
    return 0


def evenly(rows: Sequence[Issue], most: int) -> Sequence[Issue]:
    """Returns at most `most` rows, evenly spread; all if it is 0."""
    if not most or len(rows) <= most:
        return rows
    return [rows[number * len(rows) // most] for number in range(most)]


def find_repository(name: str, directory: Path) -> Path | None:
    """Returns the clone of a repository, None if there is none."""
    owner, _, bare = name.partition("/")
    for candidate in (f"{owner}+{bare}/repo", name, bare, f"{bare}.git"):
        if (directory / candidate).is_dir():
            return directory / candidate
    return None


def _asked(issue: Issue, *, is_first_line: bool) -> str:
    return issue.query.strip().split("\n", 1)[0] if is_first_line else issue.query


def answers_at(repository: Path, questions: Sequence[AskedCommit], home: Path) -> list[AnswerAtCommit]:
    """Returns the answers from a process that sees nothing else. Raises CalledProcessError if it fails."""
    command = python("-m", "bench.quality.ask_at_commits", repository, "--home", home)
    shown = b"".join(msgspec.json.encode(question) + b"\n" for question in questions)
    done = subprocess.run(command, input=shown, stdout=subprocess.PIPE, check=True)
    return [msgspec.json.decode(line, type=AnswerAtCommit) for line in done.stdout.splitlines()]


def judge(issue: Issue, answer: AnswerAtCommit) -> Judged:
    """Returns which figures the answer to an issue reaches."""
    files = list(dict.fromkeys(hit.path for hit in answer.results))
    functions = list(dict.fromkeys(name for hit in answer.results for name in _functions_of(hit)))
    judged = {}
    for what, most in FIGURES:
        if what == "file":
            n_right, n_gold = sum(path in issue.files for path in files[:most]), len(issue.files)
        else:
            n_right, n_gold = sum(is_right(each, issue.functions) for each in functions[:most]), len(issue.functions)
        if n_gold:
            judged[what, most] = n_right >= min(most, n_gold)
    return judged


def _functions_of(hit: NamedHit) -> list[tuple[str, str]]:
    """Returns the functions that a hit shows: a path and a name in its module, or a bare name after a dot for one in `also`."""
    own = [(hit.path, name_in_module(hit.path, hit.qualified_name))] if hit.qualified_name and hit.kind in _FUNCTIONS else []
    return own + [(hit.path, f".{further.name}") for further in hit.also]


def is_right(function: tuple[str, str], gold: Collection[str]) -> bool:
    """Whether a function of an answer is one of those that were changed, each `path:name`."""
    path, name = function
    if not name.startswith("."):
        return f"{path}:{name}" in gold
    return any(
        each.partition(":")[0] == path and each.partition(":")[2].rpartition(".")[2] == name.rpartition(".")[2] for each in gold
    )


def name_in_module(path: str, qualified_name: str) -> str:
    """Returns a qualified name without the parts of its module; a type for its `__init__`."""
    module = path.removesuffix(".py").split("/")
    if module[-1] == "__init__":
        module.pop()
    parts = qualified_name.split(".")
    for length in range(len(module), 0, -1):
        if parts[:length] == module[-length:] and len(parts) > length:
            parts = parts[length:]
            break
    if parts[-1] == "__init__" and len(parts) > 1:
        parts.pop()
    return ".".join(parts)


def issues_table(issues: Sequence[Issue], answers: Mapping[str, AnswerAtCommit]) -> str:
    """Returns the figures of all issues and of each repository."""
    groups: dict[str, list[Issue]] = {"all": list(issues)}
    for issue in issues:
        groups.setdefault(issue.repo, []).append(issue)
    rows = []
    for name, group in groups.items():
        judged = [judge(issue, answers[issue.id]) for issue in group]
        shares = [[each[figure] for each in judged if figure in each] for figure in FIGURES]
        rows.append((name, *(f"{mean(share):.3f}" if share else "" for share in shares), str(len(group))))
    return plain_table(("issues", *(f"{what}@{most}" for what, most in FIGURES), "n"), rows, "<" + ">" * (len(FIGURES) + 1))


def differences_table(
    issues: Sequence[Issue], answers: Mapping[str, AnswerAtCommit], before: Mapping[str, AnswerAtCommit]
) -> str:
    """Returns for each figure how many issues reach it now and did not before, and the other way round, with their ids."""
    both = [issue for issue in issues if issue.id in before]
    rows = []
    for figure in FIGURES:
        pairs = [(issue.id, judge(issue, answers[issue.id]), judge(issue, before[issue.id])) for issue in both]
        won = [name for name, now, then in pairs if now.get(figure) and not then.get(figure)]
        lost = [name for name, now, then in pairs if then.get(figure) and not now.get(figure)]
        rows.append((f"{figure[0]}@{figure[1]}", str(len(won)), str(len(lost)), " ".join(lost)))
    return plain_table(("figure", "won", "lost", "which are lost"), rows, "<>><")


if __name__ == "__main__":
    sys.exit(main())
