"""Answers from an index, in threads, within the time that a question names."""

from math import inf

import pytest
import trio
import trio.testing

from codecompass.actors.async_registry import open_async_registry
from codecompass.actors.blocking_calls import BlockingCalls, Limits
from codecompass.actors.index_answers import AnswerContext, IndexAnswers, IndexOnDisk
from codecompass.actors.messages import Query
from codecompass.actors.tools import Tools
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import DeadlineExceeded
from codecompass.protocol.requests import SearchCode
from codecompass.settings import Settings
from codecompass.store.layout import HomeLayout
from tests.support.cold_reading import project_of
from tests.support.workspace import LIMITS, TestWorkspace


@pytest.fixture
async def asked(tmp_path):
    """Yields a function that asks an index, and the limiter of its threads."""
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    workspace.write({"a.py": "def alpha(): pass\n"})
    limits = Limits()
    limits.queries = limiter = trio.CapacityLimiter(1)
    async with (
        open_worker_pool(1) as pool,
        open_async_registry(HomeLayout(workspace.home), limits, busy_timeout_ms=5_000) as registry,
    ):
        await workspace.sync(pool=pool)
        comparison = TreeComparison(workspace.root, workspace.index, LIMITS, BlockingCalls())
        tools = Tools(home=HomeLayout(workspace.home), pool=pool, limits=limits, registry=registry)
        answers = IndexAnswers(tools, project_of(workspace), workspace.index, comparison, Settings())

        async def ask(timeout_ms, ends_at):
            with workspace.index.snapshot() as snapshot:
                on_disk = IndexOnDisk(schema_status="compatible", meta=snapshot.meta)
            context = AnswerContext(index=on_disk, freshness="fresh", indexing="ready", ends_at=ends_at)
            return await answers.answer(Query(request=SearchCode(query="alpha", timeout_ms=timeout_ms)), context)

        yield ask, limiter


@pytest.mark.invariant(
    "A search that names its time is answered, or refused as late, within a tenth or 50 ms more; a regular expression"
    " walks the words of an index once"
)
async def test_a_question_that_gets_no_thread_in_its_time_is_told_so(asked):
    ask, limiter = asked

    async with limiter:
        with pytest.raises(DeadlineExceeded, match="timeout_ms"):
            await ask(20, trio.current_time() + 0.02)


async def test_a_question_that_names_no_time_waits_for_its_thread(asked):
    ask, limiter = asked
    replies = []

    async with trio.open_nursery() as nursery, limiter:

        async def answered():
            replies.append(await ask(None, inf))

        nursery.start_soon(answered)
        await trio.testing.wait_all_tasks_blocked()
        assert replies == []
        # It goes on when the thread is free.

    assert [result.path for result in replies[0].results] == ["a.py"]
