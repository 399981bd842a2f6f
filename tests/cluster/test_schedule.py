"""A worker's decisions about a repository, by a clock that only moves when told to."""

import pytest
from msgspec.structs import replace

from codecompass.cluster.indexing.schedule import ChangeTimes, Schedule, Times
from codecompass.cluster.repositories.repository import Lease, RefHead, Repository, RepositoryFailure

pytestmark = pytest.mark.invariant(
    "Clocks of different machines are never compared: a lease counts as abandoned when an observer has seen no change"
    " for long enough"
)

TIMES = Times(lease=30, poll=60, grace=300, first_backoff=10, longest_backoff=100, affinity=5)
MINE = (6, 7)
HEAD = RefHead(generation="g1", commit="c1", published_at=0, file_count=1, symbol_count=1, source_bytes=1, made_by=MINE)
READY = Repository(
    repo_id="r1",
    name="a/b",
    url="u",
    added_at=0,
    changed_at=0,
    changes=3,
    done_changes=3,
    heads={"main": HEAD},
    default_ref="main",
)
PENDING = replace(READY, changes=4)
HELD = Lease(owner="w", token="t", renewals=1)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Observer:
    """A worker that checks every three seconds."""

    def __init__(self, *, has_index: bool = True, seed: int = 0) -> None:
        self.clock = Clock()
        self.schedule = Schedule(self.clock, lambda _: has_index, made_by=MINE, times=TIMES, seed=seed)

    def sees(self, repository: Repository, seconds: float = 0.0) -> list[str | None]:
        """Returns the decision of each check, now and until `seconds` have passed."""
        found = [self.schedule.decide(repository)]
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.clock.now += 3
            found.append(self.schedule.decide(repository))
        return found


def test_what_has_changed_gets_a_turn_at_once():
    assert Observer().sees(PENDING) == ["turn"]


def test_a_repository_that_is_new_gets_a_turn_from_any_worker_at_once():
    assert Observer(has_index=False).sees(replace(PENDING, heads={})) == ["turn"]


def test_a_worker_without_the_last_index_leaves_it_a_moment_to_one_that_has_it():
    assert Observer(has_index=False).sees(PENDING, 6) == [None, None, "turn"]


def test_what_another_worker_renews_is_left_alone():
    observer = Observer()

    for renewals in range(100):
        assert observer.sees(replace(PENDING, lease=replace(HELD, renewals=renewals)), 9) == [None] * 4


def test_a_lease_that_stood_still_before_all_eyes_is_abandoned():
    decided = Observer().sees(replace(PENDING, lease=HELD), 33)

    assert decided == [None] * 10 + ["turn", "turn"]


def test_a_change_by_somebody_else_does_not_keep_a_dead_workers_lease_alive():
    observer = Observer()
    for changes in range(4, 14):
        observer.sees(replace(PENDING, lease=HELD, changes=changes), 0)
        observer.clock.now += 3

    assert observer.sees(replace(PENDING, lease=HELD, changes=20)) == ["turn"]


def test_a_lease_is_not_abandoned_because_nobody_looked():
    observer = Observer()
    observer.sees(replace(PENDING, lease=HELD))

    observer.clock.now += 1000

    assert observer.sees(replace(PENDING, lease=HELD), 27) == [None] * 10


def test_an_abandoned_lease_is_taken_even_where_nothing_is_pending():
    assert Observer().sees(replace(READY, lease=HELD), 30)[-1] == "turn"


def test_a_quiet_remote_is_polled_once_in_the_interval():
    observer = Observer()
    decided = observer.sees(READY, 60)
    assert "poll" in decided

    polled = replace(READY, polls=1)
    first = observer.sees(polled, 120).index("poll")
    assert 0.75 * 60 <= first * 3 <= 1.25 * 60 + 3


def test_workers_that_start_together_do_not_poll_all_together():
    firsts = {Observer(seed=seed).sees(READY, 60).index("poll") for seed in range(20)}

    assert len(firsts) > 5


