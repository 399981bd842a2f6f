"""State transitions of workspaces, restarts after crashes, and which workspaces stay live."""

import pytest

from codecompass.actors.child_lifecycle import (
    LEGAL_STEPS,
    LONGEST_PAUSE_SECONDS,
    MAX_RESTARTS,
    WITHIN_SECONDS,
    Resident,
    affordable,
    restart_pause,
    step,
    to_retire,
)

NO_LIMIT = 1 << 62


def test_a_legal_step_is_taken():
    assert step("starting", "running") == "running"


@pytest.mark.parametrize(("current", "following"), [("stopped", "running"), ("draining", "running"), ("failed", "running")])
def test_an_illegal_step_is_a_defect(current, following):
    with pytest.raises(AssertionError):
        step(current, following)


def test_every_state_can_be_left_towards_the_end():
    reachable = {"stopped"}
    while True:
        more = {state for state, following in LEGAL_STEPS.items() if following & reachable} | reachable
        if more == reachable:
            break
        reachable = more

    assert reachable == set(LEGAL_STEPS)


def test_the_first_crash_is_followed_by_a_short_pause():
    assert restart_pause([100.0], 100.0) < 0.1


def test_pauses_grow_with_each_crash_up_to_a_bound():
    pauses = [restart_pause([0.0] * n, 0.0) for n in range(1, MAX_RESTARTS + 1)]

    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]
    assert max(pauses) <= LONGEST_PAUSE_SECONDS


def test_one_crash_more_than_the_intensity_allows_is_given_up():
    crashes = [float(n) for n in range(MAX_RESTARTS + 1)]

    assert restart_pause(crashes[:-1], crashes[-2]) is not None
    assert restart_pause(crashes, crashes[-1]) is None


def test_crashes_of_long_ago_do_not_count():
    crashes = [0.0] * MAX_RESTARTS + [WITHIN_SECONDS + 1]

    assert restart_pause(crashes, WITHIN_SECONDS + 1) == restart_pause([0.0], 0.0)


def residents(*idle: bool, memory: int = 0) -> list[Resident]:
    return [Resident(f"p{number}", float(number), is_idle, memory) for number, is_idle in enumerate(idle)]


def test_nothing_is_retired_below_the_caps():
    assert to_retire(residents(True, True), max_count=2, max_memory=NO_LIMIT) == ()


def test_the_longest_unused_is_retired_first():
    assert to_retire(residents(True, True, True), max_count=1, max_memory=NO_LIMIT) == ("p0", "p1")


def test_busy_ones_stay_and_the_next_idle_one_goes():
    assert to_retire(residents(False, False, True), max_count=2, max_memory=NO_LIMIT) == ("p2",)


def test_where_all_are_busy_nothing_is_retired():
    assert to_retire(residents(False, False), max_count=1, max_memory=NO_LIMIT) == ()


def test_memory_counts_too():
    assert to_retire(residents(True, True, True, memory=10), max_count=99, max_memory=25) == ("p0",)


def test_for_its_memory_alone_the_last_one_used_stays():
    assert to_retire(residents(True, True, True, memory=10), max_count=99, max_memory=1) == ("p0", "p1")
    assert to_retire(residents(True, False, True, memory=10), max_count=99, max_memory=1) == ("p0",)
    assert to_retire(residents(True, memory=10), max_count=0, max_memory=1) == ("p0",)


def test_equally_old_ones_go_by_their_ids():
    same = [Resident(name, 1.0, is_idle=True) for name in ("b", "a")]

    assert to_retire(same, max_count=1, max_memory=NO_LIMIT) == ("a",)


@pytest.mark.parametrize(
    ("n_handles", "n_watchers", "expected"),
    [(None, None, 32), (1024, None, 32), (256, None, 10), (1024, 128, 32), (1024, 60, 20), (64, 128, 1), (1_000_000, 3, 1)],
)
def test_as_many_are_live_as_the_system_has_files_and_watchers_for(n_handles, n_watchers, expected):
    assert affordable(32, n_handles=n_handles, n_watchers=n_watchers) == expected
