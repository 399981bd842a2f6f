"""Many concurrent requests of one session, over the real store and workers, while an index job is held."""

import json

import pytest
import trio

from codecompass.actors.messages import MAILBOX_CAPACITY, StartJob
from codecompass.errors import WorkspaceBusy
from tests.support.asking import ONE_WORKER, locate, open_workspace, paths_of, until_indexed, until_quiet
from tests.support.faults import held_workers
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace
from tests.transport.harness import connected

MOVING = {"uptime_seconds", "duration_ms", "last_used_at", "memory_bytes"}
"""Fields of answers about the server that depend on the moment."""

CALLS = [
    ("search_code", {"query": "where are orders validated"}),
    ("search_code", {"query": "validate_token"}),
    ("search_code", {"query": "import ", "mode": "literal"}),
    ("search_code", {"query": r"def \w+\(", "mode": "regex"}),
    ("search_code", {"query": "total_price", "detail_level": "context"}),
    ("locate_symbol", {"name": "validate"}),
    ("locate_symbol", {"name": "Order.price"}),
    ("get_file_outline", {"path": "src/shop/orders.py"}),
    ("get_file_outline", {"path": "src/auth.rs"}),
    ("get_symbol_hierarchy", {"symbol_name": "Order", "direction": "descendants"}),
    ("find_related_symbols", {"symbol_name": "total_price"}),
    ("get_code_context", {"query": "orders and prices", "max_tokens": 1000}),
    ("index_status", {}),
    ("health_check", {}),
    ("index_repo", {"force": True}),
    ("sync_repo", {}),
    ("search_code", {"query": ""}),
    ("get_file_outline", {"path": "nowhere.py"}),
]


@pytest.fixture
def shop(repository: TestWorkspace) -> TestWorkspace:
    repository.write(SAMPLE)
    repository.commit()
    return repository


def still(value):
    """Returns an answer without fields that depend on the moment."""
    if isinstance(value, dict):
        return {key: still(part) for key, part in value.items() if key not in MOVING}
    return [still(part) for part in value] if isinstance(value, list) else value


def content(message) -> object:
    """Returns whether a response is an error, and its content."""
    assert "result" in message, message
    result = message["result"]
    return result.get("isError", False), still(json.loads(result["content"][0]["text"]))


@pytest.mark.invariant(
    "Each request is answered or cancelled; concurrent requests get the same answers as sequential ones, whatever a job does"
)
async def test_64_requests_in_flight_are_each_answered_once_and_as_in_turn_while_a_job_runs(shop, tmp_path):
    calls = [CALLS[number % len(CALLS)] for number in range(64)]
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, shop)
        await until_indexed(handle)
        await until_quiet(handle)
        await serving.wait_known(handle.project.project_id)
        generation = handle.observation.generation
        async with connected(serving.server.core) as line:
            await line.initialize()
            line.patience = 60

            def ask(call) -> int:
                name, arguments = call
                return line.ask("tools/call", {"name": name, "arguments": {**arguments, "workspace": str(shop.root)}})

            with held_workers():
                job = await handle.ask(StartJob(cause="test", force=True))
                await until(lambda: job.state.progress.files_total > 0)
                held_at = job.state
                one_by_one = [content(await line.answer(ask(call))) for call in calls]
                line.seen.clear()

                # All are sent before the first can be answered.
                ids = [ask(call) for call in calls]
                answers = {id_: content(await line.answer(id_)) for id_ in ids}

                assert job.state is held_at, "the job did not stand still: it may have ended before the last answer"
                assert (held_at.status, held_at.progress.files_parsed) == ("running", 0)
                assert handle.observation.generation == generation
                assert handle.observation.active_job is held_at
            with trio.fail_after(60):
                state = await job.wait_end()
            await line.result("ping")
            responses = [message["id"] for message in [*line.seen, *line.pending()] if "method" not in message]

        assert [answers[id_] for id_ in ids] == one_by_one
        assert sorted(responses[:-1]) == ids, "a request was answered twice, or never"
        for (tool, arguments), (is_error, said) in zip(calls, one_by_one, strict=True):
            assert is_error == (arguments in ({"query": ""}, {"path": "nowhere.py"})), (tool, said)
            if tool in ("index_repo", "sync_repo"):
                assert (said["job_id"], said["status"]) == (held_at.job_id, "running")
            if not is_error and tool != "health_check":
                assert said["metadata"]["indexing_status"] == "indexing"
            if "generation" in said.get("metadata", {}):
                assert said["metadata"]["generation"] == generation
        assert state.status == "published"
        assert handle.observation.generation == generation + 1


@pytest.mark.invariant(of="test_every_channel_between_tasks_is_bounded")
async def test_a_full_mailbox_refuses_at_once_and_loses_nothing_of_what_it_holds(shop, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, shop)
        await until_indexed(handle)
        await until_quiet(handle)
        found = []

        async def ask() -> None:
            found.append(await paths_of(handle, "just_saved"))

        async with trio.open_nursery() as nursery:
            with held_workers():
                # Each waits for the job that indexes this, and the job waits for its worker.
                shop.write({"saved.py": "def just_saved(): pass\n"})
                for _ in range(MAILBOX_CAPACITY):
                    nursery.start_soon(ask)
                await until(lambda: handle.observation.in_flight == MAILBOX_CAPACITY)

                with trio.CancelScope() as scope:
                    scope.cancel()  # a call that waits, however briefly, is cancelled
                    with pytest.raises(WorkspaceBusy) as refused:
                        await handle.ask(locate("just_saved"))
                told = await serving.refusal("locate_symbol", workspace=shop.root, name="just_saved")
                assert found == []

        assert refused.value.data["retry_after_ms"] > 0
        assert told["error"]["code"] == "workspace_busy"
        assert told["error"]["data"]["retry_after_ms"] > 0
        assert found == [["saved.py"]] * MAILBOX_CAPACITY
        assert await paths_of(handle, "just_saved") == ["saved.py"]


async def test_a_request_that_is_cancelled_is_not_answered_and_makes_room_at_once(shop, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, shop)
        await until_indexed(handle)
        await until_quiet(handle)
        async with connected(serving.server.core) as line:
            await line.initialize()
            with held_workers():
                shop.write({"saved.py": "def just_saved(): pass\n"})
                arguments = {"name": "just_saved", "workspace": str(shop.root)}
                ids = [line.ask("tools/call", {"name": "locate_symbol", "arguments": arguments}) for _ in range(20)]
                await until(lambda: handle.observation.in_flight == len(ids))

                for id_ in ids[:-1]:
                    line.send(method="notifications/cancelled", params={"requestId": id_})
                await until(lambda: handle.observation.in_flight == 1)
            line.patience = 60
            _, said = content(await line.answer(ids[-1]))
            await line.result("ping")
            responses = [message["id"] for message in [*line.seen, *line.pending()] if "method" not in message]

        assert [result["path"] for result in said["results"]] == ["saved.py"]
        assert not set(responses) & set(ids[:-1])
