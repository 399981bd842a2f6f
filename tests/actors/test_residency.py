"""Which workspaces stay live, and how many."""

import pytest

from codecompass.actors.residency import Resident, affordable, to_retire

NO_LIMIT = 1 << 62


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
