"""The first requests to an unindexed workspace: what they return, when the rest follows, and that the work is done once."""

import pytest
import trio

from codecompass.identity import project_id
from tests.support.served import holding, reached
from tests.workspaces.machine import PATIENT, word

pytestmark = pytest.mark.interaction


async def test_text_can_be_searched_while_symbols_are_still_being_found(machine):
    root = machine.heavy("heavy", 100)
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        first = await desk.call("search_code", query=word(root), workspace=root)
        ready = await desk.ready(word(root), workspace=root)

    assert (first.metadata["indexing_status"], first.metadata["result_completeness"]) == ("indexing", "partial")
    assert first.paths == {"src/main.py"}
    assert (ready.names, ready.metadata["result_completeness"]) == ({word(root)}, "complete")


async def test_fifty_first_questions_make_one_job_and_one_registration_and_are_all_answered_rightly(machine):
    root = machine.project("shop")
    answers = []
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, **PATIENT) as desk:

        async def ask():
            answers.append(await desk.find(word(root), workspace=root))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(ask)
        jobs = await desk.jobs(workspace=root)

    assert [answer.names for answer in answers] == [{word(root)}] * 50
    assert [job["status"] for job in jobs] == ["published"]
    assert list(machine.projects()) == [root]


@pytest.mark.parametrize("tool", ["search_code", "index_repo"])
async def test_a_failed_first_index_is_told_and_tried_again(machine, tool):
    root = machine.project("shop")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        machine.obstruct(root)
        failed = await desk.until(lambda answer: answer.code, "search_code", query=word(root), workspace=root)
        status = await desk.call("index_status", workspace=root)
        machine.unblock(root)
        if tool == "index_repo":
            await desk.call("index_repo", workspace=root, wait_seconds=50)
        ready = await desk.until(
            lambda answer: not answer.code and answer.names, "locate_symbol", name=word(root), workspace=root
        )

    assert "could not be indexed" in failed.message
    assert status.json["index_status"] == "failed"
    assert status.json["recent_jobs"][0]["status"] == "failed"
    assert status.json["recent_jobs"][0]["error_message"]
    assert ready.names == {word(root)}


@pytest.mark.invariant("A first index that comes to nothing leaves nothing registered that no person has registered")
@pytest.mark.parametrize("flags", [("--auto-workspace", "--allowed-root"), ()], ids=["added", "registered"])
async def test_a_first_index_that_fails_leaves_nothing_registered_and_the_next_question_begins_anew(machine, flags):
    root = machine.project("shop")
    where = {} if flags else {"roots": [root.as_uri()]}
    async with machine.serve(*flags, *((machine.dev,) if flags else ()), **where) as desk:
        machine.obstruct(root)
        asked = {"workspace": root} if flags else {}
        await desk.until(lambda answer: answer.code, "search_code", query=word(root), **asked)
        left = machine.projects()
        again = await desk.call("search_code", query=word(root), **asked)
        still_left = machine.projects()
        machine.unblock(root)
        ready = await desk.until(lambda answer: not answer.code and answer.names, "locate_symbol", name=word(root), **asked)
        there = machine.projects()

    assert (left, still_left, list(there)) == ({}, {}, [root])
    assert "call index_repo to retry now" in again.message
    assert ready.names == {word(root)}


@pytest.mark.invariant(of="test_a_first_index_that_fails_leaves_nothing_registered_and_the_next_question_begins_anew")
async def test_a_first_index_that_somebody_ends_leaves_nothing_registered_until_the_next_question(machine):
    root = machine.project("shop", {"held.py": "x = 1\n"})
    answers = []
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, **holding(machine.base)) as desk:

        async def ask():
            answers.append(await desk.find(word(root), workspace=root))

        async with trio.open_nursery() as nursery:
            for _ in range(3):
                nursery.start_soon(ask)
            await machine.wait_job(root)
            await reached(machine.base)
            done = await trio.to_thread.run_sync(machine.run, "stop", root)
        left = machine.projects()
        directory = machine.home.project(project_id(root)).root.exists()
        status = await desk.call("index_status", workspace=root)
        still_left = machine.projects()
        (machine.base / "go").touch()
        ready = await desk.ready(word(root), workspace=root)
        there = machine.projects()

    assert done.returncode == 0, done.stderr
    assert [answer.code for answer in answers] == ["index_not_ready"] * 3
    assert all("The next question starts a new job." in answer.message for answer in answers)
    assert (left, directory, still_left, list(there)) == ({}, False, {}, [root])
    assert status.json["index_status"] == "not_indexed"
    assert ready.names == {word(root)}


@pytest.mark.invariant(of="test_a_first_index_that_fails_leaves_nothing_registered_and_the_next_question_begins_anew")
async def test_what_a_person_registered_stays_registered_when_its_first_index_fails(machine):
    root = machine.project("shop")
    machine.register(root)
    machine.obstruct(root)
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        await desk.until(lambda answer: answer.code, "search_code", query=word(root), workspace=root)

    assert list(machine.projects()) == [root]


@pytest.mark.invariant(of="test_a_first_index_that_fails_leaves_nothing_registered_and_the_next_question_begins_anew")
async def test_a_server_that_ends_during_a_first_index_leaves_nothing_registered(machine):
    root = machine.project("shop", {"held.py": "x = 1\n"})
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, **holding(machine.base)) as desk:
        await desk.call("index_repo", workspace=root)
        await reached(machine.base)

    assert machine.projects() == {}
    assert not machine.home.project(project_id(root)).root.exists()
