"""A cancelled request stops using the CPU, long before it would have been answered."""

import random
import threading

import pytest
import trio

from tests.support.asking import ONE_WORKER, open_workspace, search, until_indexed, until_quiet
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

N_FILES, N_LINES = 100, 3000
ATTEMPTS = 50
"""Of cancelling a question that takes milliseconds before it is answered. The first is nearly always enough."""

QUESTIONS = {
    "a literal in a large tree": search(" q", mode="literal"),
    "a pattern without words": search(r"(a|b)+[c-k ]*q", mode="regex"),
    "a pattern made to be slow": search(r"(.{0,60}a.{0,60}b){0,6}z{3}", mode="regex"),
}


def thread_at_work() -> bool:
    """Whether a thread is answering a request; trio names threads after their work."""
    return any(thread.name.startswith("ask ") for thread in threading.enumerate())


async def is_cancelled_at_work(handle, question) -> bool:
    """Cancels a question as soon as a thread is at work on it. Returns whether it was cancelled before it was answered."""
    scope, is_answered = trio.CancelScope(), trio.Event()

    async def ask() -> None:
        with scope:
            await handle.ask(question)
        is_answered.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        await until(lambda: thread_at_work() or is_answered.is_set(), "at work")
        scope.cancel()
        await until(lambda: not thread_at_work(), "given back")
    return scope.cancelled_caught


@pytest.fixture(scope="module")
def large(tmp_path_factory) -> TestWorkspace:
    """18 MB of text with few distinct letters, so that no line can be skipped."""
    top = tmp_path_factory.mktemp("large")
    tree = TestWorkspace(top / "project", top / "home")
    draw = random.Random(7)
    words = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(3, 9))) for _ in range(3000)]
    tree.write({f"t{n}.txt": "\n".join(" ".join(draw.choices(words, k=9)) for _ in range(N_LINES)) for n in range(N_FILES)})
    return tree


@pytest.mark.invariant(of="test_every_kind_of_question_ends_at_once_when_nobody_waits_for_it")
@pytest.mark.slow
async def test_a_question_that_is_cancelled_stops(large):
    """The last of the queries would take minutes."""
    async with open_serving(large.home, settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)
        await until_quiet(handle)
        for what, question in QUESTIONS.items():
            for _ in range(ATTEMPTS):
                if await is_cancelled_at_work(handle, question):
                    break
            else:
                pytest.fail(f"{what} was always over before it was cancelled")
            assert handle.observation.in_flight == 0


@pytest.mark.slow
async def test_questions_that_are_cancelled_before_they_begin_never_begin(large):
    """Each query would take minutes, and they would run one after the other."""
    async with open_serving(large.home, settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, large)
        await until_indexed(handle)
        await until_quiet(handle)
        question = QUESTIONS["a pattern made to be slow"]
        async with trio.open_nursery() as nursery:
            for _ in range(60):
                nursery.start_soon(handle.ask, question)
            await until(thread_at_work)
            nursery.cancel_scope.cancel()

        await until(lambda: not thread_at_work())

        assert handle.observation.queued == handle.observation.in_flight == 0
