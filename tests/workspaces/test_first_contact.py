"""The first requests to an unindexed workspace: what they return, when the rest follows, and that the work is done once."""

import pytest
import trio

from tests.workspaces.machine import word

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
    async with machine.serve(
        "--auto-workspace", "--allowed-root", machine.dev, CODECOMPASS_QUERY_FRESHNESS_WAIT_MS="30000"
    ) as desk:

        async def ask():
            answers.append(await desk.find(word(root), workspace=root))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(ask)
        status = await desk.call("index_status", workspace=root)

    assert [answer.names for answer in answers] == [{word(root)}] * 50
    assert [job["status"] for job in status.json["recent_jobs"]] == ["published"]
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
            await desk.call("index_repo", workspace=root, wait_seconds=20)
        ready = await desk.until(
            lambda answer: not answer.code and answer.names, "locate_symbol", name=word(root), workspace=root
        )

    assert "could not be indexed" in failed.message
    assert status.json["index_status"] == "failed"
    assert status.json["recent_jobs"][0]["status"] == "failed"
    assert status.json["recent_jobs"][0]["error_message"]
    assert ready.names == {word(root)}
