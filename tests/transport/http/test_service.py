"""A complete server over HTTP, with the real registry, workspaces and index: its pages and what it reports about itself."""

import re
from contextlib import asynccontextmanager

import pytest
import structlog
import trio
from msgspec.structs import replace

from codecompass.projects.detection import RoutingRules
from codecompass.settings import ServerSettings
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import open_sockets
from codecompass.transport.http.service import serve_http
from tests.support.serving import SETTINGS, open_serving
from tests.support.waiting import until
from tests.transport.harness import modern
from tests.transport.http.client import JSON, UPGRADE, ask, call, connect, initialize, message, modern_headers

SOURCE = "def validate_token(token):\n    return token\n"


@asynccontextmanager
async def http_server(home, *, bind="127.0.0.1", settings=SETTINGS, rules=None):
    """Yields the server and its port."""
    async with open_serving(home, settings=settings, rules=rules) as serving, trio.open_nursery() as nursery:
        sockets = open_sockets(bind, 0)
        port = sockets[0].getsockname()[1]
        await nursery.start(
            lambda task_status: serve_http(serving.server, sockets, limits=HttpLimits(stop=1), task_status=task_status)
        )
        try:
            yield serving, port
        finally:
            serving.server.core.stop()


@pytest.fixture
def places(tmp_path):
    """Returns the path of an empty store, and a small project."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "auth.py").write_text(SOURCE)
    return tmp_path / "home", project


async def health_of(port):
    answer = await ask(port, "GET", "/health")
    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    return answer.json()


async def test_health_tells_of_all_projects_from_the_first_moment_on(places):
    home, project = places
    rules = RoutingRules(pinned=(project,))
    async with http_server(home, rules=rules) as (_serving, port):
        first = await health_of(port)
        indexed = await ask(port, "POST", "/", call("index_repo", {"wait_seconds": 30}))
        assert not indexed.json()["result"].get("isError"), indexed.body

        async def is_ready():
            return [each["index_status"] for each in (await health_of(port))["projects"]] == ["ready"]

        await until(is_ready)
        ready = await health_of(port)

    assert first["status"] in ("ready", "warming")
    assert {"status", "projects", "version", "uptime_seconds", "workspace_warmset"} <= set(first)
    assert ready["status"] == "ready"
    entry = ready["projects"][0]
    assert entry["repo_root"] == str(project)
    assert (entry["schema_status"], entry["file_count"], entry["symbol_count"]) == ("compatible", 1, 1)
    assert {"project_id", "last_indexed_at", "ref", "current_schema_version", "required_schema_version"} <= set(entry)


async def test_health_of_a_server_that_has_just_started_is_warming(places):
    """User story 3, scenario 2: before the prewarm has finished."""
    home, _project = places
    settings = replace(SETTINGS, server=ServerSettings(prewarm=True))
    async with http_server(home, settings=settings) as (serving, port):
        serving.server._prewarm_status = "warming"
        assert (await health_of(port))["status"] == "warming"


async def test_health_of_a_server_with_a_damaged_index_is_an_error(places):
    home, project = places
    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port):
        await ask(port, "POST", "/", call("index_repo", {"wait_seconds": 30}))
    for facts in home.rglob("facts.db"):
        facts.write_bytes(b"no database")

    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port):

        async def is_damaged():
            return (await health_of(port))["status"] == "error"

        await until(is_damaged)
        assert (await health_of(port))["projects"][0]["index_status"] == "error"


async def test_health_answers_while_the_server_is_at_work(places):
    home, project = places
    for n in range(300):
        (project / f"module_{n}.py").write_text(SOURCE * 20)
    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port), trio.open_nursery() as nursery:
        nursery.start_soon(ask, port, "POST", "/", call("index_repo", {"wait_seconds": 50}))
        seen = set()
        with trio.fail_after(60):
            while "indexing" not in seen:
                page = await health_of(port)
                seen |= {page["status"], *(each["index_status"] for each in page["projects"])}

    assert "error" not in seen


async def test_metrics_count_what_was_asked(places):
    home, project = places
    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port):
        await ask(port, "POST", "/", call("index_repo", {"wait_seconds": 30}))
        for _ in range(2):
            await ask(port, "POST", "/", call("locate_symbol", {"name": "validate_token"}))
        await ask(port, "POST", "/", call("locate_symbol", {}))
        page = await ask(port, "GET", "/metrics")

    assert page.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = page.body.decode().splitlines()
    assert 'codecompass_tool_calls_total{tool="locate_symbol",transport="http",outcome="ok"} 2' in lines
    assert 'codecompass_tool_calls_total{tool="locate_symbol",transport="http",outcome="invalid_input"} 1' in lines
    assert 'codecompass_http_responses_total{route="/",status="200"} 4' in lines
    assert "codecompass_workspaces_started_total 1" in lines
    assert any(line.startswith("codecompass_index_files{") and line.endswith(" 1") for line in lines)
    assert any(line.startswith("codecompass_workspace_last_job_seconds{") and 'status="published"' in line for line in lines)


@pytest.mark.parametrize("path", ["/health", "/metrics"])
async def test_pages_are_read_and_not_written(places, path):
    home, _project = places
    async with http_server(home) as (_serving, port):
        answer = await ask(port, "POST", path, b"{}")

    assert (answer.status, answer.headers["allow"]) == (405, "GET")


async def test_a_project_path_that_is_not_there_is_a_bad_request_on_every_route(places):
    home, project = places
    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port), connect(port) as client:
        session = await initialize(client)
        bad = "?project_path=/bad/path"
        answers = {
            "root": await client.request("POST", f"/{bad}", call("index_status")),
            "modern": await client.request("POST", f"/mcp{bad}", message("tools/list", modern()), **modern_headers("tools/list")),
            "session": await client.request("POST", f"/mcp{bad}", call("index_status"), mcp_session_id=session, **JSON),
            "stream": await client.request("GET", f"/mcp{bad}", accept="text/event-stream"),
            "relative": await client.request("POST", "/?project_path=bad/path", call("index_status")),
            "empty": await client.request("POST", "/?project_path=", call("index_status")),
        }
        async with connect(port) as socket:
            await socket.send("GET", f"/ws{bad}", **UPGRADE)
            answers["websocket"] = await socket.head()
        good = await client.request("POST", f"/?project_path={project}", call("index_status"))

    assert {name: answer.status for name, answer in answers.items()} == dict.fromkeys(answers, 400)
    for name in ("root", "modern", "session", "stream"):
        assert answers[name].json()["error"]["message"] == "Project path does not exist: /bad/path"
    assert answers["root"].json()["error"]["code"] == "invalid_input"
    assert answers["modern"].json()["error"]["data"]["code"] == "invalid_input"
    assert good.status == 200, good.said()
    assert good.said()["metadata"]["workspace"] == str(project)


@pytest.mark.parametrize(
    ("rules", "arguments", "code"),
    [
        (RoutingRules(), {"workspace": "/srv"}, "workspace_not_registered"),
        (RoutingRules(), {}, "project_not_found"),
    ],
)
async def test_errors_of_tools_keep_their_codes(places, rules, arguments, code):
    """HTTP wraps the tools' errors; it defines no codes for them."""
    home, _project = places
    async with http_server(home, rules=rules) as (_serving, port):
        answer = await ask(port, "POST", "/", call("search_code", {"query": "x", **arguments}))

    assert answer.status == 200
    assert answer.json()["result"]["isError"]
    assert answer.said()["error"]["code"] == code


