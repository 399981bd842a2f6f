"""What hosts built on the official client do: 2.x in each mode, and 1.x from its own environment."""

import json
import subprocess
from pathlib import Path

import pytest
import trio

from tests.blackbox.official import MODES, connected
from tests.support.served import COMMAND, environment, holding, reached, write_tree
from tests.support.tools import LISTED
from tests.transport.official import Judge

pytestmark = pytest.mark.blackbox

OLD_SCRIPT = Path(__file__).with_name("old_client.py")


def content_of(answer):
    """Returns the content of an answer, whose text and structured forms must be equal."""
    structured = answer.structured_content
    assert not answer.is_error, answer
    assert json.loads(answer.content[0].text) == structured
    return structured


@pytest.mark.parametrize("mode", MODES)
async def test_each_answer_is_what_other_programs_say(place, asked, mode):
    assert len(asked) >= 200
    async with connected(mode, place.base, "--workspace", place.root) as (client, frames):
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert sorted(tool.name for tool in (await client.list_tools()).tools) == sorted(LISTED)
        for question in asked:
            answer = content_of(await client.call_tool(question.tool, question.arguments))
            question.judge(answer)
            assert answer["metadata"]["workspace"] == str(place.root)

    assert sum("result" in message for message in frames.received) >= 200


@pytest.mark.parametrize("mode", MODES)
async def test_each_tool_works_and_errors_are_told_apart(place, mode):
    from mcp import MCPError

    async with connected(mode, place.base, "--workspace", place.root) as (client, _frames):
        told = []

        async def on_progress(done, total, message):
            told.append((done, total, message))

        arguments = {"force": True, "wait_seconds": 50}
        job = content_of(await client.call_tool("index_repo", arguments, progress_callback=on_progress))
        assert job["status"] == "published"
        assert len(told) >= 4
        assert told[0][2].startswith("Scanning files")
        assert told[-1][:2] == (100, 100)
        assert told[-1][2].startswith(f"Indexed {job['file_count']} files")

        assert content_of(await client.call_tool("sync_repo", {"wait_seconds": 50}))["changed_files"] == 0
        assert content_of(await client.call_tool("index_status", {}))["recent_jobs"][1]["job_id"] == job["job_id"]
        assert content_of(await client.call_tool("health_check", {}))["status"] == "ready"
        related = content_of(await client.call_tool("find_related_symbols", {"symbol_name": "serve_stdio", "scope": "file"}))
        assert {each["path"] for each in related["related"] if each["relation"] == "same_file"} == {related["anchor"]["path"]}
        uses = content_of(await client.call_tool("find_references", {"symbol_name": "serve_stdio"}))
        assert {"codecompass/cli/serving.py"} <= {each["path"] for each in uses["references"]}
        hits = content_of(await client.call_tool("search_code", {"query": "serve stdio pipes"}))["results"]
        assert "codecompass/transport/stdio.py" in [hit["path"] for hit in hits[:3]]

        refused = await client.call_tool("search_code", {"query": "x", "mode": "telepathy"})
        assert refused.is_error
        assert refused.structured_content is None
        assert json.loads(refused.content[0].text)["error"]["code"] == "invalid_input"
        with pytest.raises(MCPError) as unknown:
            await client.call_tool("no_such_tool", {})
        assert unknown.value.code == -32602


@pytest.mark.parametrize("mode", MODES)
async def test_the_project_that_is_open_in_the_editor_answers(place, mode):
    """Without a pin or a current directory in a project, only the client's roots identify the project."""
    from mcp.types import ListRootsResult, Root

    async def roots(context):
        return ListRootsResult(roots=[Root(uri=place.root.as_uri())])

    async with connected(mode, place.base, list_roots_callback=roots) as (client, frames):
        answer = content_of(await client.call_tool("locate_symbol", {"name": "serve_stdio"}))

    assert answer["metadata"]["workspace"] == str(place.root)
    assert answer["results"][0]["path"] == "codecompass/transport/stdio.py"
    assert any(message.get("method") == "roots/list" for message in frames.received) == (mode == "legacy")


@pytest.mark.parametrize("mode", MODES)
async def test_a_call_that_is_cancelled_is_not_answered_and_stops_no_job(tmp_path, mode):
    root = write_tree(tmp_path / "slow", {"held.py": "def held(): pass\n"})
    spy = holding(tmp_path)
    async with connected(mode, tmp_path, "--workspace", root, variables=spy) as (client, frames):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "index_repo", {"wait_seconds": 50})
            await reached(tmp_path)
            nursery.cancel_scope.cancel()

        assert content_of(await client.call_tool("health_check", {}))["active_job"]["status"] == "running"
        (tmp_path / "go").touch()
        joined = content_of(await client.call_tool("sync_repo", {"wait_seconds": 50}))
        assert joined["status"] == "published"
        assert content_of(await client.call_tool("locate_symbol", {"name": "held"}))["results"]

    cancelled = [sent["params"]["requestId"] for sent in frames.sent if sent.get("method") == "notifications/cancelled"]
    assert len(cancelled) == 1
    assert cancelled[0] not in [message.get("id") for message in frames.received if "method" not in message]


@pytest.mark.timeout(900)  # the first one makes the environment of the older client
def test_the_older_client_gets_the_same_answers(place, asked, old_python, tmp_path):
    """It runs in a separate process and returns everything that it received."""
    root = write_tree(tmp_path / "slow", {"held.py": "def held(): pass\n"})
    held = {**environment(tmp_path), **holding(tmp_path)}
    work = {
        "command": COMMAND,
        "environment": environment(place.base),
        "root": str(place.root),
        "base": str(place.base),
        "calls": [[question.tool, question.arguments] for question in asked],
        "held": {"environment": held, "root": str(root), "base": str(tmp_path)},
    }
    done = subprocess.run(
        [old_python, str(OLD_SCRIPT)], input=json.dumps(work).encode(), capture_output=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    seen = json.loads(done.stdout)

    assert seen["revision"] == "2025-11-25"
    assert sorted(seen["tools"]) == sorted(LISTED)
    for question, answer in zip(asked, seen["answers"], strict=True):
        assert not answer["is_error"], answer
        assert json.loads(answer["text"]) == answer["structured"]
        question.judge(answer["structured"])
    assert len(seen["progress"]) >= 4
    assert seen["progress"][-1][:2] == [100, 100]
    assert seen["job"]["status"] == "published"
    assert seen["tool_error"]["error"]["code"] == "invalid_input"
    assert seen["unknown_tool"] == -32602
    assert seen["workspace_by_roots"] == str(place.root)
    assert seen["active_job_after_cancel"] == "running"
    assert seen["joined"] == "published"
    for frames in seen["connections"]:
        judge = Judge()
        for is_ours, message in frames:
            if is_ours:
                judge.received(json.dumps(message).encode())
            else:
                judge.sent(message)
