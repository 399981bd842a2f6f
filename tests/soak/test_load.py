"""One server, 64 clients on all transports, 8 changing workspaces: nothing is lost, answered twice, mixed up or leaked."""

import json
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from codecompass.units import MIB
from tests.soak.growth import Allowance, Sample, growth, leaks, sample
from tests.soak.load import Load
from tests.support.live import http_server
from tests.support.sample import SAMPLE
from tests.support.wire import Posting, http_connection
from tests.support.workspace import TestWorkspace

pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("soak")]  # each needs the whole machine

ROOT = Path(__file__).parents[2]

N_REQUESTS = 2_000
"""In CI."""

N_SOAKED = 5_000
"""For each unit of the scale above 1: `make soak` has 20, which makes 100,000."""

N_WORKSPACES = 8
N_SAMPLES = 50
SEED = 64
SECONDS_A_REQUEST = 0.1


@asynccontextmanager
async def watched(tmp_path, **variables):
    """Yields a server over 8 workspaces, whose tasks are counted."""
    home, watch_file = tmp_path / "home", tmp_path / "watch.json"
    workspaces = [TestWorkspace(tmp_path / f"project-{number}", home) for number in range(N_WORKSPACES)]
    for number, each in enumerate(workspaces):
        each.write({**SAMPLE, "only_here.py": f"def only_{number}():\n    pass\n"})
    with open_registry(HomeLayout(home), busy_timeout_ms=5_000) as registry:
        for each in workspaces:
            registry.register(each.root)
    module, variables = "tests.soak.watched_server", {"WATCH_FILE": str(watch_file), "PYTHONPATH": str(ROOT), **variables}
    async with http_server(home=home, module=module, **variables) as server:
        server.watch_file, server.workspaces, server.home = watch_file, workspaces, home
        async with http_connection(server.url) as http:
            for each in workspaces:
                arguments = {"workspace": str(each.root), "wait_seconds": 50}
                answer = await Posting(http, "/").call("tools/call", {"name": "index_repo", "arguments": arguments})
                assert answer["result"]["isError"] is False, answer
        yield server


async def run_load(server, n_requests, *, while_loaded=trio.lowlevel.checkpoint):
    """Returns the finished load and the samples of the server."""
    load = Load(server.url, server.home, server.workspaces, seed=SEED, n_requests=n_requests)
    samples = []

    async def look():
        while True:
            if load.n_answered >= len(samples) * n_requests / N_SAMPLES and server.watch_file.exists():
                samples.append(sample(server.process.pid, server.watch_file, load.n_answered))
            await trio.sleep(0.02)

    with trio.fail_after(300 + n_requests * SECONDS_A_REQUEST):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            nursery.start_soon(while_loaded)
            await load.run()
            nursery.cancel_scope.cancel()
    return load, samples


@pytest.mark.invariant("Each request of many clients is answered exactly once and leaves nothing behind")
@pytest.mark.timeout(3600)  # `make soak` takes fifty times as long
async def test_64_clients_lose_nothing_and_leave_nothing_behind(tmp_path, soak_scale, capsys):
    n_requests = N_REQUESTS if soak_scale == 1 else N_SOAKED * soak_scale
    async with watched(tmp_path) as server:
        probe = await trio.lowlevel.open_process(
            [sys.executable, "-m", "tests.soak.health_probe", str(server.port)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        began = trio.current_time()
        load, samples = await run_load(server, n_requests)
        seconds = trio.current_time() - began
        await probe.stdin.aclose()
        health = json.loads(b"".join([data async for data in probe.stdout]))
        await probe.wait()
        await probe.stdout.aclose()

        assert await server.end() == 0
    with capsys.disabled():
        print(
            f"\nload: {n_requests} requests of 64 clients in {seconds:.1f} s ({n_requests / seconds:.0f} a second), "
            f"/health p50 {health['p50']} ms, p95 {health['p95']} ms, max {health['max']} ms of {health['n']}; "
            f"grown by {', '.join(f'{value:.0f} {name}' for name, value in growth(samples).items())}; {dict(load.outcomes)}"
        )

    assert load.n_answered == load.n_begun >= n_requests
    assert load.outcomes["ok"] > n_requests // 2
    assert load.outcomes["jobs begun"] > 5
    allowance = Allowance() if soak_scale == 1 else Allowance(memory=24 * MIB)
    assert not leaks(samples, allowance), samples


@pytest.mark.timeout(3600)
async def test_leaks_that_are_put_in_on_purpose_are_found(tmp_path):
    async with watched(tmp_path, LEAKS="memory tasks threads handles") as server:
        _, samples = await run_load(server, 2_000)

    assert set(leaks(samples, Allowance())) == {"memory", "tasks", "threads", "handles"}, growth(samples)


def test_a_step_and_a_few_peaks_are_no_growth():
    steady = [Sample(number * 100, 50_000_000 + number % 3, 20, 9, 40) for number in range(50)]
    steady[30] = Sample(3000, 90_000_000, 300, 20, 90)

    assert not leaks(steady, Allowance())
    assert leaks([Sample(number * 100, 50_000_000 + number * 2_000_000, 20, 9, 40) for number in range(50)], Allowance()) == {
        "memory": pytest.approx(58_000_000)
    }
