"""Typical use from an editor: saving and asking, following a job to its end, successful or not, and tasks."""

import itertools
import json
import time

import pytest
import trio

from tests.support.served import PATIENCE, holding, serving, spied, write_tree
from tests.support.waiting import until
from tests.transport.harness import modern

pytestmark = pytest.mark.blackbox

TASKS = {"extensions": {"io.modelcontextprotocol/tasks": {}}}

FULL_DISK = """
import errno, os
def seen(event, args):
    if event == "sqlite3.connect" and "registry" not in str(args[0]) and os.path.exists({flag!r}):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(args[0]))
"""


def numbered(count: int) -> dict[str, str]:
    """Returns the files of a tree that takes some time to index."""
    return {
        f"pkg{n // 50}/module{n}.py": "".join(f"def function_{n}_{k}(value):\n    return value + {k}\n\n\n" for k in range(20))
        for n in range(count)
    }


async def located(line, name, **arguments):
    """Returns where a name is defined, and the freshness of the answer."""
    answer = (await line.tool("locate_symbol", {"name": name, **arguments}))["structuredContent"]
    places = [(hit["path"], hit["line_start"]) for hit in answer["results"] if hit["name"] == name]
    return places, answer["metadata"]["freshness_status"]


@pytest.mark.parametrize("policy", ["balanced", "strict"])
@pytest.mark.parametrize("in_git", [True, False], ids=["git", "no git"])
async def test_what_was_saved_before_a_question_is_in_its_answer(tmp_path, policy, in_git):
    root = write_tree(tmp_path / "work", numbered(20))
    if in_git:
        await trio.run_process(["git", "init", "-q", str(root)])
    async with serving(tmp_path, "--workspace", root) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50})

        for n in range(10):
            edited = root / f"pkg0/module{n}.py"
            edited.write_text(f"\n\ndef saved_{n}(): pass\n" + edited.read_text())
            assert await located(line, f"saved_{n}", freshness_policy=policy) == ([(f"pkg0/module{n}.py", 3)], "fresh")
        write_tree(root, {"new/deep/added.py": "def added(): pass\n"})
        assert await located(line, "added", freshness_policy=policy) == ([("new/deep/added.py", 1)], "fresh")
        (root / "new/deep/added.py").rename(root / "new/moved.py")
        assert await located(line, "added", freshness_policy=policy) == ([("new/moved.py", 1)], "fresh")
        (root / "new/moved.py").unlink()
        assert await located(line, "added", freshness_policy=policy) == ([], "fresh")
        (root / "pkg0/module1.py").write_text("def other(): pass\n")
        answer = await line.tool("search_code", {"query": "saved_1(", "mode": "literal", "freshness_policy": policy})
        assert answer["structuredContent"]["results"] == []


async def test_an_answer_that_may_not_be_stale_is_refused_where_there_is_no_time_to_index(tmp_path):
    root = write_tree(tmp_path / "work", {**numbered(5), "held.py": ""})
    spy = holding(tmp_path)
    (tmp_path / "go").touch()
    async with serving(tmp_path, "--workspace", root, CODECOMPASS_QUERY_FRESHNESS_WAIT_MS="50", **spy) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50})
        await fresh(line)
        (tmp_path / "go").unlink()
        write_tree(root, {"held.py": "def saved(): pass\n"})

        refused = await line.tool("locate_symbol", {"name": "saved", "freshness_policy": "strict"})
        balanced = await located(line, "saved", freshness_policy="balanced")
        at_once = await located(line, "function_1_1", freshness_policy="best_effort")
        (tmp_path / "go").touch()
        in_the_end = await fresh(line)

    error = json.loads(refused["content"][0]["text"])["error"]
    assert refused["isError"]
    assert error["code"] == "index_stale"
    assert error["data"]["changed_files"] == 1
    assert balanced[0] == []
    assert balanced[1] in ("stale", "syncing")
    assert at_once[0] == [("pkg0/module1.py", 5)]
    assert in_the_end == ([("held.py", 1)], "fresh")


async def fresh(line):
    """Returns where `saved` is defined, once the server reports that its answer is fresh."""

    async def seen():
        places, freshness = await located(line, "saved", freshness_policy="best_effort")
        return (places, freshness) if freshness == "fresh" else None

    return await until(seen, seconds=PATIENCE)


async def test_a_hundred_files_are_told_of_three_times_before_the_end(tmp_path):
    root = write_tree(tmp_path / "work", numbered(100))
    async with serving(tmp_path, "--workspace", root) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50}, _meta={"progressToken": "mine"})

    frames = [message["params"] for message in line.seen if message.get("method") == "notifications/progress"]
    values = [frame["value"] for frame in frames]
    assert [value["kind"] for value in values] == ["report"] * (len(values) - 1) + ["end"]
    assert len(values) >= 4
    assert {frame["progressToken"] for frame in frames} == {"mine"}
    assert all(a["progress"] < b["progress"] for a, b in itertools.pairwise(frames))
    assert values[0]["message"].startswith("Scanning files: ")
    assert any(value["message"].startswith("Parsing files: ") and "/100 (" in value["message"] for value in values)
    assert values[-2]["message"] == "Finalizing index..."
    assert values[-1]["title"] == "Indexing complete: work"
    assert values[-1]["message"].startswith("Indexed 100 files, 2000 symbols in ")


