"""One server under faults of every kind; clients check each answer against the disk: nothing is lost, wrong or leaked.

The home was begun by an earlier version, holds many small projects that are asked all at once, and takes up indexes of earlier
formats meanwhile. `make soak` runs it for an hour; SOAK_MINUTES and SOAK_PROJECTS set the time and the number of projects.
"""

import os
import random
import sys
from collections import Counter
from contextlib import ExitStack

import pytest
import trio

from bench.world import World
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.units import MIB, MINUTES
from tests.soak.crowd import BYTES_A_PROJECT, Crowd, Upgrades, begin_old, n_projects
from tests.soak.editing import KINDS_AND_FAULTS, Editor
from tests.soak.faults import HOSTILE, Faults, SoakedServer, clock_shim
from tests.soak.growth import Allowance, growth, leaks, sample
from tests.support.faults import small_file_system

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("soak")]  # each needs the whole machine

N_EDITORS = 4
N_FILES = 120
HOME_BYTES = 384 * MIB
N_PROJECTS, N_PROJECTS_SOAKED = 40, 500
FIRST_HOME = "3-3-3"
"""The home with which the run begins: an index and a registry of earlier formats."""
SECONDS = 45
"""In CI."""

SECONDS_A_STEP = 180
"""For each unit of the scale above 1: `make soak` has 20, which makes an hour."""

LONG_LIFE = 0.75
"""The share of the time before the first kill, during which resource use is sampled."""

LIVES_AFTER_THAT = 4
ONLY = os.environ.get("SOAK_FAULTS", "").split()
"""For debugging a failure: the names of the faults in `Faults.run` to restrict the run to."""

SHORT = Allowance(memory=150 * MIB, tasks=200, threads=30, handles=120)
LONG = Allowance(memory=32 * MIB, tasks=60, handles=60)
"""Each flood opens and closes forty connections, so the samples of a short run vary a lot."""

SEED = 8


async def recovered(server):
    """Returns the health of a server once no project of it has failed; the last answer after a minute."""
    health = await server.health()
    with trio.move_on_after(60):
        while health["status"] == "error":
            await trio.sleep(1)
            health = await server.health()
    return health


@pytest.mark.invariant(
    "Nothing is lost, wrong or left behind while workers die, disks fill, mounts hang, permissions go, clocks jump, "
    "files are linked, repositories move and old indexes are taken up, one project or many"
)
@pytest.mark.timeout(5000)
@pytest.mark.skipif(sys.platform != "linux" or os.geteuid() != 0, reason="mounts file systems")
async def test_nothing_is_lost_wrong_or_kept_while_everything_fails_now_and_then(tmp_path, soak_scale, capsys):
    seconds = SECONDS if soak_scale == 1 else SECONDS_A_STEP * soak_scale
    if minutes := os.environ.get("SOAK_MINUTES", ""):
        seconds = float(minutes) * MINUTES
    n = n_projects(N_PROJECTS, N_PROJECTS_SOAKED, soak_scale)
    source = random.Random(SEED)
    worlds = [World(tmp_path / f"world-{number}", seed=SEED + number, n_files=N_FILES) for number in range(N_EDITORS)]
    dead_root = tmp_path / "dead"
    dead_root.mkdir()
    (dead_root / "a.py").write_text("def found_again():\n    return 1\n")
    home = tmp_path / "home"
    variables = {"WITHOUT_PRIVILEGES": "1", **clock_shim(tmp_path)}
    samples = []
    with ExitStack() as stack:
        stack.enter_context(small_file_system(home, str(HOME_BYTES + n * BYTES_A_PROJECT)))
        begin_old(FIRST_HOME, home, tmp_path / "shop-0")
        with open_registry(HomeLayout(home), busy_timeout_ms=5_000) as registry:
            for root in (*(world.root for world in worlds), dead_root):
                registry.register(root)
        server = SoakedServer(home, tmp_path / "watch.json", **variables)
        kinds = sorted(KINDS_AND_FAULTS)
        source.shuffle(kinds)
        editors = [Editor(server, world, kinds[number::N_EDITORS]) for number, world in enumerate(worlds)]
        roots = [world.root for world in worlds]
        crowd, upgrades = Crowd(server, tmp_path, n, seed=SEED), Upgrades(server, tmp_path)
        await crowd.prepare()
        faults = Faults(server, source, workspaces=roots, dead_root=dead_root, seconds=min(8, seconds / 20), only=ONLY)

        async def watch():
            began = trio.current_time()
            while server.n_lives == 1:
                if server.watch_file.exists():
                    samples.append(sample(server.pid, server.watch_file, round(1000 * (trio.current_time() - began))))
                await trio.sleep(seconds / 200)

        async def work():
            await trio.sleep(seconds * LONG_LIFE)
            watching.cancel()
            for _ in range(LIVES_AFTER_THAT):
                await server.kill()
                await trio.sleep(seconds * (1 - LONG_LIFE) / LIVES_AFTER_THAT)
            failing.cancel()
            await upgrades.has_taken_up.wait()
            asking.cancel()
            for editor in editors:
                editor.end()

        async def watched():
            with watching:
                await watch()

        async def failed():
            with failing:
                await faults.run()

        async def asked():
            with asking:
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(crowd.run)
                    nursery.start_soon(upgrades.run)

        watching, failing, asking = trio.CancelScope(), trio.CancelScope(), trio.CancelScope()
        async with trio.open_nursery() as living:
            await living.start(server.live)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(watched)
                nursery.start_soon(failed)
                nursery.start_soon(asked)
                nursery.start_soon(work)
                for editor in editors:
                    nursery.start_soon(editor.run)
            await crowd.check()
            # The last fault may have ended a job a moment ago; what it left is mended by the next one.
            health = await recovered(server)
            assert await server.end() == 0

    outcomes = sum((editor.outcomes for editor in editors), start=Counter())
    kinds = sum((editor.kinds for editor in editors), start=Counter())
    with capsys.disabled():
        print(
            f"\nfaults: {seconds:.0f} s, {sum(editor.n_answered for editor in editors)} answers after {kinds.total()} edits: "
            f"{dict(outcomes)}; grown by {', '.join(f'{value:.0f} {name}' for name, value in growth(samples).items())}; "
            f"faults {dict(faults.counts)}; calls to the dead {dict(faults.outcomes)}; edits {dict(kinds)}; "
            f"{n} small projects: {dict(crowd.outcomes)}; {len(upgrades.taken_up)} old indexes: {dict(upgrades.outcomes)}"
        )
    assert set(kinds) == set(KINDS_AND_FAULTS)
    assert faults.counts.keys() >= {fault.__name__ for fault in HOSTILE} | {
        "kills_a_worker", "stops_processes", "fills_the_disk", "moves_the_clock", "hides_a_workspace", "asks_the_worst", "floods",
    }  # fmt: skip
    assert crowd.outcomes["right"] >= 10
    assert upgrades.outcomes["right"] == len(upgrades.taken_up) > 0
    assert health["status"] in ("ready", "indexing", "warming"), [
        each for each in health["projects"] if each["index_status"] == "error"
    ]
    allowance = SHORT if soak_scale == 1 else LONG
    assert not leaks(samples, allowance), samples
