"""User story 1 of the specification and its edge cases: the real command with the official client.

| scenario | test |
|---|---|
| 1 a workspace is named | test_1_the_named_workspace_answers_and_no_other (SC-300: three of them in one session) |
| 2 an unknown one is added | test_2_an_unknown_workspace_is_taken_up_and_answers_once_it_is_indexed |
| 3 none is added without discovery | test_3_without_discovery_an_unknown_workspace_is_refused_with_what_to_do |
| 4, 5 outside the roots | test_4_and_5_nothing_outside_of_the_allowed_roots_is_taken, test_hostile_paths.py |
| 6 none is named | test_6_the_default_project_answers_who_names_none |
| 7 eleven workspaces | test_7_the_eleventh_workspace_evicts_the_least_recently_used |
| 8 all tools | test_8_every_tool_takes_a_workspace_and_answers_for_it (SC-306) |
| 9 a pin | test_9_a_pinned_workspace_answers_who_names_none_and_can_be_overridden |
| 10 the warmset | test_10_the_most_recent_workspaces_are_made_ready_and_shown |
| edge: discovery without roots | test_discovery_without_allowed_roots_does_not_start |
| edge: a link that leads out | test_a_link_that_leads_out_is_refused |
| edge: concurrent first requests | test_two_first_questions_share_a_job_and_are_both_told_so, test_first_contact.py |
| edge: the port is taken | test_a_port_that_is_taken_is_said_to_be |
| edge: a job fails | test_a_job_that_fails_ends_its_progress_with_the_cause, test_first_contact.py |
| edge: restart while indexing | test_several_processes.py (SC-308) |
| edge: a relative workspace | test_a_relative_workspace_is_taken_from_where_the_server_stands |
| edge: no Content-Type | tests/transport/http |
"""

import os
import socket

import pytest
import trio

from tests.support.tools import THE_TEN, TOOLS
from tests.support.waiting import until
from tests.workspaces.machine import DEADLINE_SECONDS, word

pytestmark = pytest.mark.interaction


async def test_1_the_named_workspace_answers_and_no_other(machine):
    roots = [machine.project(name) for name in ("project-a", "project-b", "project-c")]
    for root in roots:
        machine.register(root)
    async with machine.serve() as desk:
        for root in (*roots, *reversed(roots)):
            answer = await desk.ready(word(root), workspace=root)
            assert answer.names == {word(root)}
            assert answer.metadata["workspace"] == str(root)
            others = [other for other in roots if other != root]
            for other in others:
                assert (await desk.find(word(other), workspace=root)).names & {word(each) for each in others} == set()


async def test_2_an_unknown_workspace_is_taken_up_and_answers_once_it_is_indexed(machine):
    root = machine.heavy("new-project", 100)
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, CODECOMPASS_QUERY_FRESHNESS_WAIT_MS="0") as desk:
        first = await desk.call("search_code", query=word(root), workspace=root)
        ready = await desk.ready(word(root), workspace=root)

    assert (first.metadata["indexing_status"], first.metadata["result_completeness"]) == ("indexing", "partial")
    assert first.paths == {"src/main.py"}
    assert machine.projects()[root].is_auto_discovered
    assert (ready.names, ready.metadata["result_completeness"]) == ({word(root)}, "complete")


async def test_3_without_discovery_an_unknown_workspace_is_refused_with_what_to_do(machine):
    root = machine.project("unknown", marker=False)
    async with machine.serve() as desk:
        for tool in THE_TEN:
            if tool == "index_repo":
                continue
            refused = await desk.call(tool, **TOOLS[tool].arguments(), workspace=root)
            assert refused.code == "workspace_not_registered", tool
            assert f'index_repo with workspace: "{root}"' in refused.message
        assert machine.projects() == {}

        assert (await desk.call("index_repo", workspace=root, wait_seconds=50)).code == ""
        assert (await desk.find(word(root), workspace=root)).names == {word(root)}

    assert list(machine.projects()) == [root]


