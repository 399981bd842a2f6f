"""A server's memory after many mixed requests, connections and sessions. `python -m bench.growth` sends 50,000."""

import pytest

from bench.growth import Sample, asked, connect, copied, grown, open_sessions, sample
from bench.synthetic import project_files, source_files
from codecompass.units import MIB
from tests.support.served import write_tree
from tests.support.waiting import until

pytestmark = [
    pytest.mark.soak,
    pytest.mark.xdist_group("soak"),
    pytest.mark.invariant(of="test_the_threads_of_a_server_share_the_memory_that_they_free"),
]  # each needs the whole machine

N_REQUESTS = 2_500
"""In CI: the allocator and the caches have reached their size after about 600, on a busy machine after 1,000."""

N_SOAKED = 2_500
"""For each unit of the scale above 1: `make soak` has 20, which makes 50,000."""

N_SAMPLES = 50
WARM_UP = 0.4
"""The share of the requests before the first sample that counts."""

LARGEST_GROWTH = 0.05
"""As a share of the memory after the warm-up; in CI with the room below."""

ROOM = 16 * MIB
"""The allocator keeps what one large request needed: a step of 10 to 14 MB, once, in any request (measured 2026-11-26)."""


@pytest.fixture
def tree(tmp_path):
    files = {file.path: file.text for file in (*project_files(), *source_files(1, 60))}
    made = write_tree(tmp_path / "made", files)
    (tmp_path / "place").mkdir()
    return copied(made, tmp_path / "place")


def growth_of(samples: list[Sample]) -> int:
    """Returns by how many bytes the memory grew after the warm-up: the least of the second half over the least of the first.

    What requests use for a moment comes and goes; a leak raises the least too.
    """
    counted = [each.resident for each in samples if each.n_requests >= WARM_UP * samples[-1].n_requests]
    middle = len(counted) // 2
    return min(counted[middle:]) - min(counted[:middle])


@pytest.mark.timeout(0)
@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_memory_does_not_grow_with_requests(transport, tree, tmp_path, soak_scale, capsys):
    n_requests = N_REQUESTS if soak_scale == 1 else N_SOAKED * soak_scale
    with asked(tree, tmp_path / "home", transport) as (client, pid, _port):
        samples, outcomes = grown(client, pid, tree, n_requests=n_requests, edit_every=n_requests // 10, n_samples=N_SAMPLES)
    grew, base = growth_of(samples), samples[int(WARM_UP * N_SAMPLES)].resident
    with capsys.disabled():
        print(f"\n{transport}: {n_requests} requests, {base / MIB:.0f} MB, grown by {grew / MIB:.1f} MB; {dict(outcomes)}")

    assert outcomes["answered"] > n_requests / 2
    assert grew < LARGEST_GROWTH * base + (ROOM if soak_scale == 1 else 0), samples
    assert samples[-1].threads <= samples[0].threads + 10
    assert samples[-1].handles <= samples[0].handles + 20


async def test_connections_and_sessions_leave_nothing(tree, tmp_path, soak_scale):
    n_connects, n_sessions = (200, 100) if soak_scale == 1 else (1_000, 500)
    with asked(tree, tmp_path / "home", "http") as (_client, pid, port):
        # What is loaded with the first of each kind, and the sessions that a server keeps.
        connect(port, 60)
        open_sessions(port, 60)
        before = sample(pid, 0)

        connect(port, n_connects)
        open_sessions(port, n_sessions)

        await until(lambda: sample(pid, 0).handles <= before.handles, "no connection that is left open")
        after = sample(pid, 0)
    assert after.threads <= before.threads + 4
    assert after.resident - before.resident < 8 * MIB


def test_growth_is_found_whatever_single_samples_are():
    steady = [Sample(n_requests=n, resident=100 + 50 * (n % 3), mapped=0, threads=1, handles=1) for n in range(1, 51)]
    growing = [Sample(n_requests=n, resident=100 + 10 * n + 50 * (n % 3), mapped=0, threads=1, handles=1) for n in range(1, 51)]

    assert growth_of(steady) == 0
    assert growth_of(growing) >= 150
