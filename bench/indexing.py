"""Building and updating the index: time, CPU, memory and size, compared with ctags, git and the read-and-parse floor."""

import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from msgspec import Struct

from bench import job, other_programs
from bench.corpus import Tree, copy_of
from bench.edits import edit_files, editable, undo
from bench.figures import Figure, figure, written
from bench.floor import FloorRun
from bench.job import JobRun, UpdateRun
from bench.measure import Usage, python, run
from codecompass.store.index import WorkspaceIndex
from codecompass.store.writer import WriteCounts

EDITS = 10
"""Files per update, as in the contract."""


class Plan(Struct, frozen=True, kw_only=True):
    """How often each measurement is taken."""

    cold_runs: int = 3
    large_cold_runs: int = 1
    unchanged_runs: int = 5
    update_rounds: int = 5


class ColdRun(Struct, frozen=True, kw_only=True):
    """One build from nothing, and the cost of the other programs right before and after it."""

    usage: Usage
    job: JobRun
    floor: FloorRun
    ctags: Usage | None


class TreeRuns(Struct, frozen=True, kw_only=True):
    """Everything that was measured on one tree."""

    name: str
    cold: tuple[ColdRun, ...]
    unchanged: tuple[Usage, ...]
    git_status: tuple[Usage, ...]
    updates: tuple[UpdateRun, ...] = ()
    checks: tuple[UpdateRun, ...] = ()
    updates_of_its_own: tuple[Usage, ...] = ()

    @property
    def last(self) -> JobRun:
        """The last build; its counts are those of every build."""
        return self.cold[-1].job


def index(root: Path, home: Path, *arguments: str) -> tuple[Usage, JobRun]:
    """Runs one job over `root` into the store `home` in a separate process."""
    started = repr(time.monotonic())
    finished = run(python("-m", "bench.job", root, "--home", home, "--started", started, *arguments))
    return finished.usage, job.decode(finished.stdout)


def cold_run(tree: Tree, home: Path) -> ColdRun:
    """Builds the index of a tree from nothing, as at the first contact: no index of it is in the store.

    ctags runs first, so that the files are in memory for all.
    """
    ctags = other_programs.ctags_usage(tree.root)
    shutil.rmtree(job.layout_for(tree.root, home).root, ignore_errors=True)
    usage, done = index(tree.root, home)
    return ColdRun(usage=usage, job=done, floor=other_programs.floor_run(tree.root, home), ctags=ctags)


def measure_tree(tree: Tree, home: Path, plan: Plan, *, cold_runs: int, edited: Sequence[str] | None = None) -> TreeRuns:
    """Measures one tree; the store in `home` holds its index afterwards.

    `edited` are the files that updates change, by default some chosen from the tree itself. A tree that is not ours is copied for
    the updates.
    """
    cold = [cold_run(tree, home) for _ in range(cold_runs)]
    unchanged, status = [], []
    for _ in range(plan.unchanged_runs):
        unchanged.append(index(tree.root, home)[0])
        git = other_programs.git_status_usage(tree.root)
        status += [] if git is None else [git]
    warm, of_its_own = _measure_updates(tree, home, plan, edited)
    return TreeRuns(
        name=tree.name,
        cold=tuple(cold),
        unchanged=tuple(unchanged),
        git_status=tuple(status),
        updates=() if warm is None else warm.updates,
        checks=() if warm is None else warm.checks,
        updates_of_its_own=of_its_own,
    )


def files_to_edit(tree: Tree, home: Path, plan: Plan) -> list[str]:
    """Returns files for all rounds of updates, from the index of `tree`; fewer if it has too few."""
    with WorkspaceIndex(job.layout_for(tree.root, home), "").snapshot() as snapshot:
        paths = editable(path for _, path in snapshot.facts.paths())
    return paths[: EDITS * (plan.update_rounds + 1)]


