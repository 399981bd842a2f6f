"""The mailbox is bounded and ordered; each envelope is answered exactly once, even if its sender or reader leaves."""

import pytest
import trio
import trio.testing

from codecompass.actors.messages import CancelJob, Envelope, Mailbox, MailboxClosed
from codecompass.errors import Cancelled, InternalError, SymbolNotFound, WorkspaceBusy

MESSAGE = CancelJob(job_id="j")


async def test_an_ask_returns_the_answer():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:

        async def reader() -> None:
            (await mailbox.receive()).answer(True)

        nursery.start_soon(reader)

        assert await mailbox.ask(MESSAGE) is True
    assert mailbox.n_open == 0


async def test_an_error_that_is_the_answer_is_raised():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:

        async def reader() -> None:
            (await mailbox.receive()).answer(SymbolNotFound("nothing is called that. Look for it with search_code."))

        nursery.start_soon(reader)

        with pytest.raises(SymbolNotFound):
            await mailbox.ask(MESSAGE)


async def test_envelopes_come_out_in_the_order_in_which_they_went_in():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:
        for number in range(5):
            nursery.start_soon(mailbox.ask, CancelJob(job_id=str(number)))
            await trio.testing.wait_all_tasks_blocked()

        taken = [await mailbox.receive() for _ in range(5)]
        for envelope in taken:
            envelope.answer(False)

    assert [envelope.message.job_id for envelope in taken] == ["0", "1", "2", "3", "4"]


async def test_one_ask_too_many_is_refused_at_once_and_says_when_to_come_back():
    mailbox = Mailbox(capacity=2)
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(mailbox.ask, MESSAGE)
        await trio.testing.wait_all_tasks_blocked()

        with pytest.raises(WorkspaceBusy) as refused:
            await mailbox.ask(MESSAGE)

        for _ in range(2):
            (await mailbox.receive()).answer(True)
    assert refused.value.data["retry_after_ms"] > 0
    assert refused.value.is_retryable


async def test_what_the_reader_has_in_work_counts_as_room_taken():
    mailbox = Mailbox(capacity=1)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.ask, MESSAGE)
        envelope = await mailbox.receive()

        with pytest.raises(WorkspaceBusy):
            await mailbox.ask(MESSAGE)

        envelope.answer(True)


async def test_an_asker_that_leaves_cancels_the_work():
    mailbox = Mailbox()
    patience = trio.CancelScope()

    async def asker() -> None:
        with patience:
            await mailbox.ask(MESSAGE)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(asker)
        envelope = await mailbox.receive()

        patience.cancel()

    assert envelope.scope.cancel_called
    assert not envelope.is_answered


async def test_an_asker_that_leaves_the_queue_makes_room():
    mailbox = Mailbox(capacity=1)
    for _ in range(10):
        with trio.move_on_after(0):
            await mailbox.ask(MESSAGE)

    assert (mailbox.n_open, mailbox.n_queued) == (0, 0)


async def test_a_closed_mailbox_takes_nothing_but_gives_what_it_has():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(mailbox.ask, MESSAGE)
        await trio.testing.wait_all_tasks_blocked()
        mailbox.close()

        with pytest.raises(MailboxClosed):
            await mailbox.ask(MESSAGE)
        (await mailbox.receive()).answer(True)
        with pytest.raises(trio.EndOfChannel):
            await mailbox.receive()


async def test_closing_wakes_a_reader_that_waits():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:

        async def reader() -> None:
            with pytest.raises(trio.EndOfChannel):
                await mailbox.receive()

        nursery.start_soon(reader)
        await trio.testing.wait_all_tasks_blocked()

        mailbox.close()


async def test_draining_answers_all_that_is_queued():
    mailbox = Mailbox()
    failures = []

    async def asker() -> None:
        with pytest.raises(InternalError) as failed:
            await mailbox.ask(MESSAGE)
        failures.append(failed.value)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(asker)
        await trio.testing.wait_all_tasks_blocked()

        assert mailbox.drain(InternalError("gone. Call again.")) == 3
    assert len(failures) == 3


async def test_an_envelope_that_is_put_back_comes_out_next():
    mailbox = Mailbox()
    async with trio.open_nursery() as nursery:
        for number in range(2):
            nursery.start_soon(mailbox.ask, CancelJob(job_id=str(number)))
            await trio.testing.wait_all_tasks_blocked()
        first = await mailbox.receive()
        mailbox.put_back(first)

        assert await mailbox.receive() is first
        first.answer(True)
        (await mailbox.receive()).answer(True)


def test_a_second_answer_is_a_defect():
    envelope = Envelope(MESSAGE)
    envelope.answer(Cancelled("gone. Call again."))

    with pytest.raises(AssertionError):
        envelope.answer(True)
