"""Calls that never return occupy a thread, but block nobody else."""

import os
import threading
from contextlib import contextmanager

import pytest
import trio
import trio.testing

from codecompass.actors.blocking_calls import MAX_CALLS, MAX_SUSPECTS, BlockingCalls, file_system_of, is_at
from codecompass.errors import FileSystemUnresponsive
from tests.support.waiting import until

pytestmark = pytest.mark.invariant(of="test_one_that_does_not_answer_is_refused_and_all_others_are_answered_meanwhile")

PATIENCE = 0.6


class Holes:
    """Work that blocks until its gate is opened."""

    def __init__(self):
        self.gate = threading.Event()
        self.n_entered = 0

    def fall_in(self, _call):
        self.n_entered += 1
        assert self.gate.wait(60)
        return "back"


@pytest.fixture
def holes():
    holes = Holes()
    yield holes
    holes.gate.set()


@contextmanager
def refused():
    with pytest.raises(FileSystemUnresponsive) as caught:
        yield caught
    assert caught.value.data["retry_after_ms"] > 0


async def until_nobody_waits(calls):
    await until(lambda: not calls.n_waiting, seconds=20)


async def test_a_call_returns_what_its_work_returns_and_raises_what_it_raises(tmp_path):
    calls = BlockingCalls()

    assert await calls.run(lambda call: call.place, tmp_path) == str(tmp_path)
    with pytest.raises(ZeroDivisionError):
        await calls.run(lambda _call: 1 / 0, tmp_path)
    assert calls.n_waiting == 0
    assert calls.silent_places() == frozenset()


async def test_one_that_gives_no_sign_is_given_up_and_its_place_refused_until_it_comes_back(holes):
    calls = BlockingCalls()
    with refused():
        await calls.run(holes.fall_in, "/nowhere/stuck", patience=PATIENCE)
    with refused() as caught:
        await calls.run(lambda _call: 1, "/nowhere/stuck/below")
    elsewhere = await calls.run(lambda _call: "fine", "/nowhere/stuck-not")
    silent = calls.silent_places()
    holes.gate.set()
    await until_nobody_waits(calls)

    assert caught.value.data["path"] == "/nowhere/stuck"
    assert elsewhere == "fine"
    assert silent == {"/nowhere/stuck"}
    assert holes.n_entered == 1
    assert await calls.run(lambda _call: "again", "/nowhere/stuck/below") == "again"
    assert calls.silent_places() == frozenset()


async def test_any_number_of_callers_of_one_place_leave_a_few_threads_and_keep_nobody_else_waiting(holes):
    calls = BlockingCalls()
    n_refused = 0

    async def ask():
        nonlocal n_refused
        with refused():
            await calls.run(holes.fall_in, "/nowhere/stuck", patience=PATIENCE)
        n_refused += 1

    async with trio.open_nursery() as nursery:
        for _ in range(10 * MAX_CALLS):
            nursery.start_soon(ask)
        await trio.testing.wait_all_tasks_blocked()
        for _ in range(50):
            assert await calls.run(lambda _call: "fine", "/elsewhere") == "fine"
    assert n_refused == 10 * MAX_CALLS
    assert holes.n_entered <= MAX_CALLS + MAX_SUSPECTS
    assert calls.n_waiting == holes.n_entered


async def test_callers_who_leave_early_leave_no_more_threads_than_those_who_wait(holes):
    calls = BlockingCalls()
    for _ in range(3 * MAX_SUSPECTS):
        with trio.move_on_after(0.3), pytest.raises(FileSystemUnresponsive):
            await calls.run(holes.fall_in, "/nowhere/stuck", patience=PATIENCE)
    with refused():
        await calls.run(holes.fall_in, "/nowhere/stuck", patience=PATIENCE)

    assert holes.n_entered <= MAX_SUSPECTS + 1


async def test_one_that_is_cancelled_while_it_is_well_closes_its_place_to_nobody(holes):
    calls = BlockingCalls()
    with trio.move_on_after(0.01):
        await calls.run(holes.fall_in, "/fine", patience=60)

    assert await calls.run(lambda _call: "fine", "/fine") == "fine"


async def test_work_that_says_that_it_is_well_may_take_as_long_as_it_likes(holes):
    calls = BlockingCalls()

    def work(call):
        while not holes.gate.wait(0.05):
            assert not call.is_over()
        return "done"

    async with trio.open_nursery() as nursery:

        @nursery.start_soon
        async def let_go():
            await trio.sleep(3 * PATIENCE)
            holes.gate.set()

        assert await calls.run(work, "/slow", patience=PATIENCE) == "done"


async def test_work_that_nobody_waits_for_is_told_so(holes):
    calls = BlockingCalls()
    told = threading.Event()

    def work(call):
        while not call.is_over():
            holes.gate.wait(0.01)
        told.set()

    with trio.move_on_after(0.1):
        await calls.run(work, "/slow")

    assert await trio.to_thread.run_sync(told.wait, 20)


async def test_what_is_lent_while_a_call_gives_no_sign_comes_back(holes):
    calls, writers = BlockingCalls(), trio.CapacityLimiter(1)
    async with writers, trio.open_nursery() as nursery:

        async def another():
            async with writers:
                holes.gate.set()

        nursery.start_soon(another)
        assert await calls.run(holes.fall_in, "/nowhere/stuck", patience=60, lend=(writers,)) == "back"
    assert writers.total_tokens == 1


async def test_whoever_walks_into_a_place_that_is_known_to_be_silent_does_not_stay_there(holes):
    calls = BlockingCalls()
    with refused():
        await calls.run(holes.fall_in, "/nowhere/stuck", patience=PATIENCE)

    def walk(call):
        call.enter("/fine/link")
        call.enter("/nowhere/stuck/leads/here")

    with refused() as caught:
        await calls.run(walk, "/fine/link")
    assert caught.value.data["path"] == "/nowhere/stuck"


def test_places_are_compared_by_whole_components():
    assert is_at("/a/b", "/a/b")
    assert is_at("/a/b/c", "/a/b")
    assert is_at("/a", "/")
    assert not is_at("/a/bc", "/a/b")
    assert not is_at("/a", "/a/b")


def test_a_path_of_the_file_system_that_holds_everything_stands_for_itself():
    assert file_system_of("/") == "/"
    assert file_system_of("/proc/self/task") in ("/proc", "/proc/self/task")
    assert file_system_of(os.path.join("/", "no such directory", "at all")) == "/no such directory/at all"
