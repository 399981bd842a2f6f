"""Clients' roots: requested once, as each era prescribes, and never awaited for long."""

import json

import pytest
import trio

from codecompass.transport.mcp.client import path_of_uri
from tests.transport.harness import connected, modern, settled


def payload(result):
    return json.loads(result["content"][0]["text"])


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///srv/repo", "/srv/repo"),
        ("file://localhost/srv/repo", "/srv/repo"),
        ("file:///a%20b/%C3%A9", "/a b/é"),
        ("file:///a%FFb", "/a\udcffb"),
        ("file:///a?b#c", "/a"),
        ("file://host/share", None),
        ("file:///a%00b", None),
        ("file:", None),
        ("https://example.org/x", None),
        ("/srv/repo", None),
        ("file://[broken", None),
        ("", None),
        ("file:///" + "a/" * 2047, "/" + "a/" * 2047),
        ("file:///" + "%61" * 4095, "/" + "a" * 4095),
        ("file:///" + "a" * 4096, None),
        ("file:///" + "a/" * 2_000_000, None),
        ("file:///" + "%61" * 4096, None),
    ],
)
def test_file_uris_of_this_machine_are_paths(uri, path):
    assert path_of_uri(uri) == path


async def test_roots_are_asked_for_once_and_again_after_they_changed(core):
    async with connected(core) as line:
        await line.initialize(roots={"listChanged": True})
        for root in ("a", "b"):
            ids = [line.ask("tools/call", {"name": "where"}) for _ in range(3)]
            request = await line.until("roots/list")
            await settled()
            assert line.pending() == []
            line.send(id=request["id"], result={"roots": [{"uri": f"file:///{root}"}, {"uri": "https://x"}]})
            for id_ in ids:
                assert payload((await line.answer(id_))["result"]) == {"roots": [f"/{root}"]}
            assert payload(await line.tool("where")) == {"roots": [f"/{root}"]}
            line.send(method="notifications/roots/list_changed")


async def test_a_client_without_roots_is_not_asked(core):
    async with connected(core) as line:
        await line.initialize()

        assert (await line.tool("where"))["isError"]

    assert all("method" not in message for message in line.seen)


@pytest.mark.parametrize("answer", [{"error": {"code": -32601, "message": "no"}}, {"result": {"roots": 5}}, {"result": {}}])
async def test_a_client_that_answers_nonsense_has_no_roots(answer, core):
    async with connected(core) as line:
        await line.initialize(roots={})
        id_ = line.ask("tools/call", {"name": "where"})
        line.send(id=(await line.until("roots/list"))["id"], **answer)

        assert (await line.answer(id_))["result"]["isError"]


async def test_a_client_that_does_not_answer_is_waited_for_once_and_believed_later(autojump_clock, core):
    async with connected(core) as line:
        await line.initialize(roots={})
        id_ = line.ask("tools/call", {"name": "where"})
        request = await line.until("roots/list")
        await trio.sleep(core.limits.roots_seconds + 0.1)
        assert (await line.answer(id_))["result"]["isError"]

        began = trio.current_time()
        assert (await line.tool("where"))["isError"]
        assert trio.current_time() == began

        line.send(id=request["id"], result={"roots": [{"uri": "file:///late"}]})
        assert payload(await line.tool("where")) == {"roots": ["/late"]}


async def test_an_answer_that_nobody_asked_for_is_ignored(core):
    async with connected(core) as line:
        line.send(id="srv-99", result={})
        line.send(id=7, error={"code": 1, "message": "x"})

        assert await line.result("ping") == {}


async def test_a_cancelled_asker_does_not_take_the_answer_from_others(core):
    async with connected(core) as line:
        await line.initialize(roots={})
        first = line.ask("tools/call", {"name": "where"})
        request = await line.until("roots/list")
        second = line.ask("tools/call", {"name": "where"})
        line.send(method="notifications/cancelled", params={"requestId": first})
        line.send(id=request["id"], result={"roots": [{"uri": "file:///a"}]})

        assert payload((await line.answer(second))["result"]) == {"roots": ["/a"]}


async def test_a_modern_client_is_asked_when_nothing_else_tells_the_project(core):
    async with connected(core) as line:
        capabilities = {"roots": {}}
        asked = await line.result("tools/call", modern({"name": "where"}, capabilities=capabilities))
        assert asked["resultType"] == "input_required"
        assert asked["inputRequests"] == {"roots": {"method": "roots/list"}}

        answers = {"roots": {"roots": [{"uri": "file:///srv"}]}, "other": {"x": 1}}
        params = {"name": "where", "inputResponses": answers}
        found = await line.result("tools/call", modern(params, capabilities=capabilities))

        assert payload(found) == {"roots": ["/srv"]}


async def test_a_modern_client_that_answers_without_roots_is_told_the_error_or_asked_again(core):
    async with connected(core) as line:
        capabilities = {"roots": {}}
        none = {"name": "where", "inputResponses": {"roots": {"roots": []}}}
        missing = {"name": "where", "inputResponses": {}}

        assert (await line.result("tools/call", modern(none, capabilities=capabilities)))["isError"]
        again = await line.result("tools/call", modern(missing, capabilities=capabilities))
        assert again["resultType"] == "input_required"


async def test_a_modern_client_that_did_not_declare_roots_is_not_asked(core):
    async with connected(core) as line:
        assert (await line.result("tools/call", modern({"name": "where"})))["isError"]
