"""A busy server whose questions are answered in reader processes, while files change, processes end and an index is removed."""

import os
import signal
from contextlib import asynccontextmanager

import pytest
import trio

from codecompass.store.housekeeping import remove_project
from tests.support.cold_reading import reader_pids
from tests.support.sample import SAMPLE
from tests.support.serving import SETTINGS, open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

CLIENTS = 6

CALLS = (
    ("search_code", {"query": "where are orders validated"}),
    ("search_code", {"query": r"def \w+\(", "mode": "regex"}),
    ("locate_symbol", {"name": "validate"}),
    ("locate_symbol", {"name": "nowhere_at_all"}),
    ("find_references", {"symbol_name": "total_price"}),
    ("get_code_context", {"query": "orders and prices", "max_tokens": 1000}),
)


class Load:
    """Clients that ask without a pause. `seen` has the different answers to each call, `n` how many there were."""

    def __init__(self, serving, root) -> None:
        self.seen = {number: set() for number in range(len(CALLS))}
        self.n = 0
        self._serving = serving
        self._root = root

    async def ask(self, number: int) -> None:
        while True:
            tool, arguments = CALLS[number % len(CALLS)]
            answer = await self._serving.answer(tool, workspace=self._root, **arguments)
            self.seen[number % len(CALLS)].add((answer.payload, answer.text))
            self.n += 1
            number += 1

    async def go_on(self, n_answers: int = 5 * len(CALLS)) -> None:
        """Returns after so many more answers."""
        enough = self.n + n_answers
        await until(lambda: self.n >= enough, "answers")


@asynccontextmanager
async def busy(serving, root):
    """Yields the load of several clients, once reader processes answer."""
    async with trio.open_nursery() as nursery:
        load = Load(serving, root)
        for number in range(CLIENTS):
            nursery.start_soon(load.ask, number)
        await until(lambda: len(reader_pids()) >= 2, "reader processes")
        await load.go_on()
        yield load
        nursery.cancel_scope.cancel()


@pytest.fixture
async def serving(tmp_path):
    async with open_serving(tmp_path / "home", settings=SETTINGS) as serving:
        yield serving


@pytest.fixture
async def shop(workspace, serving):
    workspace.write(SAMPLE)
    await serving.call("index_repo", workspace=workspace.root, wait_seconds=60)
    await serving.wait_watched(workspace.project_id)
    return workspace


@pytest.mark.invariant(of="test_a_process_that_is_killed_costs_no_answer_and_is_replaced")
async def test_processes_that_are_killed_under_load_change_no_answer(shop, serving):
    async with busy(serving, shop.root) as load:
        before = reader_pids()
        for pid in before:
            os.kill(pid, signal.SIGKILL)
        await load.go_on()
        await until(lambda: len(set(reader_pids()) - set(before)) >= 2, "other processes")
        await load.go_on()

    assert {number: len(answers) for number, answers in load.seen.items()} == dict.fromkeys(load.seen, 1)


@pytest.mark.invariant(of="test_an_answer_has_what_was_published_before_it_was_asked_for")
async def test_the_first_answer_after_an_edit_has_it_under_load(shop, serving):
    async with busy(serving, shop.root):
        for number in range(5):
            shop.write({"src/new.py": f"def added_{number}():\n    pass\n"})
            found = []

            async def ask_one(number=number, found=found):
                found.append(await serving.call("locate_symbol", workspace=shop.root, name=f"added_{number}"))

            async with trio.open_nursery() as nursery:
                for _ in range(CLIENTS):
                    nursery.start_soon(ask_one)
            assert [[each["path"] for each in reply["results"]] for reply in found] == [["src/new.py"]] * CLIENTS


async def test_an_index_that_is_removed_under_load_is_made_again_and_no_other_project_notices(shop, serving, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home")
    other.write(SAMPLE)
    await serving.call("index_repo", workspace=other.root, wait_seconds=60)
    await serving.wait_watched(other.project_id)
    async with busy(serving, shop.root) as load, busy(serving, other.root) as neighbour:
        await trio.to_thread.run_sync(remove_project, shop.layout)
        await until(lambda: shop.layout.current.exists(), "the index, made again")
        await load.go_on()
        await neighbour.go_on()

    assert {number: len(answers) for number, answers in neighbour.seen.items()} == dict.fromkeys(neighbour.seen, 1)