async def test_over_stdio_a_question_about_another_repository_is_answered_at_the_first_call(machine):
    here, other = machine.project("here"), machine.project("other")
    async with machine.serve(cwd=here) as desk:
        assert (await desk.find(word(here))).names == {word(here)}
        assert (await desk.find(word(other), workspace=other / "src")).names == {word(other)}
        assert (await desk.call("search_code", query=word(other), workspace="other")).names == {word(other)}

    assert machine.projects()[other].is_auto_discovered


async def test_4_and_5_nothing_outside_of_the_allowed_roots_is_taken(machine):
    project = machine.project("project")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        for path in ("/etc/shadow", f"{project}/../../../../../../../../etc/passwd", "/etc", "/", str(machine.user)):
            for tool in THE_TEN:
                assert (await desk.call(tool, **TOOLS[tool].arguments(), workspace=path)).code == "workspace_not_allowed", (
                    tool,
                    path,
                )

    assert machine.projects() == {}


async def test_6_the_default_project_answers_who_names_none(machine):
    first, second = machine.project("first"), machine.project("second")
    assert machine.run("init", first).returncode == 0
    assert machine.run("init", second).returncode == 0
    async with machine.serve() as desk:
        assert (await desk.ready(word(first))).metadata["workspace"] == str(first)
    assert machine.run("init", second, "--default").returncode == 0
    async with machine.serve() as desk:
        assert (await desk.ready(word(second))).metadata["workspace"] == str(second)


async def test_7_the_eleventh_workspace_evicts_the_least_recently_used(machine):
    roots = [machine.project(f"w{number}") for number in range(11)]
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        for root in roots[:10]:
            await desk.ready(word(root), workspace=root)
        await desk.find(word(roots[0]), workspace=roots[0])
        evicted = machine.projects()[roots[1]].project_id
        await desk.ready(word(roots[10]), workspace=roots[10])
        known = set(machine.projects())
        assert not machine.home.project(evicted).root.exists()
        again = await desk.ready(word(roots[1]), workspace=roots[1])

    assert known == set(roots) - {roots[1]}
    assert again.names == {word(roots[1])}
    assert len(machine.projects()) == 10


async def test_8_every_tool_takes_a_workspace_and_answers_for_it(machine):
    root, other = machine.project("named"), machine.project("default")
    machine.register(root)
    machine.register(other, is_default=True)
    async with machine.serve("--tools", "all") as desk:
        listed = {tool.name: tool for tool in (await desk.client.list_tools()).tools}
        await desk.ready(word(root), workspace=root)
        answers = {}
        for tool in THE_TEN:
            answers[tool] = await desk.call(tool, **TOOLS[tool].arguments(symbol=word(root)), workspace=root)

    assert set(THE_TEN) < set(listed)
    for name, tool in listed.items():
        assert tool.input_schema["properties"]["workspace"]["type"] == "string", name
        assert "workspace" not in tool.input_schema.get("required", []), name
    for name, answer in answers.items():
        assert answer.code == "", answer.text
        assert answer.metadata["workspace"] == str(root), name
        assert str(other) not in answer.text


async def test_9_a_pinned_workspace_answers_who_names_none_and_can_be_overridden(machine):
    pinned, second, default = machine.project("pinned"), machine.project("second"), machine.project("default")
    machine.register(default, is_default=True)
    flags = ("--workspace", pinned, "--workspace", second)
    async with machine.serve(*flags, cwd=default, roots=[default.as_uri()], CODECOMPASS_PROJECT=str(default)) as desk:
        omitted = await desk.ready(word(pinned))
        named = await desk.ready(word(second), workspace=second)
        searched = await desk.call("search_code", query=word(pinned))

    assert omitted.metadata["workspace"] == str(pinned)
    assert named.names == {word(second)}
    assert searched.paths == {"src/main.py"}
    assert "warnings" not in omitted.metadata