async def test_a_thousand_files_are_told_of_every_five_seconds_to_those_who_follow_the_job(tmp_path):
    root = write_tree(tmp_path / "work", numbered(1000))
    times = []
    async with serving(tmp_path, "--workspace", root) as line:
        await line.initialize(experimental={"progress": {}})
        times.append(time.monotonic())
        job = (await line.tool("index_repo"))["structuredContent"]
        kind = ""
        while kind != "end":
            params = (await line.until("notifications/progress"))["params"]
            times.append(time.monotonic())
            kind = params["value"]["kind"]
            assert params["progressToken"] == job["progress_token"] == f"index-job-{job['job_id']}"

        status = (await line.tool("index_status"))["structuredContent"]
    assert job["status"] == "running"
    assert status["file_count"] == 1000
    # On average: how long one word takes to arrive depends on what else the machine does.
    assert len(times) - 1 >= (times[-1] - times[0]) / 5


async def test_a_job_that_fails_is_told_of_to_its_end_and_the_old_index_answers(tmp_path):
    root = write_tree(tmp_path / "work", numbered(5))
    spy = spied(tmp_path, FULL_DISK.format(flag=str(tmp_path / "full")))
    async with serving(tmp_path, "--workspace", root, **spy) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50})
        (tmp_path / "full").touch()
        failed = await line.tool("index_repo", {"wait_seconds": 50, "force": True}, _meta={"progressToken": 7})
        (tmp_path / "full").unlink()
        places, _ = await located(line, "function_3_3", freshness_policy="best_effort")
        jobs = (await line.tool("index_status"))["structuredContent"]["recent_jobs"]

    ends = [message["params"]["value"] for message in line.seen if message.get("method") == "notifications/progress"]
    assert ends[-1]["kind"] == "end"
    assert ends[-1]["title"] == "Indexing failed: work"
    assert ends[-1]["message"].startswith("Error: ")
    assert "percentage" not in ends[-1]
    assert failed.get("isError") or failed["structuredContent"]["status"] == "failed", failed
    assert places == [("pkg0/module3.py", 13)]
    assert "failed" in [job["status"] for job in jobs]


async def test_waiting_ends_when_it_should_and_the_job_goes_on(tmp_path):
    root = write_tree(tmp_path / "work", {"held.py": "def held(): pass\n"})
    spy = holding(tmp_path)
    async with serving(tmp_path, "--workspace", root, **spy) as line:
        await line.initialize()
        first = (await line.tool("index_repo", {"wait_seconds": 1}))["structuredContent"]
        second = (await line.tool("index_repo"))["structuredContent"]
        (tmp_path / "go").touch()
        third = (await line.tool("index_repo", {"wait_seconds": 50}))["structuredContent"]

    assert first["status"] == second["status"] == "running"
    assert first["job_id"] == second["job_id"]
    assert third["status"] == "published"
    assert third["file_count"] == 1


async def test_a_job_can_be_a_task(tmp_path):
    root = write_tree(tmp_path / "work", {"held.py": "def held(): pass\n"})
    spy = holding(tmp_path)
    async with serving(tmp_path, "--workspace", root, **spy) as line:
        call = {"name": "index_repo", "arguments": {}}
        started = await line.result("tools/call", modern(call, capabilities=TASKS))
        assert started["resultType"] == "task"
        assert (await task(line, "tasks/get", started))["status"] == "working"
        (tmp_path / "go").touch()
        state = await ended(line, started)

    assert state["status"] == "completed"
    assert state["result"]["structuredContent"]["status"] == "published"


async def test_a_task_that_is_cancelled_stops_its_job(tmp_path):
    root = write_tree(tmp_path / "work", {"held.py": "def held(): pass\n"})
    spy = holding(tmp_path)
    async with serving(tmp_path, "--workspace", root, **spy) as line:
        call = {"name": "index_repo", "arguments": {}}
        started = await line.result("tools/call", modern(call, capabilities=TASKS))
        await task(line, "tasks/cancel", started)
        state = await ended(line, started)
        health = (await line.result("tools/call", modern({"name": "health_check"})))["structuredContent"]

    assert state["status"] == "cancelled"
    assert health["active_job"] is None


async def task(line, method, started):
    """Returns the result of a request about a task."""
    return await line.result(method, modern({"taskId": started["taskId"]}, capabilities=TASKS))


async def ended(line, started):
    """Returns a task's final state."""

    async def state():
        seen = await task(line, "tasks/get", started)
        return seen if seen["status"] != "working" else None

    return await until(state, seconds=PATIENCE)
