"""Measures CodeCompass beside other programs, in one table: `python -m bench`, `make bench`, `make bench-compare`.

All programs take turns on a copy of each tree, which holds only the files that are indexed. zoekt, ctags, rg, codegraph (npm) and
jcodemunch-mcp (PyPI) are measured if they are on PATH or in a directory given with --programs. Without --trees it measures
generated files, and needs no network. Every sample is written to bench/out/bench-<time>.json.

    python -m bench --trees DIR.. --against 39f3f910 --rows index,ask --rounds 3
    python -m bench --show FILE                       the table of an earlier run
    python -m bench --show FILE --into docs/performance.md
"""

import argparse
import os
import platform
import shutil
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import msgspec

from bench.comparison import PARTS, Comparison, Measured, Plan
from bench.corpus import OUT, Tree, copy_of, given_tree, synthetic_tree
from bench.programs import OURS, ROOT, Program, checked_out, codecompass, compile_package, installed
from bench.report import Column, Report, rendered, worse, write_into

GENERATED_FILES: Final = 5_000
TOLERANCE: Final = 0.03


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line. Returns 1 if a row costs more than at the compared commit, by more than the tolerance."""
    options = _options(arguments)
    # A terminated run removes what it has made, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if options.show is not None:
        report = msgspec.json.decode(options.show.read_bytes(), type=Report)
    else:
        report = _measured(options)
        OUT.mkdir(exist_ok=True)
        path = options.out or OUT / f"bench-{report.taken_at.replace(':', '')}.json"
        path.write_bytes(msgspec.json.format(msgspec.json.encode(report)))
        print(f"bench: all samples are in {os.path.relpath(path)}", file=sys.stderr)
    print(rendered(report))
    if options.into is not None:
        write_into(options.into, report)
    if not report.against or not (found := worse(report, options.tolerance)):
        return 0
    print(f"\nMore than {options.tolerance:.0%} worse than {report.against}:", *found, sep="\n* ")
    return 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=Path, nargs="+", default=[], help="directories to measure on; they are only read")
    parser.add_argument("--against", metavar="COMMIT", default="", help="compare with a commit of this repository")
    parser.add_argument(
        "--rows", type=lambda text: text.split(","), default=list(PARTS), help=f"parts of the table: {','.join(PARTS)}"
    )
    parser.add_argument("--rounds", type=int, default=Plan().rounds, help="values of each figure (default 3)")
    parser.add_argument("--questions", type=int, default=Plan().questions, help="of each kind in a round (default 25)")
    parser.add_argument("--programs", type=Path, nargs="+", default=[], help="directories in which to look for other programs")
    parser.add_argument("--without", nargs="+", default=[], metavar="NAME", help="other programs to leave out")
    parser.add_argument("--files", type=int, default=GENERATED_FILES, help="of the generated tree")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="share by which a row may be worse (default 0.03)")
    parser.add_argument("--out", type=Path, help="the file for all samples")
    parser.add_argument("--show", type=Path, metavar="FILE", help="measure nothing: print the table of this file")
    parser.add_argument("--into", type=Path, metavar="DOCUMENT", help="replace the table in this document")
    options = parser.parse_args(arguments)
    if unknown := set(options.rows) - set(PARTS):
        parser.error(f"--rows: unknown {', '.join(sorted(unknown))}")
    for tree in options.trees:
        if not tree.is_dir():
            parser.error(f"--trees: {tree} is not a directory")
    return options


def _measured(options: argparse.Namespace) -> Report:
    load = os.getloadavg()[0]
    plan = Plan(parts=tuple(options.rows), rounds=options.rounds, questions=options.questions)
    others, absent = installed(options.programs)
    with ExitStack() as stack:
        ours = [codecompass(OURS, ROOT)]
        if options.against:
            ours.append(codecompass(options.against, stack.enter_context(checked_out(options.against))))
        for program in ours:
            compile_package(Path(program.environment["PYTHONPATH"]))
        programs = [*ours, *(each for each in others if each.name not in options.without)]
        measured = tuple(_measured_tree(tree, programs, plan) for tree in _trees(options))
    return Report(
        taken_at=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        system=f"{platform.system()} {platform.machine()}",
        python=platform.python_version(),
        processors=os.cpu_count() or 0,
        load=(load, os.getloadavg()[0]),
        rounds=plan.rounds,
        against=options.against,
        columns=tuple(Column(program=program.name, version=program.version) for program in programs),
        absent=tuple(name for name in absent if name not in options.without),
        trees=measured,
    )


def _trees(options: argparse.Namespace) -> list[Tree]:
    return [given_tree(tree) for tree in options.trees] or [synthetic_tree(options.files)]


def _measured_tree(tree: Tree, programs: Sequence[Program], plan: Plan) -> Measured:
    copy = copy_of(tree).root
    try:
        with TemporaryDirectory(prefix="codecompass-bench-") as directory:
            measured = Comparison(copy, Path(directory).resolve(), programs, plan).run()
    finally:
        shutil.rmtree(copy, ignore_errors=True)
    measured.tree = tree.name
    return measured


if __name__ == "__main__":
    sys.exit(main())