def _measure_updates(tree: Tree, home: Path, plan: Plan, edited: Sequence[str] | None) -> tuple[JobRun | None, tuple[Usage, ...]]:
    paths = files_to_edit(tree, home, plan) if edited is None else edited
    if len(paths) < 2 * EDITS:
        return None, ()
    if not tree.is_ours:
        tree = copy_of(tree)
        index(tree.root, home, "--force")
    with TemporaryDirectory() as directory:
        listed = Path(directory) / "paths"
        listed.write_text("\n".join(paths), encoding="utf-8", errors="surrogateescape")
        warm = index(tree.root, home, "--edit-list", str(listed), "--edits", str(EDITS))[1]
    of_its_own = []
    for number in range(min(plan.update_rounds, len(paths) // EDITS)):
        edits = edit_files(tree.root, paths[number * EDITS : (number + 1) * EDITS], tag=number)
        try:
            of_its_own.append(index(tree.root, home)[0])
            job.require_visible(job.layout_for(tree.root, home), edits)
        finally:
            undo(edits)
        index(tree.root, home)
    return warm, tuple(of_its_own)


def figures_of(runs: TreeRuns) -> list[Figure]:
    """Returns the rows of one tree."""
    cold, last = runs.cold, runs.last
    report = last.report
    files = f"{report.file_count:,} files"
    ctags = [run.ctags for run in cold if run.ctags is not None]
    skipped = ", ".join(f"{count:,} {reason}" for reason, count in sorted(last.skipped.items())) or "none"
    rows = [
        figure(
            f"cold full index, {files}: wall",
            [run.usage.wall_seconds for run in cold],
            "s",
            must="60 s @5k files",
            aim="10 s",
            beside=[*_beside("ctags -R", ctags, _wall), _floor("read + parse alone", [run.floor.wall_seconds for run in cold])],
            note=f"{report.symbol_count:,} symbols, {written(report.source_bytes, 'bytes')}; skipped: {skipped}",
        ),
        figure(
            f"cold full index, {files}: CPU",
            [run.usage.cpu_seconds for run in cold],
            "s",
            aim="15 s Django, 90 s k8s",
            beside=[*_beside("ctags -R", ctags, _cpu), _floor("read + parse alone", [run.floor.cpu_seconds for run in cold])],
        ),
        figure(
            f"text searchable after first contact, {files}",
            [run.job.searchable_seconds for run in cold],
            "s",
            must="10 s @5k",
            aim="2 s",
        ),
        figure(
            f"memory of all processes while indexing, {files}",
            [run.usage.peak_rss_all or run.usage.peak_rss for run in cold],
            "bytes",
            must="0.5 GB Django, 1 GB k8s",
            aim="0.3, 0.6 GB",
            beside=_beside("ctags -R", ctags, lambda usage: usage.peak_rss),
            note=f"largest process {written(median(run.usage.peak_rss for run in cold), 'bytes')}",
        ),
        figure(
            f"index size / source size, {files}",
            [last.index_bytes / max(1, report.source_bytes)],
            "x",
            must="3x",
            aim="1.5x",
            note=written(last.index_bytes, "bytes"),
        ),
        figure(
            f"nothing changed, {files}: wall, Python's start included",
            [usage.wall_seconds for usage in runs.unchanged],
            "s",
            must="2 s @10k",
            beside=_beside("git status", runs.git_status, _wall),
        ),
        figure(
            f"nothing changed, {files}: CPU",
            [usage.cpu_seconds for usage in runs.unchanged],
            "s",
            aim="0.3 s @10k",
            beside=_beside("git status", runs.git_status, _cpu),
        ),
    ]
    if runs.updates:
        rows += _update_figures(runs, files, ctags)
    return rows


def _update_figures(runs: TreeRuns, files: str, ctags: Sequence[Usage]) -> list[Figure]:
    changed = f"{EDITS} files changed, to searchable, {files}"
    rows = [
        figure(
            f"{changed}: wall, workers warm",
            [update.wall_seconds for update in runs.updates],
            "s",
            must="5 s",
            beside=_beside("ctags -R, all again", ctags, _wall),
        )
    ]
    cpu, scan = ([run.cpu_seconds for run in some if run.cpu_seconds is not None] for some in (runs.updates, runs.checks))
    if cpu and scan:
        rows.append(
            figure(
                f"{changed}: CPU, workers warm",
                cpu,
                "s",
                aim="0.3 s",
                beside=_beside("ctags -R, all again", ctags, _cpu),
                note=f"of it {written(median(scan), 's')} to find out what changed; {_counts(runs.updates)}",
            )
        )
    if runs.updates_of_its_own:
        own = runs.updates_of_its_own
        rows.append(figure(f"{EDITS} files changed, {files}: CPU, a process of its own", [_cpu(usage) for usage in own], "s"))
    return rows


def compare_updates(small: TreeRuns, large: TreeRuns) -> str:
    """Returns a sentence: whether the same edits cause the same reads and writes in trees of different size."""
    pairs = list(zip(_write_counts(small.updates), _write_counts(large.updates), strict=False))
    if not pairs:
        return "no updates were measured"
    different = [(one, other) for one, other in pairs if one != other]
    if not different:
        return f"equal on both trees in {len(pairs)} of {len(pairs)} updates: files, rows and documents written"
    one, other = different[0]
    return f"DIFFERENT in {len(different)} of {len(pairs)} updates, first: {one} on {small.name}, {other} on {large.name}"


def _write_counts(updates: Sequence[UpdateRun]) -> list[WriteCounts]:
    return [update.report.counts for update in updates]


def _counts(updates: Sequence[UpdateRun]) -> str:
    counts = updates[-1].report.counts
    return f"written: {counts.files_written} files, {counts.rows_written} rows, {counts.documents_written} documents"


def _beside(name: str, usages: Sequence[Usage], value: Callable[[Usage], float]) -> list[tuple[str, float]]:
    return [(name, median(map(value, usages)))] if usages else []


def _floor(name: str, values: Sequence[float]) -> tuple[str, float]:
    return name, median(values)


def _wall(usage: Usage) -> float:
    return usage.wall_seconds


def _cpu(usage: Usage) -> float:
    return usage.cpu_seconds