@pytest.mark.parametrize("flags", [(), ("--warmset-capacity", "2"), ("--no-prewarm",)])
async def test_10_the_most_recent_workspaces_are_made_ready_and_shown(machine, flags):
    roots = [machine.project(f"w{number}") for number in range(5)]
    async with machine.serve("--no-prewarm") as desk:
        for root in roots:
            machine.register(root)
            await desk.ready(word(root), workspace=root)

    async with machine.serve(*flags) as desk:
        health = await desk.until(lambda answer: answer.json["prewarm_status"] in ("complete", "skipped"), "health_check")

    warmset = health.json["workspace_warmset"]
    capacity = {(): 3, ("--no-prewarm",): 0}.get(flags, 2)
    live = {project["repo_root"] for project in health.json["projects"] if project["residency"] == "live"}
    assert warmset["enabled"] is (flags != ("--no-prewarm",))
    assert len(warmset["members"]) == len(live) == capacity
    assert set(warmset["members"]) == live == {str(root) for root in roots[5 - capacity :]}


# Edge cases.


def test_discovery_without_allowed_roots_does_not_start(machine):
    done = machine.run("serve-mcp", "--auto-workspace")

    assert done.returncode == 2
    assert "--allowed-root is required when --auto-workspace is enabled" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("flag", ["--allowed-root", "--workspace"])
def test_a_directory_that_is_missing_is_said_at_the_start(machine, flag):
    done = machine.run("serve-mcp", flag, machine.dev / "missing")

    assert done.returncode == 2
    assert str(machine.dev / "missing") in done.stderr


async def test_a_link_that_leads_out_is_refused(machine):
    outside = machine.project("outside", below=machine.user)
    (machine.dev / "link").symlink_to(outside)
    (machine.dev / "in").symlink_to(machine.project("inside"))
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        refused = await desk.find(word(outside), workspace=machine.dev / "link")
        taken = await desk.ready("only_in_inside", workspace=machine.dev / "in")

    assert refused.code == "workspace_not_allowed"
    assert taken.metadata["workspace"] == str(machine.dev / "inside")


async def test_two_first_questions_share_a_job_and_are_both_told_so(machine):
    root = machine.heavy("shop", 100)
    answers = []
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev, CODECOMPASS_QUERY_FRESHNESS_WAIT_MS="0") as desk:

        async def ask():
            answers.append(await desk.call("search_code", query=word(root), workspace=root))

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            nursery.start_soon(ask)
        await desk.ready(word(root), workspace=root)
        jobs = await desk.jobs(workspace=root)

    assert [answer.metadata["indexing_status"] for answer in answers] == ["indexing", "indexing"]
    assert len(jobs) == 1


def test_a_port_that_is_taken_is_said_to_be(machine):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = machine.run("serve-mcp", "--transport", "http", "--port", str(port))

    assert done.returncode != 0
    assert f"Port {port} is already in use. Choose a different port with --port." in done.stderr


async def test_a_job_that_fails_ends_its_progress_with_the_cause(machine):
    root = machine.project("shop")
    machine.register(root)
    machine.obstruct(root)
    told = []

    async def on_progress(done, total, message):
        told.append(message)

    async with machine.serve("--workspace", root) as desk:
        with trio.fail_after(DEADLINE_SECONDS):
            await desk.client.call_tool("index_repo", {"wait_seconds": 50}, progress_callback=on_progress)
        await until(lambda: told and told[-1].startswith("Error: "))
        status = await desk.call("index_status")

    assert status.json["index_status"] == "failed"
    assert status.json["recent_jobs"][0]["error_message"]


async def test_a_relative_workspace_is_taken_from_where_the_server_stands(machine):
    root = machine.project("shop")
    machine.register(root)
    async with machine.serve(cwd=machine.dev) as desk:
        for path in ("shop", "./shop", "shop/src/..", os.path.join("..", machine.dev.name, "shop")):
            assert (await desk.ready(word(root), workspace=path)).metadata["workspace"] == str(root)
