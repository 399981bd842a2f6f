"""Reads of indexes in reader processes: no question waits for one that starts, and none is lost to a question that ends."""

import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from codecompass.actors import cold_readers, reader_processes
from codecompass.actors.cold_readers import COLD_READERS, ColdReaders
from codecompass.actors.reader_processes import ReaderEnded
from codecompass.errors import DeadlineExceeded, IndexNotReady
from tests.support.cold_reading import LONG, pid_for, warm, writer_of
from tests.support.waiting import until


@asynccontextmanager
async def opened(*, in_processes=True):
    readers = ColdReaders(bool, in_processes=in_processes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(readers.serve)
        yield readers
        nursery.cancel_scope.cancel()


# run in a reader process or a thread


def read(fifo: Path) -> tuple[int, str]:
    """Reads until somebody has written and closed `fifo`."""
    return os.getpid(), fifo.read_text()


def refuse() -> None:
    raise IndexNotReady("there is none")


@pytest.fixture
def fifo(tmp_path):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    return path


async def test_questions_are_answered_in_threads_until_a_process_has_started():
    async with opened() as readers:
        first = await readers.run(LONG, pid_for, "")
        pids = await warm(readers)

    assert first == os.getpid()
    assert len(pids) == COLD_READERS


async def test_without_processes_all_reads_are_in_threads():
    async with opened(in_processes=False) as readers:
        assert {await readers.run(LONG, pid_for, "") for _ in range(5)} == {os.getpid()}


@pytest.mark.parametrize("is_warm", [False, True])
async def test_an_error_comes_as_it_is(is_warm):
    async with opened() as readers:
        if is_warm:
            await warm(readers)
        with pytest.raises(IndexNotReady):
            await readers.run(LONG, refuse)


@pytest.mark.parametrize("is_warm", [False, True])
async def test_a_read_that_is_cancelled_is_not_waited_for(fifo, is_warm):
    async with opened() as readers:
        before = await warm(readers) if is_warm else set()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(readers.run, LONG, read, fifo)
            writer = await writer_of(fifo)
            nursery.cancel_scope.cancel()
        os.close(writer)

        assert await warm(readers) == (before or await warm(readers)), "its process goes on"


async def test_late_reads_are_not_killed_and_meanwhile_questions_are_answered_in_threads(tmp_path, monkeypatch):
    monkeypatch.setattr(cold_readers, "LATE_SECONDS", 0)
    fifos = [tmp_path / str(number) for number in range(COLD_READERS)]
    late = []

    async def ask(fifo):
        try:
            await readers.run(0.01, read, fifo)
        except DeadlineExceeded:
            late.append(fifo)

    async with opened() as readers:
        before = await warm(readers)
        async with trio.open_nursery() as nursery:
            for fifo in fifos:
                os.mkfifo(fifo)
                nursery.start_soon(ask, fifo)
        meanwhile = await readers.run(LONG, pid_for, "")
        for fifo in fifos:
            os.close(await writer_of(fifo))
        after = await warm(readers)

    assert sorted(late) == sorted(fifos)
    assert meanwhile == os.getpid()
    assert after == before


async def test_a_read_that_is_stuck_is_killed_in_the_end_and_its_process_replaced(fifo, monkeypatch):
    monkeypatch.setattr(reader_processes, "STUCK_SECONDS", 0.01)
    async with opened() as readers:
        before = await warm(readers)
        with pytest.raises(ReaderEnded):
            await readers.run(0.01, read, fifo, late_seconds=LONG)
        after = await warm(readers)

    assert len(before & after) == COLD_READERS - 1


async def test_a_process_that_is_killed_costs_its_question_and_is_replaced(fifo):
    failed = []

    async def ask():
        try:
            await readers.run(LONG, read, fifo)
        except ReaderEnded as error:
            failed.append(error)

    async def in_other_process():
        try:
            return await readers.run(LONG, pid_for, "", has_ended_process=True)
        except ReaderEnded:
            return None  # the other one, which was idle: its death is only found now

    async with opened() as readers:
        before = await warm(readers)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            writer = await writer_of(fifo)
            for pid in before:
                os.kill(pid, signal.SIGKILL)
        os.close(writer)
        again = await until(in_other_process, "a reader process")
        after = await warm(readers)

    assert len(failed) == 1
    assert again != os.getpid(), "what may end a process is not run in this one"
    assert not before & after


async def test_processes_that_nobody_uses_end_and_are_started_again(monkeypatch):
    monkeypatch.setattr(reader_processes, "IDLE_SECONDS", 0.2)

    def are_gone():
        return not any(Path(f"/proc/{pid}").exists() for pid in before)

    async with opened() as readers:
        before = {await until(in_process(readers), "a reader process")}
        await until(are_gone, "the end of the process")
        again = await until(in_process(readers), "another reader process")

    assert again not in before


def in_process(readers):
    async def pid():
        found = await readers.run(LONG, pid_for, "")
        return None if found == os.getpid() else found

    return pid


async def test_reads_that_wait_for_a_thread_go_to_a_process_once_one_has_started(tmp_path):
    """Two threads were stuck, and those that waited for them never looked at the processes that had started meanwhile."""
    fifos = [tmp_path / str(number) for number in range(COLD_READERS)]
    read_in = []

    async def ask():
        read_in.append(await readers.run(LONG, pid_for, ""))

    async with opened() as readers, trio.open_nursery() as nursery:
        writers = []
        for fifo in fifos:
            os.mkfifo(fifo)
            nursery.start_soon(readers.run, LONG, read, fifo)
            writers.append(await writer_of(fifo))
        nursery.start_soon(ask)
        await until(lambda: read_in, "the read that waited")
        for writer in writers:
            os.close(writer)

    assert read_in != [os.getpid()]


async def test_threads_that_are_late_do_not_keep_others_from_reading(tmp_path):
    fifos = [tmp_path / str(number) for number in range(COLD_READERS)]
    async with opened(in_processes=False) as readers:
        for fifo in fifos:
            os.mkfifo(fifo)
            with pytest.raises(DeadlineExceeded):
                await readers.run(0.01, read, fifo, late_seconds=0)
        meanwhile = await readers.run(LONG, pid_for, "")
        for fifo in fifos:
            os.close(await writer_of(fifo))

    assert meanwhile == os.getpid()


async def test_a_process_that_was_killed_while_it_was_idle_is_no_failure_in_the_end():
    async with opened() as readers:
        for pid in await warm(readers):
            os.kill(pid, signal.SIGKILL)
