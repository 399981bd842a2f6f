"""Word summaries are made after the first question about many projects, and are of the newest state."""

import os
import threading

import pytest
import trio

from codecompass.actors import summaries
from codecompass.actors.blocking_calls import Limits
from codecompass.actors.cold_answers import open_cold_answers
from codecompass.actors.messages import Query
from codecompass.protocol.requests import LocateSymbol
from codecompass.settings import Settings
from codecompass.store.layout import HomeLayout
from codecompass.store.word_summary import WordSummary
from tests.support.cold_reading import project_of, writer_of
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace


@pytest.fixture
async def two(tmp_path):
    made = [TestWorkspace(tmp_path / name, tmp_path / "home") for name in ("one", "two")]
    for each in made:
        each.write({"a.py": f"def {each.root.name}_only():\n    pass\n"})
        await each.sync()
    return made


def opened(workspace):
    return open_cold_answers(HomeLayout(workspace.home), Settings(), Limits(), in_processes=False)


async def known(cold, workspaces):
    """Returns the names of the workspaces whose summary is known."""
    found = await cold.summaries.known([project_of(each) for each in workspaces])
    return [each.root.name for each in workspaces if each.project_id in found]


async def all_known(cold, workspaces):
    async def are_all():
        return len(await known(cold, workspaces)) == len(workspaces)

    await until(are_all, "all summaries")


async def test_summaries_are_made_after_they_were_wanted_and_stay_on_disk(two):
    async with opened(two[0]) as cold:
        before = await known(cold, two)
        await all_known(cold, two)
    async with opened(two[0]) as cold:
        assert (before, await known(cold, two)) == ([], ["one", "two"])


async def test_an_index_that_changed_is_unknown_until_its_summary_is_made_again(two):
    async with opened(two[0]) as cold:
        await all_known(cold, two)
        two[1].write({"b.py": "def fresh():\n    pass\n"})
        await two[1].sync()
        assert await known(cold, two) == ["one"]
        await all_known(cold, two)
        found = await cold.summaries.known([project_of(two[1])])

    assert found[two[1].project_id].document_frequency("name", "fresh") == 1


async def test_what_is_kept_in_memory_is_bounded(two, monkeypatch):
    monkeypatch.setattr(summaries, "MAX_BYTES", 1)
    async with opened(two[0]) as cold:
        await all_known(cold, two)

        assert cold.summaries._kept == {}


async def test_an_index_that_hangs_does_not_keep_others_from_their_summaries(two, monkeypatch):
    monkeypatch.setattr(summaries, "MAKING_SECONDS", 5.0)
    facts = next(two[0].layout.epochs.glob("*/facts.sum"))
    facts.unlink()
    os.mkfifo(facts)
    async with opened(two[0]) as cold, trio.open_nursery() as nursery:
        nursery.start_soon(known, cold, two)
        writer = await writer_of(facts)

        async def is_second_known():
            return await known(cold, two) == ["two"]

        await until(is_second_known, "the summary of the other")
        facts.unlink()  # or it would be opened again
        os.close(writer)


async def test_an_unexpected_failure_ends_nothing(two, monkeypatch):
    def fail(_layout):
        raise ValueError("unexpected")

    monkeypatch.setattr(summaries, "write_summary", fail)
    async with opened(two[0]) as cold:
        await known(cold, two)
        await until(lambda: len(cold.summaries._failed) == 2, "both failures")
        assert await known(cold, two) == []


async def test_summaries_are_compared_with_a_question_off_the_event_loop(two, monkeypatch):
    """There may be a thousand of them and a question of as many words: half a second in which nobody else is served."""
    threads = set()
    look_up = WordSummary.document_frequency

    def noted(*arguments):
        threads.add(threading.current_thread())
        return look_up(*arguments)

    projects = [project_of(each) for each in two]
    located = Query(request=LocateSymbol(name="one_only"))
    async with opened(two[0]) as cold:
        await all_known(cold, two)
        monkeypatch.setattr(WordSummary, "document_frequency", noted)
        sampled = {}
        await cold.sample(projects, "what is one only", 10, sampled)
        concerned = await cold.concerned(projects, located, 10)

    assert concerned == {two[0].project_id}
    assert sampled.keys() == {each.project_id for each in two}
    assert threads
    assert threading.main_thread() not in threads
