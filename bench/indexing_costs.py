"""What indexing many repositories costs, as a Markdown table: `python -m bench.indexing_costs --trees DIR ...`.

Each tree is indexed from nothing in a separate process, and compared with `ctags -R` and the read-and-parse floor in the same
run. With --runs, figures are medians. The store is temporary; the trees are only read.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Final

from msgspec import Struct

from bench.corpus import given_tree, trees_in
from bench.figures import written
from bench.indexing import ColdRun, cold_run
from bench.table import markdown_table

HEADER: Final = (
    "repository",
    "files",
    "skipped",
    "source",
    "symbols",
    "wall",
    "text after",
    "CPU",
    "of floor",
    "of ctags",
    "peak memory",
    "index / source",
    "text only",
)


class Measured(Struct, frozen=True, kw_only=True):
    """A repository and its runs, which all have the same counts."""

    name: str
    runs: tuple[ColdRun, ...]


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    layout = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="bench.indexing_costs", description=__doc__, formatter_class=layout)
    parser.add_argument("--trees", type=Path, nargs="+", required=True, help="source trees, or directories of them")
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args(arguments)
    rows = []
    for tree in trees_in(options.trees):
        with TemporaryDirectory(prefix="codecompass-tables-") as home:
            runs = tuple(cold_run(given_tree(tree), Path(home)) for _ in range(options.runs))
        rows.append(row_of(Measured(name=tree.name, runs=runs)))
        print(f"{tree.name}: {runs[-1].usage.wall_seconds:.1f} s", file=sys.stderr, flush=True)
    print(markdown_table(HEADER, rows, "<><>>>>>>>>><"))
    print(
        "\nWall and CPU of the whole process with its workers; `of floor` is CPU over that of reading and parsing the same files"
    )
    print(
        "alone, `of ctags` over that of `ctags -R`; memory is of all processes together; text after: when text can be searched."
    )
    return 0


def row_of(measured: Measured) -> tuple[str, ...]:
    """Returns the cells of one repository, in the order of `HEADER`."""
    runs, last = measured.runs, measured.runs[-1].job
    cpu = median(run.usage.cpu_seconds for run in runs)
    floor = median(run.floor.cpu_seconds for run in runs)
    ctags = [run.ctags.cpu_seconds for run in runs if run.ctags is not None]
    return (
        measured.name,
        f"{last.report.file_count:,}",
        _by_reason(last.skipped),
        written(last.report.source_bytes, "bytes"),
        f"{last.report.symbol_count:,}",
        written(median(run.usage.wall_seconds for run in runs), "s"),
        written(median(run.job.searchable_seconds for run in runs), "s"),
        written(cpu, "s"),
        f"{cpu / floor:.1f}x" if floor else "",
        f"{cpu / median(ctags):.1f}x" if ctags and median(ctags) else "",
        written(median(run.usage.peak_rss_all or run.usage.peak_rss for run in runs), "bytes"),
        f"{last.index_bytes / last.report.source_bytes:.2f}" if last.report.source_bytes else "",
        _by_reason(last.text_only),
    )


def _by_reason(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {reason}" for reason, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
