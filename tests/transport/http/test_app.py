"""Checks before any endpoint: who may send requests, which paths exist, how many run at once; a defect fails one request."""

import pytest
import trio

from codecompass.transport.http.limits import HttpLimits
from tests.transport.http.client import JSON, UPGRADE, ask, call, connect, message
from tests.transport.http.serving import serving, wait_holding
from tests.transport.sample_tools import sample_core

ROUTES = ["/", "/mcp", "/ws", "/health", "/metrics", "/ui", "/ui/act"]


async def test_an_unknown_path_is_not_found(core):
    async with serving(core) as server:
        for method, path in (
            ("GET", "/nope"),
            ("POST", "/tools"),
            ("GET", "/mcp/"),
            ("PUT", "/nope"),
            ("GET", "//"),
            ("GET", "/WS"),
        ):
            answer = await ask(server.port, method, path)
            assert answer.status == 404, path
            assert "POST /" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("path", "method", "allowed"),
    [
        ("/", "GET", "POST"),
        ("/", "HEAD", "POST"),
        ("/", "OPTIONS", "POST"),
        ("/", "PUT", "POST"),
        ("/", "DELETE", "POST"),
        ("/", "BREW", "POST"),
        ("/mcp", "PUT", "GET, POST, DELETE"),
        ("/mcp", "PATCH", "GET, POST, DELETE"),
        ("/ws", "POST", "GET"),
    ],
)
async def test_another_method_is_not_allowed_and_is_told_which_one_is(path, method, allowed, core):
    async with serving(core) as server:
        answer = await ask(server.port, method, path)

    assert answer.status == 405
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize("path", ["/", "/mcp"])
@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"])
async def test_what_a_form_of_another_site_can_send_is_refused(path, content_type, core, tools):
    """Browsers send these types without a preflight. An `Origin`, if present, is refused before the type is checked."""
    async with serving(core) as server, connect(server.port) as client:
        without = await client.request("POST", path, call("hold"), content_type=content_type)
        with_one = await client.request("POST", path, call("hold"), content_type=content_type, origin="https://evil.example")

    assert (without.status, with_one.status) == (415, 403)
    assert tools.most_holding == 0


@pytest.mark.invariant("Only HTTP requests from this machine's own pages and programs are answered, WebSockets included")
@pytest.mark.parametrize("path", [*ROUTES, "/nope"])
async def test_a_name_that_was_rebound_to_this_machine_gets_nowhere(path, core):
    async with serving(core) as server:
        answer = await ask(server.port, "GET", path, host="evil.example")
        posted = await ask(server.port, "POST", path, call("echo"), host="evil.example:9100", **JSON)

    assert (answer.status, posted.status) == (421, 421)
    assert "--allowed-host" in posted.json()["error"]["message"]


@pytest.mark.invariant(of="test_a_name_that_was_rebound_to_this_machine_gets_nowhere")
@pytest.mark.parametrize("path", [*ROUTES, "/nope"])
@pytest.mark.parametrize("origin", ["https://evil.example", "null"])
async def test_a_page_of_another_site_gets_nowhere(path, origin, core):
    async with serving(core) as server:
        answer = await ask(server.port, "GET", path, origin=origin)
        posted = await ask(server.port, "POST", path, call("echo"), origin=origin, **JSON)

    assert (answer.status, posted.status) == (403, 403)
    assert "--allowed-origin" in posted.json()["error"]["message"]


@pytest.mark.invariant(of="test_a_name_that_was_rebound_to_this_machine_gets_nowhere")
@pytest.mark.parametrize(
    ("headers", "path", "status"),
    [
        ({"origin": "https://evil.example"}, "/ws", 403),
        ({"host": "evil.example"}, "/ws", 421),
        ({}, "/nope", 404),
        ({}, "/mcp", 404),
        ({}, "/ws?project_path=/a&project_path=/b", 400),
        ({"sec_websocket_protocol": "chat"}, "/ws", 400),
        ({"sec_websocket_version": "8"}, "/ws", 400),
        ({"sec_websocket_key": None}, "/ws", 400),
    ],
)
async def test_a_websocket_is_refused_before_it_is_one(headers, path, status, core):
    async with serving(core) as server, connect(server.port) as client:
        await client.send("GET", path, **{**UPGRADE, **headers})
        head = await client.head()
        await client.wait_closed()
        await server.wait_load(connections=0, websockets=0)

    assert head.status == status


