"""Every header and parameter that is read has a maximum length; a longer one is refused before the request is processed."""

import json

import pytest

from codecompass.transport.http.limits import HEADER_LENGTHS, PARAMETER_LENGTHS
from codecompass.transport.http.request import MAX_PARAMETERS
from tests.transport.harness import modern
from tests.transport.http.client import JSON, call, connect
from tests.transport.http.serving import serving
from tests.transport.sample_tools import sample_core

pytestmark = pytest.mark.invariant(of="tests/contract/test_bounds.py")

BY_THE_LIBRARY = {"content-length"}
"""h11 accepts up to 20 digits."""

OF_THE_PAGE = {"sec-fetch-site"}
"""Read only for the page, see tests/ui/test_guards.py."""

NEEDED = {"access-control-request-method": ("OPTIONS", {"origin": "https://app.example"})}
"""The method and headers that a request needs for this header to be read at all."""

MODERN = json.dumps(
    {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern({"name": "echo", "arguments": {}})}
).encode()


@pytest.mark.parametrize("name", sorted(HEADER_LENGTHS.keys() - BY_THE_LIBRARY - OF_THE_PAGE))
@pytest.mark.parametrize("unit", ["a.", "?", "(", "a/", ",", "a,", ";", "=?base64?", "\xe9"])
async def test_a_header_beyond_its_bound_is_refused_and_one_at_it_is_read(name, unit):
    bound = HEADER_LENGTHS[name]
    core, _tools = sample_core()
    method, more = NEEDED.get(name, ("POST", {}))
    async with serving(core, origins=("https://app.example",)) as server:
        for length, statuses in ((bound, {200, 202, 204, 400, 403, 404, 405, 406, 415, 421}), (bound + 1, {431})):
            async with connect(server.port) as client:
                given = {**(JSON if method == "POST" else {}), **more}
                value = (unit * (length // len(unit) + 1))[:length]
                if name == "content-encoding" and length == bound:
                    value = "identity"
                answer = await client.request(
                    method,
                    "/mcp",
                    MODERN if method == "POST" else b"",
                    **{**given, name.replace("-", "_"): value.encode("latin-1")},
                )

            assert answer.status in statuses, (length, answer.body[:300])


@pytest.mark.parametrize("name", sorted(PARAMETER_LENGTHS))
@pytest.mark.parametrize("path", ["/", "/mcp"])
async def test_a_parameter_beyond_its_bound_is_refused_with_the_bound(name, path):
    bound = PARAMETER_LENGTHS[name]
    seen = []

    async def check(project_path):
        seen.append(project_path)

    core, _tools = sample_core()
    async with serving(core, check=check) as server:
        for unit in ("a.", "a/", "aB", "%ff"):
            n_units = bound // len(unit.replace("%ff", "x"))
            async with connect(server.port) as client:
                fits = await client.request("POST", f"{path}?{name}=/{unit * (n_units - 1)}", call("echo"), **JSON)
            async with connect(server.port) as client:
                refused = await client.request("POST", f"{path}?{name}=/{unit * n_units}x", call("echo"), **JSON)

            assert fits.status in {200, 202, 400, 404}
            if name == "project_path" or path == "/mcp":
                assert refused.status == 400
                assert f"{bound:,}" in refused.json()["error"]["message"]
    assert all(len(each) <= bound for each in seen)


@pytest.mark.parametrize("path", ["/", "/mcp"])
async def test_a_query_of_too_many_parameters_is_refused_and_none_of_it_is_used(path, core):
    async def check(project_path):
        pass

    async with serving(core, check=check) as server:
        for n_others, status in ((MAX_PARAMETERS - 1, 200), (MAX_PARAMETERS, 400), (5_000, 400)):
            query = "project_path=/a&" + "a=&" * n_others
            headers = (
                {} if path == "/" else {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "echo"}
            )
            async with connect(server.port) as client:
                answer = await client.request("POST", f"{path}?{query}"[:-1], MODERN, **JSON, **headers)

            assert answer.status == status, answer.body
            if status == 400:
                assert f"{MAX_PARAMETERS} parameters" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/mcp"])
async def test_half_a_surrogate_pair_is_answered_under_the_id_of_the_request(path, core):
    body = (
        rb'{"jsonrpc":"2.0","id":"\ud83d1","method":"tools/call","params":{"name":"echo","arguments":{"text":"a\ud83d"},"_meta":'
    )
    body += json.dumps(modern()["_meta"]).encode() + b"}}"
    async with serving(core) as server, connect(server.port) as client:
        headers = {} if path == "/" else {"mcp_protocol_version": "2026-07-28", "mcp_method": "tools/call", "mcp_name": "echo"}
        answer = await client.request("POST", path, body, **JSON, **headers)

    assert answer.status == 200
    assert answer.json()["id"] == "\ufffd1"
    assert "error" not in answer.json()
