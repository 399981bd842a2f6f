"""Fetches of indexes go on when the question that wanted them has ended, and are bounded."""

import threading
from collections.abc import AsyncIterator

import pytest
import trio
import trio.testing

from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.serving import index_fetches
from codecompass.cluster.serving.index_fetches import IndexFetches
from codecompass.errors import IndexDamaged
from tests.support.waiting import until


class Store:
    """What is fetched, in order; a fetch ends when its gate is open."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gate = threading.Event()
        self.broken: set[str] = set()

    def fetch(self, generation: str) -> None:
        self.begun.append(generation)
        assert self.gate.wait(60)
        if generation in self.broken:
            raise IndexDamaged("it is broken", path=generation)


@pytest.fixture
def store() -> Store:
    return Store()


@pytest.fixture
async def fetches(store, nursery) -> AsyncIterator[IndexFetches]:
    made = IndexFetches(store.fetch)
    nursery.start_soon(made.serve)
    yield made
    store.gate.set()


async def test_what_a_question_did_not_wait_for_is_there_for_the_next_one(store, fetches):
    with pytest.raises(EngineUnavailable, match="still being fetched"):
        await fetches.wait("a", 0.0)
    store.gate.set()

    await fetches.wait("a", 30)
    await until(lambda: not fetches.n_wanted)

    assert store.begun == ["a"]


async def test_questions_share_a_fetch_and_its_failure(store, fetches):
    store.broken.add("a")
    failures = []

    async def ask() -> None:
        try:
            await fetches.wait("a", 30)
        except IndexDamaged as error:
            failures.append(error)

    async with trio.open_nursery() as nursery:
        for _ in range(5):
            nursery.start_soon(ask)
        await until(lambda: store.begun)
        store.gate.set()

    assert len(failures) == 5
    assert store.begun == ["a"]
    store.broken.clear()
    await fetches.wait("a", 30)
    assert store.begun == ["a", "a"]


async def test_what_somebody_waits_for_comes_before_what_nobody_waits_for(store, nursery, monkeypatch):
    monkeypatch.setattr(index_fetches, "AT_ONCE", 1)
    fetches = IndexFetches(store.fetch)
    nursery.start_soon(fetches.serve)
    for name in "abc":
        assert fetches.want(name)
    await until(lambda: store.begun)
    async with trio.open_nursery() as waiting:
        waiting.start_soon(fetches.wait, "z", 30)
        await trio.testing.wait_all_tasks_blocked()
        store.gate.set()

    await until(lambda: not fetches.n_wanted)

    assert store.begun == ["a", "z", "b", "c"]


async def test_a_question_to_thousands_does_not_fetch_them_all(store, fetches, monkeypatch):
    monkeypatch.setattr(index_fetches, "MAX_UNAWAITED", 10)

    taken = [fetches.want(str(number)) for number in range(50)]
    for number in range(100, 150):
        with pytest.raises(EngineUnavailable):
            await fetches.wait(str(number), 0.0)

    assert taken == [True] * 10 + [False] * 40
    assert fetches.n_wanted <= 10 + index_fetches.AT_ONCE
