"""Real edits and immediate requests to a real server: no answer is wrong and claims to be fresh or complete.

`make soak` scales it; 1,000 edits take some minutes. A failing seed reports the request, the disk and the answer.
"""

import os

import pytest

from bench.freshness import EDITS, Driver
from bench.world import World
from tests.support.loop_mounts import ext4_of_whole_seconds

# Each needs the whole machine.
pytestmark = [pytest.mark.soak, pytest.mark.xdist_group("soak"), pytest.mark.timeout(3600)]

N_EDITS = 3 * len(EDITS)


@pytest.mark.invariant(of="test_not_found_in_an_index_that_is_behind_says_that_it_is_behind")
@pytest.mark.parametrize("wait_ms", [5_000, 30])
def test_no_answer_after_an_edit_is_wrong_and_calls_itself_fresh_or_complete(wait_ms, tmp_path, soak_scale):
    """With the default wait, and with one so short that most answers must say that they are stale."""
    world = World(tmp_path, seed=wait_ms)
    variables = {"CODECOMPASS_QUERY_FRESHNESS_WAIT_MS": str(wait_ms)}

    report = Driver(world, tmp_path / "home", variables=variables).run(N_EDITS * soak_scale)

    assert report.lies == ()
    assert sum(report.right.values()) + sum(report.late.values()) + sum(report.refused.values()) == report.questions
    assert set(report.seconds) == set(EDITS)


def test_nor_on_a_disk_whose_clock_counts_in_seconds(tmp_path, soak_scale):
    with ext4_of_whole_seconds(tmp_path) as disk:
        world = World(disk, seed=1, n_files=200)
        assert os.stat(world.root).st_mtime_ns % 10**9 == 0

        report = Driver(world, tmp_path / "home").run(len(EDITS) * soak_scale)

    assert report.lies == ()
    assert set(report.seconds) == set(EDITS)
