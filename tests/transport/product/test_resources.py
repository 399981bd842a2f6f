"""The product's resources, prompts and completions, and subscriptions to resources in both eras."""

import json

import pytest
import trio

from codecompass.jobs import RecordedProgress
from codecompass.store.job_log import JobRecord
from codecompass.store.lock import ProcessMark
from tests.transport.harness import connected, modern, settled
from tests.transport.sample_tools import advance, finish, sample_core

JOB = "codecompass://jobs/abc123"


@pytest.fixture
async def line():
    core, _tools = sample_core()
    async with connected(core) as line:
        await line.initialize()
        yield line


async def contents(line, uri):
    (old,) = (await line.result("resources/read", {"uri": uri}))["contents"]
    (new,) = (await line.result("resources/read", modern({"uri": uri})))["contents"]
    assert old == new
    assert (old["uri"], old["mimeType"]) == (uri, "application/json")
    return json.loads(old["text"])


async def test_what_is_listed_can_be_read(line):
    for resource in (await line.result("resources/list"))["resources"]:
        assert await contents(line, resource["uri"]) == {"status": "ready"}


async def test_the_templates_are_those_of_the_contract(line):
    templates = (await line.result("resources/templates/list"))["resourceTemplates"]

    assert [each["uriTemplate"] for each in templates] == ["codecompass://jobs/{job_id}", "codecompass://outline/{path}"]


@pytest.mark.parametrize("uri", ["codecompass://outline/src/a b.py", "codecompass://outline/src%2Fa%20b.py"])
async def test_an_outline_is_read_by_path_encoded_or_not(line, uri):
    assert (await contents(line, uri))["path"] == "src/a b.py"


async def test_a_job_is_read_while_it_runs_and_from_the_log(line):
    assert (await contents(line, JOB))["message"] == "Scanning files: 0 discovered"


async def test_a_job_of_the_log_is_read_too(core, tools):
    tools.recorded_jobs["old"] = JobRecord(
        job_id="old",
        project_id="p",
        mode="full",
        status="failed",
        cause="x",
        error="disk full",
        error_code="permission_denied",
        ref="main",
        process=ProcessMark(pid=1, started="1"),
        progress=RecordedProgress(),
        changed_files=0,
        duration_ms=None,
        created_at=0.0,
        started_at=None,
        finished_at=None,
    )
    async with connected(core) as line:
        job = await contents(line, "codecompass://jobs/old")

    assert (job["status"], job["message"], job["error_code"]) == ("failed", "Error: disk full", "permission_denied")


@pytest.mark.parametrize(
    "uri", ["codecompass://jobs/nope", "codecompass://outline/nope.py", "codecompass://x", "file:///etc", ""]
)
async def test_a_resource_that_is_not_there_has_the_code_of_its_era(line, uri):
    old = await line.fault("resources/read", {"uri": uri})
    new = await line.fault("resources/read", modern({"uri": uri}))

    assert (old["code"], old["data"]["uri"]) == (-32002, uri)
    assert (new["code"], new["data"]["uri"]) == (-32602, uri)


async def test_a_subscriber_is_told_of_changes_until_it_unsubscribes(autojump_clock, core, tools):
    async with connected(core) as line:
        await line.initialize()
        for _ in range(2):
            assert await line.result("resources/subscribe", {"uri": JOB}) == {}
        await settled()
        advance(tools.job, stage="finalizing")
        await trio.sleep(1)
        assert [m["params"] for m in line.pending()] == [{"uri": JOB}]

        assert await line.result("resources/unsubscribe", {"uri": JOB}) == {}
        finish(tools.job)
        await trio.sleep(1)
        assert line.pending() == []


@pytest.mark.parametrize(("uri", "code"), [("codecompass://workspaces", -32602), ("codecompass://x", -32002)])
async def test_what_is_not_watched_cannot_be_subscribed_to(line, uri, code):
    assert (await line.fault("resources/subscribe", {"uri": uri}))["code"] == code
    assert await line.result("resources/unsubscribe", {"uri": uri}) == {}