def test_what_failed_rests_longer_each_time_and_is_neither_polled_nor_swept_meanwhile():
    rests = []
    for failures in (1, 2, 3, 4, 5, 50):
        failed = replace(PENDING, trouble=RepositoryFailure(message="m", at=5.0, failures=failures), retired=("old",))
        rests.append(3 * Observer().sees(failed, 120).index("turn"))

    assert rests == [12, 21, 42, 81, 102, 102]


def test_a_remark_that_is_no_failure_delays_nothing():
    assert Observer().sees(replace(PENDING, trouble=RepositoryFailure(message="m", at=5.0))) == ["turn"]


def test_what_is_retired_is_swept_when_no_question_can_be_at_it():
    observer = Observer()
    retired = replace(READY, retired=("g0",))

    decided = [each for each in observer.sees(retired, 297) if each != "poll"]

    assert set(decided) == {None}
    assert observer.sees(retired, 3)[-1] == "sweep"
    assert observer.schedule.ripe(replace(retired, retired=("g0", "g1"))) == ("g0",)


def test_retirements_one_after_another_do_not_delay_the_first():
    observer = Observer()
    for number in range(100):
        observer.schedule.decide(replace(READY, retired=tuple(f"g{each}" for each in range(number + 1))))
        observer.clock.now += 3

    assert observer.schedule.ripe(replace(READY, retired=("g0", "g99"))) == ("g0",)


def test_what_was_removed_is_cleaned_away_after_the_grace():
    observer = Observer()
    removed = replace(PENDING, is_removed=True, heads={}, retired=("g1",))

    assert set(observer.sees(removed, 297)) == {None}
    assert observer.sees(removed, 3)[-1] == "sweep"


def test_what_a_newer_program_has_made_is_left_to_newer_programs():
    newer = replace(PENDING, heads={"main": replace(HEAD, made_by=(7, 0))})
    older = replace(PENDING, heads={"main": replace(HEAD, made_by=(5, 9))})

    assert set(Observer().sees(newer, 600)) == {None}
    assert Observer().sees(older) == ["turn"]


def test_turns_go_round():
    observer = Observer()
    waiting = [replace(PENDING, repo_id=f"r{number:02}", changed_at=float(number)) for number in range(30)]

    taken = []
    for _ in range(60):
        first = observer.schedule.in_order(waiting)[0]
        observer.schedule.note_attempt(first)
        observer.clock.now += 1
        taken.append(first.repo_id)

    assert sorted(set(taken)) == [each.repo_id for each in waiting]
    assert max(taken.count(name) for name in taken) <= 4


def test_nothing_is_remembered_of_what_is_gone():
    observer = Observer()
    observer.sees(replace(PENDING, lease=HELD, retired=("a", "b")), 30)

    observer.schedule.forget_all_but([])

    assert not observer.schedule._poll_after
    assert not observer.schedule._leases._seen
    assert not observer.schedule._states._seen


def test_a_watch_counts_from_the_first_look_at_a_value():
    clock = Clock()
    watch = ChangeTimes(clock, max_gap=10)

    assert watch.unchanged("k", 1) == 0
    clock.now += 6
    assert watch.unchanged("k", 1) == 6
    assert watch.unchanged("k", 2) == 0
    clock.now += 11
    assert watch.unchanged("k", 2) == 0


def test_what_is_paused_is_neither_indexed_nor_polled_but_swept():
    observer = Observer()

    assert set(observer.sees(replace(PENDING, is_paused=True), 600)) == {None}
    assert set(observer.sees(replace(READY, is_paused=True), 600)) == {None}
    assert "sweep" in observer.sees(replace(READY, is_paused=True, retired=("g0",)), 600)
    assert observer.sees(replace(READY, is_paused=True, is_removed=True, heads={}), 600)[-1] == "sweep"
    assert observer.sees(replace(PENDING, changes=5)) == ["turn"]
