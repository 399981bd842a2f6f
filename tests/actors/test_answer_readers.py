"""Questions of a busy server in reader processes: which ones go there, and that nobody notices but by the time they take."""

import os
import signal
from contextlib import asynccontextmanager, contextmanager
from functools import partial

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from codecompass.actors import answer_readers
from codecompass.actors.answer_readers import BUSY_QUESTIONS, AnswerReaders
from codecompass.actors.asking import TimeLimit, ask, query_settings
from codecompass.actors.index_answers import AnswerContext, IndexOnDisk, TreeIndex
from codecompass.actors.messages import Query
from codecompass.actors.reader_answers import MAX_KEPT, Reader, sent
from codecompass.errors import CodeCompassError, IndexDamaged
from codecompass.protocol import text
from codecompass.protocol.encode import encode
from codecompass.protocol.replies import SearchCodeReply
from codecompass.protocol.requests import (
    CountUses,
    FindReferences,
    FindRelatedSymbols,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    SearchCode,
)
from codecompass.settings import Settings
from codecompass.store.housekeeping import remove_project
from codecompass.store.index import WorkspaceIndex
from tests.support.cold_reading import LONG, project_of
from tests.support.sample import SAMPLE
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

SIZE = 2

REQUESTS = (
    SearchCode(query="where are orders validated"),
    SearchCode(query="total_price", detail_level="context"),
    SearchCode(query="import ", mode="literal"),
    SearchCode(query=r"def \w+\(", mode="regex"),
    SearchCode(query="orders.py", mode="files"),
    SearchCode(query="*(", mode="regex"),
    SearchCode(query="too many items in one order", timeout_ms=60_000),
    LocateSymbol(name="validate"),
    LocateSymbol(name="Order.price", detail_level="body"),
    LocateSymbol(name="nowhere_at_all"),
    GetFileOutline(path="src/auth.rs"),
    GetFileOutline(path="nowhere.py"),
    GetSymbolHierarchy(symbol_name="Order", direction="descendants"),
    FindReferences(symbol_name="total_price"),
    FindReferences(symbol_name="nowhere_at_all"),
    GetCallGraph(symbol_name="total_price"),
    FindRelatedSymbols(symbol_name="total_price"),
    GetCodeContext(query="orders and prices", max_tokens=1000),
    GetCodeContext(query="orders and prices", max_tokens=1),
    ReadFile(path="src/shop/orders.py"),
    ListDirectory(path="src"),
    CountUses(path="src/shop/prices.py"),
)


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """On a busy machine no process counts as slow, unless a test says what is slow."""
    monkeypatch.setattr(answer_readers, "SLOW_SECONDS", LONG)


@pytest.fixture
async def shop(workspace):
    workspace.write(SAMPLE)
    await workspace.sync()
    return workspace