async def test_a_workspace_outside_the_allowed_roots_keeps_its_code(places):
    home, project = places
    rules = RoutingRules(auto_workspace=True, allowed_roots=(project,))
    async with http_server(home, rules=rules) as (_serving, port):
        answer = await ask(port, "POST", "/", call("search_code", {"query": "x", "workspace": "/"}))

    assert answer.said()["error"]["code"] == "workspace_not_allowed"


async def test_an_index_of_a_newer_program_keeps_its_code_and_health_is_an_error(places):
    home, project = places
    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port):
        await ask(port, "POST", "/", call("index_repo", {"wait_seconds": 30}))
    (current,) = home.glob("projects/*/CURRENT")
    current.write_text(re.sub(r'"schema_version":\d+', '"schema_version":99', current.read_text()))

    async with http_server(home, rules=RoutingRules(pinned=(project,))) as (_serving, port):
        answer = await ask(port, "POST", "/", call("search_code", {"query": "validate_token"}))

        async def is_an_error():
            return (await health_of(port))["status"] == "error"

        await until(is_an_error)

    assert answer.status == 200
    assert answer.said()["error"]["code"] == "index_incompatible"


async def test_a_server_that_others_can_reach_says_so_loudly(places):
    home, _project = places
    with structlog.testing.capture_logs() as logs:
        async with http_server(home, bind="0.0.0.0") as (_serving, port):
            assert (await ask(port, "GET", "/health", host="build-7.corp")).status == 200
            assert (await ask(port, "GET", "/health", origin="https://evil.example")).status == 403

    warnings = [entry for entry in logs if entry["event"] == "reachable_from_other_machines"]
    assert [entry["log_level"] for entry in warnings] == ["warning"]
    assert "SSH tunnel" in warnings[0]["advice"]


async def test_a_server_of_this_machine_alone_does_not(places):
    home, _project = places
    with structlog.testing.capture_logs() as logs:
        async with http_server(home):
            pass

    assert not [entry for entry in logs if entry["event"] == "reachable_from_other_machines"]
