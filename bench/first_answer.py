"""Times the first question about a repository that was never seen: a new server, an empty store, `search_code` at once.

    python -m bench.first_answer REPO.. [--runs 20] [--against PYTHON] [--query "how are migrations run"]

`--against` names the Python of another installation; the two alternate in the same run, because the speed of a shared machine
varies by half within minutes. Seconds are those from the question to its answer, after `initialize`.
"""

import argparse
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from bench.client import serving
from bench.figures import percentile
from bench.table import plain_table

RUNS: Final = 20
QUERY: Final = "how are the settings read and checked"


class _Metadata(Struct, frozen=True):
    result_completeness: str = ""


class _Answer(Struct, frozen=True):
    results: tuple[msgspec.Raw, ...] = ()
    metadata: _Metadata = _Metadata()


class FirstAnswer(Struct, frozen=True):
    """One first question: `seconds` until its answer, its number of results, and whether it said that symbols were missing."""

    seconds: float
    n_results: int
    is_partial: bool


def ask(root: Path, query: str, interpreter: str) -> FirstAnswer:
    """Starts a server with an empty store and sends it a question. Raises ServerFailed if it answers with an error."""
    with (
        tempfile.TemporaryDirectory(prefix="first-answer-") as home,
        serving(root, Path(home), interpreter=interpreter) as server,
    ):
        server.initialize()
        timed = server.call("search_code", {"query": query})
        answer = msgspec.json.decode(timed.result, type=_Answer)
        return FirstAnswer(timed.seconds, len(answer.results), answer.metadata.result_completeness == "partial")


def row(name: str, answers: Sequence[FirstAnswer]) -> list[str]:
    """Returns a line of the table: median, 95th percentile and maximum seconds, and counts of empty and partial answers."""
    seconds = [answer.seconds for answer in answers]
    figures = (statistics.median(seconds), percentile(seconds, 0.95), max(seconds))
    n_empty = sum(not answer.n_results for answer in answers)
    n_partial = sum(answer.is_partial for answer in answers)
    return [name, *(f"{figure:.2f}" for figure in figures), str(len(answers)), str(n_empty), str(n_partial)]


def main() -> None:
    """Prints one line per repository and program, and the median of the ratios of adjacent runs."""
    parser = argparse.ArgumentParser(prog="python -m bench.first_answer", description=__doc__)
    parser.add_argument("repos", nargs="+", type=Path)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--against", metavar="PYTHON", help="the Python of another installation")
    parser.add_argument("--query", default=QUERY)
    options = parser.parse_args()
    rows = []
    for repo in options.repos:
        programs = {"ours": sys.executable, **({"other": options.against} if options.against else {})}
        answers: dict[str, list[FirstAnswer]] = {name: [] for name in programs}
        for _ in range(options.runs):
            for name, interpreter in programs.items():
                answers[name].append(ask(repo.resolve(), options.query, interpreter))
        rows += [row(f"{repo.name}, {name}", answers[name]) for name in programs]
        if options.against:
            ratios = [one.seconds / other.seconds for one, other in zip(answers["ours"], answers["other"], strict=True)]
            rows.append([f"{repo.name}, ratio", f"{statistics.median(ratios):.2f}"] + [""] * 5)
    print(plain_table(["first question", "median s", "p95 s", "worst s", "runs", "empty", "partial"], rows, "lrrrrrr"))


if __name__ == "__main__":
    main()