async def test_a_listener_is_told_what_it_was_promised_and_nothing_else(autojump_clock, core, tools):
    async with connected(core) as line:
        wanted = {"toolsListChanged": True, "resourceSubscriptions": [JOB, JOB, "codecompass://workspaces"]}
        id_ = line.ask("subscriptions/listen", modern({"notifications": wanted}))
        acknowledged = (await line.until("notifications/subscriptions/acknowledged"))["params"]
        assert acknowledged["notifications"] == {"resourceSubscriptions": [JOB]}

        await settled()
        for n in range(100):
            advance(tools.job, stage="parsing", files_parsed=n, files_total=100)
            await trio.sleep(0.01)
        finish(tools.job)
        await trio.sleep(10)
        updates = line.pending()

    assert 3 <= len(updates) <= 6
    assert all(each["params"]["uri"] == JOB for each in updates)
    assert all(each["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] == id_ for each in updates)


async def test_two_listeners_are_told_apart(autojump_clock, core, tools):
    async with connected(core) as line:
        ids = {line.ask("subscriptions/listen", modern({"notifications": {"resourceSubscriptions": [JOB]}})) for _ in "ab"}
        await settled()
        line.pending()
        finish(tools.job)
        await settled()
        told = {each["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for each in line.pending()}

    assert told == ids


async def test_streams_do_not_keep_requests_from_being_answered(line):
    answers = [line.ask("subscriptions/listen", modern({"notifications": {}})) for _ in range(20)]
    await settled()
    line.pending()

    refused = [m["error"]["code"] for m in line.seen if "error" in m]
    assert refused == [1429] * (len(answers) - 16)
    assert "content" in await line.tool("echo")


async def test_prompts_are_filled_in(line):
    prompts = (await line.result("prompts/list"))["prompts"]
    assert [each["name"] for each in prompts] == ["explore_codebase", "find_implementation", "explain_symbol"]

    for prompt in prompts:
        arguments = {each["name"]: "the {word}" for each in prompt["arguments"]}
        result = await line.result("prompts/get", {"name": prompt["name"], "arguments": arguments})
        assert "the {word}" in result["messages"][0]["content"]["text"]
        new = await line.result("prompts/get", modern({"name": prompt["name"], "arguments": arguments}))
        assert new["messages"] == result["messages"]


@pytest.mark.parametrize(
    "params", [{"name": "nope"}, {"name": "explain_symbol"}, {"name": "explain_symbol", "arguments": {"symbol": " "}}]
)
async def test_unknown_prompts_and_missing_arguments_are_refused(line, params):
    assert (await line.fault("prompts/get", params))["code"] == -32602


@pytest.mark.parametrize(
    ("ref", "argument", "values"),
    [
        (
            {"type": "ref/prompt", "name": "explain_symbol"},
            ("symbol", "Valid"),
            ["Validator", "validate_token", "validate", "invalidate"],
        ),
        ({"type": "ref/resource", "uri": "codecompass://outline/{path}"}, ("path", "auth"), ["auth/a.py", "src/auth.py"]),
        ({"type": "ref/prompt", "name": "explain_symbol"}, ("symbol", " "), []),
        ({"type": "ref/prompt", "name": "nope"}, ("symbol", "x"), []),
    ],
)
async def test_paths_and_symbols_complete_with_what_begins_so_first(line, ref, argument, values):
    params = {"ref": ref, "argument": {"name": argument[0], "value": argument[1]}}

    completion = (await line.result("completion/complete", params))["completion"]

    assert completion == {"values": values, "total": len(values), "hasMore": False}
    assert (await line.result("completion/complete", modern(params)))["completion"] == completion


async def test_a_completion_of_nothing_known_is_refused(line):
    params = {"ref": {"type": "ref/other"}, "argument": {"name": "x", "value": "y"}}

    assert (await line.fault("completion/complete", params))["code"] == -32602
