"""kill -9 at any moment loses nothing published, and readers never see a mixture of generations."""

import collections
import os
import random
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import trio

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import IndexNotReady
from codecompass.identity import content_hash
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.timeout(1_800)  # a process for each kill

STEPS = {"scan": 4.0, "parse": 80.0, "commit": 12.0, "publication": 2.0, "clean_up": 1.5}
"""The steps at which to kill, and the longest delay after their start, in milliseconds: about their duration."""

FILES = 120

MAX_TRIES_PER_KILL = 10
"""A random delay can be longer than the step; the process is then killed in a later step, which is counted, or not at all."""


def write_version(workspace: TestWorkspace, version: int) -> None:
    """Writes files that each contain the version, so that a mixture of versions is noticed."""
    files = {}
    for index in range(FILES):
        # A third of the files appear and disappear.
        if index % 3 == 0 and (version + index) % 2:
            (workspace.root / f"p{index % 7}/m{index}.py").unlink(missing_ok=True)
            continue
        body = "".join(f"def f{index}_{number}_v{version}():\n    return {number}\n\n\n" for number in range(20))
        files[f"p{index % 7}/m{index}.py"] = body + f"VERSION = {version}\n"
    workspace.write(files)


def versions_of(snapshot: Snapshot) -> set[str]:
    """Reads both stores completely, asserts that they agree, and returns the versions found."""
    versions = set()
    facts, text = snapshot.facts, snapshot.text
    rows = facts.files()
    n_symbols = 0
    for row in rows:
        source = "".join(chunk.text for chunk in text.file_chunks(row.id))
        assert content_hash(source.encode()) == row.content_hash, f"{row.path}: text and manifest differ"
        versions.add(source.rsplit("= ", 1)[-1].strip())
        symbols = facts.symbols_in_file(row.id)
        assert len(symbols) == row.symbol_count
        assert row.is_parsed or not symbols
        n_symbols += len(symbols)
        versions.update(symbol.name.rsplit("_v", 1)[-1] for symbol in symbols if "_v" in symbol.name)
    assert snapshot.meta.file_count == len(rows)
    assert snapshot.meta.symbol_count == n_symbols
    return versions


class Reader(threading.Thread):
    """Takes snapshots until stopped, and checks each completely."""

    def __init__(self, index: WorkspaceIndex) -> None:
        super().__init__(daemon=True)
        self.index = index
        self.stopped = threading.Event()
        self.generations: list[int] = []
        self.failure: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.stopped.is_set():
                try:
                    with self.index.snapshot() as snapshot:
                        versions = versions_of(snapshot)
                        assert len(versions) <= 1, f"generation {snapshot.generation} mixes versions {versions}"
                        self.generations.append(snapshot.generation)
                except IndexNotReady:
                    self.stopped.wait(0.005)
        except BaseException as error:  # noqa: BLE001 - passed to the test's thread
            self.failure = error

    def finish(self) -> None:
        self.stopped.set()
        self.join()
        if self.failure is not None:
            raise self.failure


def run_victim(workspace: TestWorkspace, force: bool, step: str, delay_ms: float) -> list[str]:
    """Returns the steps that the process started before it ended."""
    arguments = [str(workspace.root), str(workspace.home), "force" if force else "-", step, str(delay_ms)]
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.victim", *arguments],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
        timeout=120,
        check=False,
    )
    assert done.returncode in (0, -9), done.stderr
    return done.stdout.split()


async def check_kills(tmp_path: Path, seed: int, kills_per_step: int) -> collections.Counter[str]:
    rng = random.Random(seed)
    histogram: collections.Counter[str] = collections.Counter()
    version = 0
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home0")
    reader = Reader(workspace.index)
    reader.start()
    async with open_worker_pool(1) as pool:
        for number in range(kills_per_step * len(STEPS) * MAX_TRIES_PER_KILL):
            wanted = [step for step in STEPS if histogram[step] < kills_per_step]
            if not wanted:
                break
            step = rng.choice(wanted)
            if number % 10 == 9:
                # Sometimes a first job, in a new store.
                reader.finish()
                workspace = TestWorkspace(tmp_path / "tree", tmp_path / f"home{number}")
                reader = Reader(workspace.index)
                reader.start()
            version += 1
            # A generation has one version, because the tree only changes while nobody indexes it.
            write_version(workspace, version)
            steps = await trio.to_thread.run_sync(
                run_victim, workspace, rng.random() < 0.3, step, rng.choice([0.0, rng.uniform(0, STEPS[step])])
            )
            if "done" not in steps:
                histogram[steps[-1]] += 1
            published = _generation(workspace)
            assert published >= max(reader.generations, default=0), "a published generation is gone"

            report = await workspace.sync(pool=pool)

            assert report.generation >= published
            with workspace.index.snapshot() as snapshot:
                assert versions_of(snapshot) == {str(version)}
            left = {path.name for path in workspace.layout.epochs.iterdir()}
            assert len(left) == 1, f"epochs left after {step}: {left}"
    reader.finish()
    return histogram


def _generation(workspace: TestWorkspace) -> int:
    try:
        with workspace.index.snapshot() as snapshot:
            return snapshot.generation
    except IndexNotReady:
        return 0


@pytest.mark.invariant(
    "Readers see whole generations (text, facts and counts of one version); kill -9 at any moment loses nothing "
    "published, and the next run leaves one epoch and no leftovers"
)
@pytest.mark.slow
async def test_killing_the_indexer_at_any_moment_loses_nothing_published(tmp_path, repetitions, capsys):
    n_kills = repetitions(4, 10)
    histogram = await check_kills(tmp_path, seed=1, kills_per_step=n_kills)

    with capsys.disabled():
        print(f"\nkilled in: {dict(sorted(histogram.items()))}")
    assert min(histogram[step] for step in STEPS) >= n_kills


@pytest.mark.invariant(
    "A killed worker is replaced, and no innocent file is quarantined; if no worker ever works, the job fails instead"
    " of publishing an empty index"
)
@pytest.mark.slow
async def test_killed_workers_are_replaced_and_no_innocent_file_is_quarantined(tmp_path, soak_scale):
    rng = random.Random(7)
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    killed = 0
    async with open_worker_pool(2) as pool:
        for version in range(1, 10 * soak_scale + 1):
            write_version(workspace, version)
            pids: set[int] = set()

            def kill_one(_progress: object, pids: set[int] = pids) -> None:
                nonlocal killed
                children = _children()
                if children and len(pids) < 3 and rng.random() < 0.7:
                    pid = rng.choice(children)
                    pids.add(pid)
                    os.kill(pid, 9)
                    killed += 1

            report = await workspace.sync(pool=pool, force=version % 3 == 0, on_progress=kill_one)

            assert report.quarantined == ()
            with workspace.index.snapshot() as snapshot:
                assert versions_of(snapshot) == {str(version)}
                assert snapshot.meta.symbol_count == snapshot.meta.file_count * 21
    assert killed >= 5 * soak_scale


def _children() -> list[int]:
    """Returns the pids of this process's workers."""
    found = subprocess.run(
        ["pgrep", "-P", str(os.getpid()), "-f", "codecompass.worker"], capture_output=True, text=True, check=False
    )
    return [int(pid) for pid in found.stdout.split()]
