"""Real edits, a real server, questions at once: no answer is wrong and calls itself fresh or complete.

`make soak` scales it; 1,000 edits take some minutes. A seed that fails says what was asked, what was on disk, and what came.
"""

import pytest

from bench.freshness import KINDS, Driver, World

N_EDITS = 3 * len(KINDS)


@pytest.mark.soak
@pytest.mark.parametrize("wait_ms", [5_000, 30])
def test_no_answer_after_an_edit_is_wrong_and_calls_itself_fresh_or_complete(wait_ms, tmp_path, soak_scale):
    """With the wait that is the default, and with one in which little can land: then most answers have to say so."""
    world = World(tmp_path, seed=wait_ms)
    variables = {"CODECOMPASS_QUERY_FRESHNESS_WAIT_MS": str(wait_ms)}

    report = Driver(world, tmp_path / "home", variables=variables).run(N_EDITS * soak_scale)

    assert report.lies == ()
    assert sum(report.right.values()) + sum(report.late.values()) + sum(report.refused.values()) == report.questions
    assert set(report.seconds) == set(KINDS)
