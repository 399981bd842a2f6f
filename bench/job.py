"""Runs one index job in a process of its own: `index`, which starts `python -m bench.job ROOT --home DIR`.

The job, its workers and its stores are the real ones; only the location of the store differs.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import trio
from msgspec import Struct

from bench.measure import Usage, python, run
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.identity import canonical_root, project_id
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout


class JobRun(Struct, frozen=True, kw_only=True):
    """What a job indexed. `skipped` counts files by reason."""

    file_count: int
    symbol_count: int
    source_bytes: int
    skipped: dict[str, int]


def layout_for(root: Path, home: Path) -> ProjectLayout:
    """Returns the directory of the index of `root` in the store `home`."""
    return HomeLayout(home).project(project_id(canonical_root(root)))


def index(root: Path, home: Path, *arguments: str) -> tuple[Usage, JobRun]:
    """Runs one job over `root` into the store `home` in a separate process."""
    finished = run(python("-m", "bench.job", root, "--home", home, *arguments))
    return finished.usage, msgspec.json.decode(finished.stdout, type=JobRun)


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=default_pool_size())
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--include", action="append", default=[], help="pattern of files to take in whatever excludes them")
    sys.stdout.buffer.write(msgspec.json.encode(trio.run(_run, parser.parse_args(arguments))))


async def _run(options: argparse.Namespace) -> JobRun:
    root = canonical_root(options.root)
    layout = layout_for(root, options.home)
    limits = IndexLimits(rules=ScanRules(extra_includes=tuple(options.include)))
    async with open_worker_pool(options.workers) as pool:
        context = JobContext(root=root, layout=layout, pool=pool, limits=limits)
        report = await IndexJob(context, JobOrder(job_id="bench", force=options.force)).run()
    with WorkspaceIndex(layout, layout.root.name).snapshot() as snapshot:
        skipped = dict(snapshot.facts.skipped_by_reason())
    return JobRun(
        file_count=report.file_count, symbol_count=report.symbol_count, source_bytes=report.source_bytes, skipped=skipped
    )


if __name__ == "__main__":
    main()