async def test_a_plain_request_for_the_websocket_is_told_to_upgrade(core):
    async with serving(core) as server:
        answer = await ask(server.port, "GET", "/ws")

    assert (answer.status, answer.headers["upgrade"]) == (426, "websocket")


async def test_a_host_and_an_origin_that_are_allowed_come_in(core):
    async with serving(core, hosts=("code.example",), origins=("https://app.example",)) as server:
        answer = await ask(server.port, "POST", "/", message("ping"), host="code.example:80", origin="https://app.example")

    assert answer.status == 200


async def test_a_page_of_an_allowed_origin_may_read_what_it_asked_for(core):
    """A browser sends a preflight request first, and hides answers that do not name the page's origin."""
    page = {"origin": "https://app.example"}
    asks = {"access_control_request_method": "POST", "access_control_request_headers": "content-type, mcp-method"}
    async with serving(core, origins=("https://app.example",)) as server, connect(server.port) as client:
        preflight = await client.request("OPTIONS", "/mcp", **page, **asks)
        answer = await client.request("POST", "/mcp", message("ping"), **JSON, **page)
        refused = await client.request("POST", "/", b"{", **JSON, **page)

    assert preflight.status == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]
    assert preflight.headers["access-control-allow-headers"] == "*"
    for each in (preflight, answer, refused):
        assert each.headers["access-control-allow-origin"] == "https://app.example"
        assert each.headers["vary"] == "origin"
    assert "mcp-session-id" in answer.headers["access-control-expose-headers"]


@pytest.mark.parametrize(("origin", "status"), [("http://localhost:3000", 405), ("https://evil.example", 403), (None, 405)])
async def test_a_page_that_nobody_has_named_may_read_nothing(origin, status, core):
    page = {} if origin is None else {"origin": origin}
    async with serving(core, origins=("https://app.example",)) as server, connect(server.port) as client:
        preflight = await client.request("OPTIONS", "/mcp", access_control_request_method="POST", **page)
        answer = await client.request("POST", "/", message("ping"), **JSON, **page)

    assert preflight.status == status
    for each in (preflight, answer):
        assert not [name for name in each.headers if name.startswith("access-control")]


async def test_too_many_requests_at_a_time_are_refused_with_when_to_come_again(core, tools):
    async with serving(core, limits=HttpLimits(requests=2, stop=1)) as server, trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(ask, server.port, "POST", "/", call("hold"))
        await wait_holding(tools, 2)

        refused = await ask(server.port, "POST", "/", call("echo"))
        tools.released.set()
        await server.wait_load(requests=0)
        accepted = await ask(server.port, "POST", "/", call("echo"))

    assert (refused.status, refused.headers["retry-after"]) == (503, "1")
    assert refused.json()["error"]["data"]["code"] == "session_busy"
    assert accepted.status == 200


async def test_a_defect_costs_one_request_and_has_an_answer():
    async def check(path):
        raise ZeroDivisionError("a defect")

    core, _tools = sample_core()
    async with serving(core, check=check) as server, connect(server.port) as client:
        for path in ("/", "/mcp"):
            broken = await client.request("POST", f"{path}?project_path=/x", call("echo"), **JSON)
            assert broken.status == 500
            assert broken.json()["error"]["data"]["code"] == "internal_error"
            assert b"a defect" not in broken.body
        assert (await client.request("POST", "/", call("echo"))).status == 200


async def test_a_defect_costs_one_websocket_and_has_an_answer():
    async def check(path):
        raise ZeroDivisionError("a defect")

    core, _tools = sample_core()
    async with serving(core, check=check) as server, connect(server.port) as client:
        await client.send("GET", "/ws?project_path=/x", **UPGRADE)
        assert (await client.head()).status == 500
        assert (await ask(server.port, "POST", "/", call("echo"))).status == 200


async def test_responses_are_counted_by_route_and_never_by_what_a_client_makes_up(core):
    async with serving(core) as server, connect(server.port) as client:
        await client.request("POST", "/", call("echo"))
        await client.request("GET", "/made/up")
        await client.request("GET", "/made/up/too")
        await client.request("GET", "/")

    assert server.measures.responses == {("/", 200): 1, ("other", 404): 2, ("/", 405): 1}
