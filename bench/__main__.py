"""Measures CodeCompass: `python -m bench`, or `make bench`. Needs no network and no further packages.

Without --repo it measures on synthetic trees (5,000 and 20,000 files, kept in bench/out). ctags, git and rg are measured for
comparison if they are installed. Every figure is written with its samples to bench/out/bench-<time>.json.
"""

import argparse
import os
import platform
import sys
import time
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec
from msgspec import Struct

from bench import indexing, latency, serving, serving_rows, switching, switching_rows
from bench.corpus import OUT, Tree, given_tree, synthetic_tree
from bench.figures import Figure
from bench.indexing import Plan, TreeRuns
from bench.serving import ServingRuns
from bench.switching import SwitchRuns, WarmsetRuns
from bench.table import figures_table

SMALL_FILES: Final = 5_000
LARGE_TIMES: Final = 4
QUICK_FILES: Final = 500
PARTS: Final = ("indexing", "latency", "start", "serving", "switching")
MIDDLE_TIMES: Final = 2
LIBRARIES: Final = ("tantivy", "tree-sitter", "tree-sitter-language-pack", "trio", "msgspec")


class Machine(Struct, frozen=True, kw_only=True):
    """The machine and libraries of a measurement. `load` is the load average over the last minute, before and after it."""

    system: str
    processors: int
    python: str
    libraries: dict[str, str]
    load: tuple[float, float]


class Report(Struct, frozen=True, kw_only=True):
    """The file written to disk: the rows of the table, and every run behind them."""

    taken_at: str
    machine: Machine
    figures: tuple[Figure, ...]
    trees: tuple[TreeRuns, ...]
    serving: ServingRuns | None
    switching: tuple[SwitchRuns, WarmsetRuns] | None
    remarks: tuple[str, ...]


class Results(Struct):
    """Measurements besides the rows of the table."""

    trees: list[TreeRuns] = []
    serving: ServingRuns | None = None
    switching: tuple[SwitchRuns, WarmsetRuns] | None = None
    remarks: list[str] = []


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repo", type=Path, help="measure on this directory; updates are measured on a copy of it")
    parser.add_argument("--only", choices=PARTS, help="measure one part")
    parser.add_argument("--quick", action="store_true", help="small trees, one run of each: to see that it works")
    parser.add_argument("--files", type=int, help=f"files of the smaller tree, the larger has {LARGE_TIMES} times as many")
    options = parser.parse_args(arguments)
    if options.repo is not None and options.files is not None:
        parser.error("--files is for trees that are made up; leave it out with --repo")
    if options.repo is not None and not options.repo.is_dir():
        parser.error(f"--repo {options.repo}: not a directory")
    if options.files is not None and options.files < 1:
        parser.error("--files must be at least 1")

    load_before = os.getloadavg()[0]
    results = Results()
    figures = tuple(_measure(options, results))
    machine = Machine(
        system=f"{platform.system()} {platform.release()} {platform.machine()}",
        processors=os.cpu_count() or 0,
        python=platform.python_version(),
        libraries={name: version(name) for name in LIBRARIES},
        load=(load_before, os.getloadavg()[0]),
    )
    taken_at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    report = Report(
        taken_at=taken_at,
        machine=machine,
        figures=figures,
        trees=tuple(results.trees),
        serving=results.serving,
        switching=results.switching,
        remarks=tuple(results.remarks),
    )
    print(_heading(machine), figures_table(figures), *results.remarks, sep="\n\n")
    OUT.mkdir(exist_ok=True)
    written = OUT / f"bench-{taken_at.replace(':', '')}.json"
    written.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
    print(f"\nAll samples: {os.path.relpath(written)}")
    return 0


def _measure(options: argparse.Namespace, results: Results) -> Iterator[Figure]:
    parts = PARTS if options.only is None else (options.only,)
    plan = Plan(cold_runs=1, unchanged_runs=1, update_rounds=1) if options.quick else Plan()
    queries = 20 if options.quick else 100
    if {"indexing", "latency", "serving"} & set(parts):
        with TemporaryDirectory(prefix="codecompass-bench-") as directory:
            home = Path(directory)
            trees = _trees(options)
            if "indexing" in parts:
                yield from _measure_indexing(trees, home, plan, results)
            else:
                for tree in trees:
                    _say(f"indexing {tree.name}")
                    indexing.index(tree.root, home, "--force")
            if "latency" in parts:
                _say(f"asking the index of {trees[-1].name}")
                yield from latency.figures_of(latency.measure(trees[-1].root, home, queries=queries), trees[-1].root)
            if "serving" in parts:
                yield from _measure_serving(trees, home, options, results)
    if "switching" in parts:
        _say("going from workspace to workspace")
        with TemporaryDirectory(prefix="codecompass-bench-") as directory:
            plan_of_switches = switching.QUICK if options.quick else switching.Plan()
            results.switching = switching.measure(Path(directory), plan_of_switches)
            yield from switching_rows.figures_of(*results.switching)
    if "start" in parts:
        _say("starting the command line")
        yield from latency.start_figures()


def _measure_indexing(trees: Sequence[Tree], home: Path, plan: Plan, results: Results) -> Iterator[Figure]:
    edited = None
    for tree in trees:
        _say(f"indexing {tree.name}")
        is_first = tree is trees[0]
        cold_runs = plan.cold_runs if is_first else plan.large_cold_runs
        runs = indexing.measure_tree(tree, home, plan, cold_runs=cold_runs, edited=edited)
        results.trees.append(runs)
        yield from indexing.figures_of(runs)
        if is_first and len(trees) > 1:
            edited = indexing.files_to_edit(tree, home, plan)
    if len(results.trees) > 1:
        results.remarks.append(f"Cost of an update, by count: {indexing.compare_updates(*results.trees)}.")


def _measure_serving(trees: Sequence[Tree], home: Path, options: argparse.Namespace, results: Results) -> Iterator[Figure]:
    middle = trees[0] if options.repo is not None else synthetic_tree(_smaller(options) * MIDDLE_TIMES)
    _say(f"serving {' and '.join(tree.name for tree in trees)}")
    plan = serving.QUICK if options.quick else serving.Plan()
    results.serving = serving.measure(trees, middle, home, plan)
    yield from serving_rows.figures_of(results.serving)


def _smaller(options: argparse.Namespace) -> int:
    return options.files or (QUICK_FILES if options.quick else SMALL_FILES)


def _trees(options: argparse.Namespace) -> list[Tree]:
    if options.repo is not None:
        return [given_tree(options.repo)]
    files = _smaller(options)
    counts = [files, files * LARGE_TIMES]
    if options.only == "latency":
        counts = counts[1:]
    _say(f"making trees of {' and '.join(f'{count:,}' for count in counts)} files, unless they are there")
    return [synthetic_tree(count) for count in counts]


def _heading(machine: Machine) -> str:
    libraries = ", ".join(f"{name} {number}" for name, number in machine.libraries.items())
    return (
        f"{machine.system}, {machine.processors} processors, load {machine.load[0]:.1f} before and {machine.load[1]:.1f} after; "
        f"Python {machine.python}, {libraries}\nMedians; wall times on a machine that does other things too are too high, CPU "
        "times less so, ratios least."
    )


def _say(text: str) -> None:
    print(f"bench: {text} ..", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