@asynccontextmanager
async def opened(least_share=0):
    readers = AnswerReaders(SIZE, least_share=least_share)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(readers.processes.serve)
        yield readers
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def busy(least_share=0):
    """Yields readers whose processes have started, while a question is being answered in a thread."""
    async with opened(least_share) as readers, trio.open_nursery() as nursery:
        readers.processes.want()
        await until(lambda: readers.processes.n_in_time == SIZE, "reader processes")
        nursery.start_soon(answered, readers, None, SearchCode(query="x"), trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        yield readers
        nursery.cancel_scope.cancel()


async def pids_of(readers):
    """Returns the ids of all processes, once each of them waits."""
    processes = []

    def all_taken():
        process = readers.processes.take()
        processes.extend([process] if process is not None else [])
        return len(processes) == SIZE

    await until(all_taken, "processes that wait")
    # A process that has run something waits again.
    return [await readers.processes.run(process, LONG, os.getpid) for process in processes]


async def refuse():
    raise AssertionError("it was answered in a thread")


def tree_of(workspace, **known):
    index = workspace.index
    with index.snapshot() as snapshot:
        on_disk = IndexOnDisk(schema_status="compatible", meta=snapshot.meta)
    context = AnswerContext(**{"index": on_disk, "freshness": "fresh", "indexing": "ready", **known})
    return TreeIndex(project=project_of(workspace), index=index, context=context)


async def answered(readers, tree, request, in_thread=refuse, *, options=None):
    options = options or query_settings(Settings(), "json")
    return await readers.answer(tree, Query(request=request), options, TimeLimit(seconds=LONG), in_thread)


async def outcome(answer):
    """Returns what a client gets of an answer, in both forms, or of the error that it is."""
    try:
        reply = await answer()
    except CodeCompassError as error:
        return type(error), error.message, error.data, error.metadata
    return encode(reply), text.render(reply)


@pytest.mark.invariant("A question has the same answer, byte for byte, in a thread and in a reader process")
@pytest.mark.parametrize("form", ["json", "text"])
async def test_every_question_has_the_same_bytes_in_a_reader_process(shop, form):
    options = query_settings(Settings(), form)
    stale = {"freshness": "stale", "policy": "best_effort", "changed_files": frozenset({"src/shop/orders.py"})}
    async with busy() as readers:
        for known in ({}, stale):
            tree = tree_of(shop, **known)
            for request in REQUESTS:

                async def in_thread(tree=tree, request=request):
                    return ask(tree, Query(request=request), options, TimeLimit(seconds=LONG))

                expected = await outcome(in_thread)
                found = await outcome(partial(answered, readers, tree, request, options=options))
                assert found == expected, request


async def test_a_question_that_meets_no_other_is_answered_in_a_thread_and_starts_nothing(shop):
    tree = tree_of(shop)

    async def in_thread():
        return "in a thread"

    async with opened() as readers:
        found = {await answered(readers, tree, REQUESTS[0], in_thread) for _ in range(2 * BUSY_QUESTIONS)}
        is_wanted = readers.processes.is_wanted

    assert found == {"in a thread"}
    assert not is_wanted


async def test_processes_are_started_once_the_load_lasts(shop):
    tree = tree_of(shop)

    async def in_thread():
        return "in a thread"

    async with opened() as readers, trio.open_nursery() as nursery:
        nursery.start_soon(answered, readers, tree, REQUESTS[0], trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        wanted = []
        for _ in range(BUSY_QUESTIONS):
            assert await answered(readers, tree, REQUESTS[0], in_thread) == "in a thread", "none waits for a process"
            wanted.append(readers.processes.is_wanted)
        nursery.cancel_scope.cancel()

    assert wanted == [False] * (BUSY_QUESTIONS - 1) + [True]


@pytest.mark.parametrize("request_", [IndexStatus(), SearchCode(query="orders")])
async def test_a_question_that_needs_more_than_the_index_stays_in_the_server(shop, request_):
    tree = tree_of(shop)
    if not isinstance(request_, IndexStatus):
        tree = TreeIndex(project=tree.project, index=tree.index, context=tree.context, is_own=False)

    assert sent(tree, Query(request=request_), query_settings(Settings(), "json"), TimeLimit(seconds=1)) is None


@pytest.mark.invariant("An answer of a reader process is of no older generation than was published before its question")
async def test_an_answer_has_what_was_published_before_it_was_asked_for(shop):
    async with busy() as readers:
        for number in range(2 * SIZE):
            shop.write({"src/new.py": f"def added_{number}():\n    pass\n"})
            await shop.sync()
            tree = tree_of(shop)
            # One for each process, at the same time.
            replies = []

            async def ask_one(tree=tree, number=number, replies=replies):
                replies.append(await answered(readers, tree, LocateSymbol(name=f"added_{number}")))

            async with trio.open_nursery() as nursery:
                for _ in range(SIZE):
                    nursery.start_soon(ask_one)
            assert [[result.name for result in reply.results] for reply in replies] == [[f"added_{number}"]] * SIZE
            assert {reply.metadata.generation for reply in replies} == {tree.context.index.meta.generation}


@pytest.mark.invariant("A reader process that ends, or cannot read an index, costs no answer")
async def test_a_process_that_is_killed_costs_no_answer_and_is_replaced(shop):
    tree = tree_of(shop)

    async def in_thread():
        return ask(tree, Query(request=REQUESTS[0]), query_settings(Settings(), "json"), TimeLimit(seconds=LONG))

    async with busy() as readers:
        expected = await answered(readers, tree, REQUESTS[0])
        for pid in await pids_of(readers):
            os.kill(pid, signal.SIGKILL)
        replies = [await answered(readers, tree, REQUESTS[0], in_thread) for _ in range(SIZE + 1)]
        await until(lambda: readers.processes.n_in_time == SIZE, "other processes")
        after = await answered(readers, tree, REQUESTS[0])

    assert {encode(reply) for reply in (*replies, after)} == {encode(expected)}


async def test_a_damaged_index_is_left_to_a_thread(shop):
    tree = tree_of(shop)

    async def in_thread():
        raise IndexDamaged("found by the thread")

    async with busy() as readers:
        for _ in range(SIZE):
            await answered(readers, tree, REQUESTS[0])
        (facts,) = shop.layout.epochs.glob("*/facts.db")
        facts.write_bytes(b"\xff" * 4096)
        with pytest.raises(IndexDamaged, match="found by the thread"):
            await answered(readers, tree, REQUESTS[0], in_thread)


async def test_a_process_keeps_nobody_from_removing_an_index_and_answers_from_the_next_one(shop):
    async with busy() as readers:
        await answered(readers, tree_of(shop), REQUESTS[0])
        remove_project(shop.layout, spare_readers=True)
        assert not shop.layout.root.exists()
        shop.write({"src/new.py": "def added():\n    pass\n"})
        await shop.sync()
        replies = [await answered(readers, tree_of(shop), LocateSymbol(name="added")) for _ in range(2 * SIZE)]

    assert [[result.name for result in reply.results] for reply in replies] == [["added"]] * (2 * SIZE)


@contextmanager
def stopped(pids):
    """The processes stand still until the block ends."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def test_questions_are_answered_in_threads_while_all_processes_are_slow(shop, monkeypatch):
    monkeypatch.setattr(answer_readers, "SLOW_SECONDS", 0.01)
    tree, slow = tree_of(shop), []

    async def in_thread():
        return "in a thread"

    async def ask_slowly():
        slow.append(await answered(readers, tree, REQUESTS[0]))

    async with busy() as readers, trio.open_nursery() as nursery:
        with stopped(await pids_of(readers)):
            for _ in range(SIZE):
                nursery.start_soon(ask_slowly)
            await trio.testing.wait_all_tasks_blocked()
            meanwhile = await answered(readers, tree, REQUESTS[0], in_thread)
        await until(lambda: len(slow) == SIZE, "the slow answers")
        await until(lambda: readers.processes.n_in_time == SIZE, "processes that are in time again")

    assert meanwhile == "in a thread"
    assert {type(reply) for reply in slow} == {SearchCodeReply}


async def test_threads_answer_while_other_programs_have_the_cores(shop):
    """No answer takes twice as much processor time as time, so that these processes always have too little."""
    tree = tree_of(shop)

    async def in_thread():
        return "in a thread"

    async with busy(least_share=2) as readers:
        first = await answered(readers, tree, REQUESTS[0])
        replies = [await answered(readers, tree, REQUESTS[0], in_thread) for _ in range(2 * SIZE)]

    assert isinstance(first, SearchCodeReply)
    assert replies == ["in a thread"] * (2 * SIZE)


async def test_questions_that_wait_for_a_process_are_answered_in_the_order_in_which_they_came(shop):
    tree, order = tree_of(shop), []

    async def ask_one(number):
        await answered(readers, tree, REQUESTS[0])
        order.append(number)

    async with busy() as readers:
        pids = await pids_of(readers)
        held = readers.processes.take()
        assert held is not None
        async with trio.open_nursery() as nursery:
            with stopped(set(pids) - {held.pid}):
                for number in range(6):
                    nursery.start_soon(ask_one, number)
                    await trio.testing.wait_all_tasks_blocked()

    assert order == list(range(6))


async def test_a_question_that_is_cancelled_costs_no_process_and_no_other_answer(shop):
    tree = tree_of(shop)

    async def in_thread():
        return ask(tree, Query(request=REQUESTS[0]), query_settings(Settings(), "json"), TimeLimit(seconds=LONG))

    async with busy() as readers:
        before = await pids_of(readers)
        with stopped(before):
            async with trio.open_nursery() as nursery:
                for _ in range(2 * SIZE):
                    nursery.start_soon(answered, readers, tree, REQUESTS[0])
                await trio.testing.wait_all_tasks_blocked()
                nursery.cancel_scope.cancel()
        replies = [await answered(readers, tree, REQUESTS[0], in_thread) for _ in range(2 * SIZE)]
        after = await pids_of(readers)

    assert {type(reply) for reply in replies} == {SearchCodeReply}
    assert set(after) == set(before)


async def test_a_search_ends_once_its_question_is_dropped(shop):
    reader = Reader()
    question = sent(tree_of(shop), Query(request=REQUESTS[3]), query_settings(Settings(), "json"), TimeLimit(seconds=LONG))

    reader.drop()
    dropped = reader.answer(question)
    other = reader.answer(question)

    assert (dropped.reply, dropped.error) == (None, None)
    assert dropped.cause, "a question that was meant to be answered goes to a thread"
    assert other.reply is not None


async def test_a_process_keeps_a_bounded_number_of_indexes_open(shop, tmp_path, monkeypatch):
    closed = []
    monkeypatch.setattr(WorkspaceIndex, "close", lambda index: closed.append(index.project_id))
    others = [TestWorkspace(tmp_path / str(number), tmp_path / "home") for number in range(MAX_KEPT)]
    reader = Reader()
    question = sent(tree_of(shop), Query(request=REQUESTS[0]), query_settings(Settings(), "json"), TimeLimit(seconds=LONG))
    for each in (shop, *others):
        reader.answer(replace(question, layout=each.layout))

    assert closed == [shop.project_id]
