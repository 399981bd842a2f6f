"""Index jobs as tasks, for modern clients that declare the extension."""

import json

import pytest
import trio

from codecompass.transport.mcp import tasks
from codecompass.transport.mcp.protocol import META_JOB, TASKS_EXTENSION
from codecompass.transport.mcp.tasks import TaskState, TaskTable
from tests.transport.harness import connected, modern, settled
from tests.transport.sample_tools import advance, finish

WITH_TASKS = {"extensions": {TASKS_EXTENSION: {}}}


def with_tasks(params=None):
    return modern(params, capabilities=WITH_TASKS)


async def test_a_running_job_is_a_task_that_ends_with_what_the_tool_would_have_said(core, tools):
    async with connected(core) as line:
        created = await line.result("tools/call", with_tasks({"name": "index"}))
        advance(tools.job, stage="parsing", files_parsed=1247, files_total=3891)
        working = await line.result("tasks/get", with_tasks({"taskId": created["taskId"]}))
        finish(tools.job)
        completed = await line.result("tasks/get", with_tasks({"taskId": created["taskId"]}))

    assert created["resultType"] == "task"
    assert created["_meta"][META_JOB] == {"job_id": "abc123", "progress_token": "index-job-abc123"}
    assert (working["status"], working["statusMessage"]) == ("working", "Parsing files: 1247/3891 (32%)")
    assert completed["status"] == "completed"
    assert json.loads(completed["result"]["content"][0]["text"]) == {"job_id": "abc123", "status": "published"}


async def test_a_failed_job_is_a_completed_task_with_an_error_result(core, tools):
    async with connected(core) as line:
        id_ = (await line.result("tools/call", with_tasks({"name": "index"})))["taskId"]
        finish(tools.job, "failed", "disk full")

        task = await line.result("tasks/get", with_tasks({"taskId": id_}))

    assert task["status"] == "completed"
    assert task["result"]["isError"]
    assert "disk full" in task["statusMessage"]


async def test_cancelling_a_task_cancels_its_job_and_twice_is_as_good_as_once(core, tools):
    async with connected(core) as line:
        id_ = (await line.result("tools/call", with_tasks({"name": "index"})))["taskId"]

        assert (await line.result("tasks/cancel", with_tasks({"taskId": id_})))["resultType"] == "complete"
        assert (await line.result("tasks/get", with_tasks({"taskId": id_})))["status"] == "cancelled"
        assert tools.cancelled_jobs == ["abc123"]
        await line.result("tasks/update", with_tasks({"taskId": id_, "inputResponses": {"x": {}}}))


@pytest.mark.parametrize("method", ["tasks/get", "tasks/cancel", "tasks/update"])
async def test_unknown_tasks_and_clients_without_the_extension_are_refused(method, core):
    async with connected(core) as line:
        unknown = await line.fault(method, with_tasks({"taskId": "nope"}))
        undeclared = await line.fault(method, modern({"taskId": "nope"}))

    assert unknown["code"] == -32602
    assert undeclared["code"] == -32021
    assert undeclared["data"]["requiredCapabilities"] == {"extensions": {TASKS_EXTENSION: {}}}


async def test_jobs_that_have_ended_and_clients_without_the_extension_get_plain_results(core, tools):
    async with connected(core) as line:
        plain = await line.result("tools/call", modern({"name": "index"}))
        await line.initialize(extensions={TASKS_EXTENSION: {}})
        old = await line.tool("index")
        finish(tools.job)
        ended = await line.result("tools/call", with_tasks({"name": "index"}))

    assert plain["resultType"] == ended["resultType"] == "complete"
    assert "resultType" not in old


async def test_a_listener_is_told_of_its_task_until_the_end(autojump_clock, core, tools):
    async with connected(core) as line:
        id_ = (await line.result("tools/call", with_tasks({"name": "index"})))["taskId"]
        stream = line.ask("subscriptions/listen", with_tasks({"notifications": {"taskIds": [id_, "nope"]}}))
        acknowledged = await line.until("notifications/subscriptions/acknowledged")
        assert acknowledged["params"]["notifications"] == {"taskIds": [id_]}

        await settled()
        advance(tools.job, stage="finalizing")
        told = await line.until("notifications/tasks")
        assert (told["params"]["taskId"], told["params"]["status"]) == (id_, "working")
        assert "resultType" not in told["params"]
        finish(tools.job)
        assert (await line.until("notifications/tasks"))["params"]["status"] == "completed"

        line.send(method="notifications/cancelled", params={"requestId": stream})
        await trio.sleep(10)
        assert line.pending() == []


async def test_listening_to_tasks_needs_the_extension(core):
    async with connected(core) as line:
        assert (await line.fault("subscriptions/listen", modern({"notifications": {"taskIds": ["x"]}})))["code"] == -32021


class StillTask:
    def __init__(self, status, created_at=0.0):
        self.state = TaskState(status=status, created_at=created_at, updated_at=created_at)


def test_ids_cannot_be_guessed_and_the_table_is_bounded(monkeypatch):
    monkeypatch.setattr(tasks, "MAX_TASKS", 3)
    table = TaskTable(lambda: 0.0)
    ids = [table.add(StillTask("working")) for _ in range(3)]

    assert len({id_[:8] for id_ in ids}) == 3
    assert all(len(id_) >= 20 for id_ in ids)
    assert table.add(StillTask("working")) is None


def test_tasks_that_have_ended_make_room_and_are_forgotten_in_time(monkeypatch):
    monkeypatch.setattr(tasks, "MAX_TASKS", 3)
    now = [0.0]
    table = TaskTable(lambda: now[0])
    ended = table.add(StillTask("completed"))
    running = table.add(StillTask("working"))
    now[0] = tasks.LIFETIME_SECONDS + 1

    newest = table.add(StillTask("working", now[0]))

    assert [table.knows(id_) for id_ in (ended, running, newest)] == [False, True, True]
