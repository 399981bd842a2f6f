"""Runs one index job in this process and writes the result to stdout as JSON: `python -m bench.job ROOT --home DIR`.

Measurements start it as a separate process. The job, its workers and its stores are the real ones; only the location of the store
differs. With `--edit-list FILE` (one path per line) the process continues as a server would, its workers warm: the next `--edits`
files of the list are edited, indexed and restored, until the list ends.
"""

import argparse
import os
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import trio
from msgspec import Struct

from bench.edits import Edit, edit_files, undo
from bench.measure import cpu_seconds_of
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.identity import canonical_root, project_id
from codecompass.jobs import JobMode
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.publication import Step
from codecompass.store.writer import WriteCounts

SETTLE_SECONDS: Final = 0.05
"""A file that is read sooner after it was written is read again next time, so a check would find it changed."""


class Report(Struct, frozen=True, kw_only=True):
    """The parts of a JobReport that figures use. JobReport itself cannot be decoded: some of its types are forward references."""

    mode: JobMode
    generation: int
    file_count: int
    symbol_count: int
    source_bytes: int
    files_changed: int
    counts: WriteCounts


def report_of(report: JobReport) -> Report:
    """Returns these parts of a report."""
    return Report(**{name: getattr(report, name) for name in Report.__struct_fields__})


class UpdateRun(Struct, frozen=True, kw_only=True):
    """One update in a warm process. Times in seconds; CPU is that of the process and all its workers, None if the system does not
    report the CPU time of running processes."""

    wall_seconds: float
    cpu_seconds: float | None
    report: Report


class JobRun(Struct, frozen=True, kw_only=True):
    """The cost and result of a job. Times in seconds, sizes in bytes.

    `searchable_seconds` runs from `--started` (or the beginning of the job) to the first publication, which may be of the text
    alone; `skipped` and `text_only` count files by reason, `languages` by language. `checks` are runs in the same warm process as
    `updates` that found nothing changed.
    """

    report: Report
    searchable_seconds: float
    publications: int
    index_bytes: int
    skipped: dict[str, int]
    text_only: dict[str, int]
    languages: dict[str, int]
    updates: tuple[UpdateRun, ...] = ()
    checks: tuple[UpdateRun, ...] = ()


class UpdateLost(Exception):
    """An update succeeded, but what it wrote cannot be found: the figures are then worthless."""


def decode(stdout: bytes) -> JobRun:
    """Decodes the output of the process."""
    return msgspec.json.decode(stdout, type=JobRun)


def layout_for(root: Path, home: Path) -> ProjectLayout:
    """Returns the directory of the index of `root` in the store `home`."""
    return HomeLayout(home).project(project_id(canonical_root(root)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--workers", type=int, default=default_pool_size())
    parser.add_argument("--force", action="store_true")
    parser.add_argument("--started", type=float, default=None, help="time.monotonic() of whoever waits")
    parser.add_argument("--include", action="append", default=[], help="pattern of files to take in whatever excludes them")
    parser.add_argument("--edit-list", type=Path, default=None)
    parser.add_argument("--edits", type=int, default=10)
    options = parser.parse_args(arguments)
    run = trio.run(_run, options)
    sys.stdout.buffer.write(msgspec.json.encode(run))


async def _run(options: argparse.Namespace) -> JobRun:
    started = time.monotonic() if options.started is None else options.started
    root = canonical_root(options.root)
    layout = layout_for(root, options.home)
    limits = IndexLimits(rules=ScanRules(extra_includes=tuple(options.include)))
    published: list[float] = []

    def on_step(step: Step) -> None:
        # The clean-up is the first step after a publication that is reported to an observer.
        if step == "clean_up":
            published.append(time.monotonic())

    async with open_worker_pool(options.workers) as pool:

        async def update() -> UpdateRun:
            cpu, began = _cpu_seconds(), time.monotonic()
            report = await IndexJob(
                JobContext(root=root, layout=layout, pool=pool, limits=limits), JobOrder(job_id="bench")
            ).run()
            wall, cpu_after = time.monotonic() - began, _cpu_seconds()
            spent = None if cpu is None or cpu_after is None else cpu_after - cpu
            return UpdateRun(wall_seconds=wall, cpu_seconds=spent, report=report_of(report))

        job = IndexJob(
            JobContext(root=root, layout=layout, pool=pool, limits=limits, on_step=on_step),
            JobOrder(job_id="bench", force=options.force),
        )
        report = await job.run()
        updates: tuple[UpdateRun, ...] = ()
        checks: tuple[UpdateRun, ...] = ()
        if options.edit_list is not None:
            paths = options.edit_list.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
            updates, checks = await _updates(update, root, layout, paths, options.edits)
    with WorkspaceIndex(layout, layout.root.name).snapshot() as snapshot:
        facts = snapshot.facts
        return JobRun(
            report=report_of(report),
            searchable_seconds=(published[0] if published else time.monotonic()) - started,
            publications=len(published),
            index_bytes=size_of(layout.root),
            skipped=dict(facts.skipped_by_reason()),
            text_only=dict(facts.text_only_by_reason()),
            languages=dict(facts.files_by_language()),
            updates=updates,
            checks=checks,
        )


async def _updates(
    update: Callable[[], Awaitable[UpdateRun]], root: Path, layout: ProjectLayout, paths: Sequence[str], count: int
) -> tuple[tuple[UpdateRun, ...], tuple[UpdateRun, ...]]:
    """The first round is not counted: it starts the workers and loads their grammars."""
    updates, checks = [], []
    for number, start in enumerate(range(0, len(paths) - count + 1, count)):
        edits = edit_files(root, paths[start : start + count], tag=number)
        try:
            updates.append(await update())
            require_visible(layout, edits)
        finally:
            undo(edits)
        await trio.sleep(SETTLE_SECONDS)
        await update()
        checks.append(await update())
    return tuple(updates[1:]), tuple(checks[1:])


def require_visible(layout: ProjectLayout, edits: Sequence[Edit]) -> None:
    """Raises UpdateLost unless every edit's new definition is in the index."""
    with WorkspaceIndex(layout, "").snapshot() as snapshot:
        for edit in edits:
            if not any(row.path == edit.path for row in snapshot.facts.symbols_named(edit.name, 10)):
                raise UpdateLost(f"{edit.name} was written to {edit.path} and is not in the index")


def size_of(directory: Path) -> int:
    """Returns the bytes of all files below `directory`."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def _cpu_seconds() -> float | None:
    """Returns the CPU time so far of this process and its children, running ones included; None on systems other than Linux."""
    if sys.platform != "linux":
        return None
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return cpu_seconds_of(os.getpid()) + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()
