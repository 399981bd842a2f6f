"""The bridge as a separate process, between a client on a pipe and a server that is started, stopped and killed."""

import json
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio
from trio_websocket import ConnectionClosed, serve_websocket

from tests.support.live import command, environment, free_port, http_server, index, started
from tests.support.sample import SAMPLE
from tests.support.wire import PATIENCE, modern, opening, pipe_client
from tests.support.workspace import TestWorkspace

SERVER_GONE = 1502


@pytest.fixture
def shop(repository):
    """An indexed project."""
    repository.write(SAMPLE)
    repository.commit()
    index([repository])
    return repository


@asynccontextmanager
async def bridged(url, home, *arguments, roots=(), cwd=None, **variables):
    """Yields a client connected through a bridge."""
    async with (
        started("serve-mcp", "--connect", url, *arguments, home=home, cwd=cwd, **variables) as bridge,
        pipe_client(bridge, roots=roots) as client,
    ):
        client.process = bridge
        yield client


class Peer:
    """A server for the bridge to connect to; records every message and answers every request with an empty result."""

    def __init__(self):
        self.connections = []
        self.revision = "2025-11-25"
        self.url = ""
        self._socket = None
        self._connected = trio.Event()

    async def serve(self, request):
        self._socket = socket = await request.accept(subprotocol="mcp")
        self.connections.append(messages := [])
        self._connected.set()
        try:
            while True:
                message = json.loads(await socket.get_message())
                messages.append(message)
                if "id" in message and "method" in message:
                    result = {"protocolVersion": self.revision} if message["method"] == "initialize" else {}
                    await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}))
        except ConnectionClosed:
            pass

    async def ask(self, id_, method):
        await self._socket.send_message(json.dumps({"jsonrpc": "2.0", "id": id_, "method": method}, indent=1))

    async def hang_up(self):
        """Closes the connection and returns once the bridge has reconnected."""
        self._connected = trio.Event()
        await self._socket.aclose()
        with trio.fail_after(PATIENCE):
            await self._connected.wait()


@asynccontextmanager
async def peer():
    """Yields a Peer that accepts connections."""
    server = Peer()
    async with trio.open_nursery() as nursery:
        listening = await nursery.start(partial(serve_websocket, server.serve, "127.0.0.1", 0, ssl_context=None))
        server.url = f"http://127.0.0.1:{listening.port}"
        yield server
        nursery.cancel_scope.cancel()


async def ask(client, tool="locate_symbol", **arguments):
    """Returns a tool's decoded answer."""
    answer = await client.call("tools/call", {"name": tool, "arguments": arguments or {"name": "Order"}})
    assert "result" in answer, answer
    return json.loads(answer["result"]["content"][0]["text"])


async def fault(client, **arguments):
    """Returns the error that answers a tool call."""
    answer = await client.call("tools/call", {"name": "locate_symbol", "arguments": {"name": "Order", **arguments}})
    assert "error" in answer, answer
    return answer["error"]


async def answered(client, **arguments):
    """Returns the first answer, retrying while the bridge reports a retryable error."""
    with trio.fail_after(PATIENCE):
        while True:
            answer = await client.call("tools/call", {"name": "locate_symbol", "arguments": {"name": "Order", **arguments}})
            if "result" in answer:
                return json.loads(answer["result"]["content"][0]["text"])
            assert answer["error"]["data"]["is_retryable"], answer


async def test_a_client_of_the_bridge_gets_what_a_client_of_the_server_gets_in_both_eras(shop):
    async with http_server(home=shop.home) as server, bridged(server.url, shop.home, cwd=shop.root) as client:
        opened = await client.initialize()
        answer = await ask(client)
        stateless = await client.call("tools/call", modern({"name": "locate_symbol", "arguments": {"name": "Order"}}))

    assert opened["result"]["serverInfo"]["name"] == "codecompass"
    assert opened["result"]["protocolVersion"] == "2025-11-25"
    assert answer["results"][0]["path"] == "src/shop/orders.py"
    again = json.loads(stateless["result"]["content"][0]["text"])
    # The metadata report the freshness of the index, which changes with time.
    assert {**again, "metadata": None} == {**answer, "metadata": None}
    assert stateless["result"]["resultType"] == "complete"


@pytest.mark.slow
async def test_several_bridges_share_one_server_and_each_stands_in_its_own_project(shop, tmp_path):
    other = TestWorkspace(tmp_path / "other", shop.home, git=True)
    other.write({"m.py": "class Order:\n    pass\n"})
    index([other])

    async with (
        http_server(home=shop.home) as server,
        bridged(server.url, shop.home, cwd=shop.root / "src") as one,
        bridged(server.url, shop.home, CODECOMPASS_PROJECT=str(other.root)) as two,
        bridged(server.url, shop.home, CLAUDE_PROJECT_DIR=str(other.root), roots=[shop.root]) as three,
        bridged(server.url, shop.home, "--workspace", other.root, roots=[shop.root]) as four,
    ):
        places = []
        for client in (one, two, three, four):
            await client.initialize()
            places.append((await ask(client))["metadata"]["workspace"])

    assert places == [str(root) for root in (shop.root, other.root, shop.root, other.root)]


async def test_a_project_that_does_not_exist_is_an_error_that_names_what_named_it(shop, tmp_path):
    missing = tmp_path / "missing"
    async with (
        http_server(home=shop.home) as server,
        bridged(server.url, shop.home, CODECOMPASS_PROJECT=str(missing), cwd=shop.root) as client,
    ):
        opened = await client.call("initialize", opening())

        assert opened["error"]["data"]["code"] == "project_not_found"
        assert opened["error"]["data"]["is_retryable"] is False
        assert f"Project path does not exist: {missing}" in opened["error"]["message"]
        assert "CODECOMPASS_PROJECT" in opened["error"]["message"]

        missing.mkdir()
        answer = await client.call("initialize", opening())

        assert "result" in answer


async def test_a_host_that_starts_before_its_server_keeps_it_and_is_answered_once_it_is_there(shop):
    """Hosts list the tools once, when they start, and do not list them again if the server had none."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    async with bridged(url, shop.home, cwd=shop.root) as client:
        await client.initialize()
        listed = await client.call("tools/list")
        refused = await client.call("tools/call", {"name": "index_status"})
        pinged = await client.call("ping")
        async with http_server(home=shop.home, port=port):
            answer = await answered(client)
            listed_by_the_server = await client.call("tools/list")

        assert client.process.process.returncode is None

    assert refused["error"]["code"] == SERVER_GONE
    assert refused["error"]["data"]["code"] == "server_unreachable"
    assert refused["error"]["data"]["is_retryable"] is True
    assert refused["error"]["data"]["retry_after_ms"] > 0
    assert f"codecompass serve-mcp --transport http --port {port}" in refused["error"]["message"]
    assert "connection refused" in refused["error"]["message"]
    assert pinged["result"] == {}
    assert answer["results"][0]["path"] == "src/shop/orders.py"
    described = [{**tool, "outputSchema": None} for tool in listed_by_the_server["result"]["tools"]]
    assert [{**tool, "outputSchema": None} for tool in listed["result"]["tools"]] == described
    assert not any("outputSchema" in tool for tool in listed["result"]["tools"]), "the answers may come as text alone"


async def test_a_modern_client_is_told_of_the_tools_before_its_server_is_there(shop):
    async with bridged(f"http://127.0.0.1:{free_port()}", shop.home) as client:
        discovered = await client.call("server/discover", modern())
        listed = await client.call("tools/list", modern())

    assert discovered["result"]["supportedVersions"]
    assert "search_code" in {tool["name"] for tool in listed["result"]["tools"]}


@pytest.mark.invariant("A bridge outlives its server, and reports the outcome of each request")
async def test_a_killed_server_costs_what_was_under_way_and_the_session_goes_on_with_the_next_one(shop):
    port = free_port()
    async with bridged(f"http://127.0.0.1:{port}", shop.home, roots=[shop.root]) as client:
        async with http_server(home=shop.home, port=port) as server:
            await client.initialize()
            await ask(client)
            server.process.send_signal(signal.SIGSTOP)  # stops answering
            waiting = await client.ask("tools/call", {"name": "index_status"})
            # The bridge itself answers what is no message: by then it has begun to send the request before it.
            await client.push(b"nonsense")
            await client.until("response")
            await server.kill()
            lost = await client.answer(waiting)
        async with http_server(home=shop.home, port=port):
            answer = await answered(client)

    assert lost["error"]["code"] == SERVER_GONE
    assert lost["error"]["data"]["code"] == "server_gone"
    assert lost["error"]["data"]["is_retryable"] is True
    assert "Call again" in lost["error"]["message"]
    # The new server has requested the roots again, so it knows as much about the session as the old one did.
    assert answer["metadata"]["workspace"] == str(shop.root)
    assert set(client.n_answers.values()) == {1}


@pytest.mark.slow
async def test_a_server_that_is_started_again_is_waited_for(shop):
    port = free_port()
    async with bridged(f"http://127.0.0.1:{port}", shop.home, cwd=shop.root) as client:
        async with http_server(home=shop.home, port=port):
            await client.initialize()
            await ask(client)
        waiting = await client.ask("tools/call", {"name": "locate_symbol", "arguments": {"name": "Order"}})
        async with http_server(home=shop.home, port=port):
            answer = await client.answer(waiting)
            if "error" in answer:  # the restart took longer than the bridge holds requests
                assert answer["error"]["data"]["is_retryable"]
                await answered(client)


async def test_a_new_connection_is_told_the_session_and_its_subscriptions_before_anything_else(shop):
    async with peer() as server, bridged(server.url, shop.home) as client:
        await client.initialize(sampling={})
        for uri in ("codecompass://jobs/a", "codecompass://jobs/b"):
            await client.call("resources/subscribe", {"uri": uri})
        await client.call("resources/unsubscribe", {"uri": "codecompass://jobs/a"})
        await server.hang_up()
        await client.call("tools/list")

    _, *told = server.connections
    assert [message["method"] for message in told[0]] == [
        "initialize",
        "notifications/initialized",
        "resources/subscribe",
        "tools/list",
    ]
    assert told[0][0]["params"] == opening(sampling={})
    assert told[0][2]["params"] == {"uri": "codecompass://jobs/b"}


async def test_a_server_of_another_revision_ends_the_session_in_words(shop):
    async with peer() as server, bridged(server.url, shop.home) as client:
        await client.initialize()
        server.revision = "2025-06-18"
        await server.hang_up()
        answer = await client.call("tools/list")

    assert answer["error"]["data"]["code"] == "server_changed"
    assert answer["error"]["data"]["is_retryable"] is False
    assert "2025-06-18" in answer["error"]["message"]


async def test_a_late_answer_to_an_old_server_never_reaches_the_new_one(shop):
    async with peer() as server, bridged(server.url, shop.home, roots=None) as client:
        await client.initialize(roots={})
        await server.ask("srv-1", "roots/list")
        old = await client.until("roots/list")
        await server.hang_up()
        await client.call("tools/list")
        await server.ask("srv-1", "roots/list")
        new = await client.until("roots/list")
        await client.send(id=old["id"], result={"roots": [{"uri": "file:///old"}]})
        await client.send(id=new["id"], result={"roots": [{"uri": "file:///new"}]})
        await client.call("tools/list")

    answers = [message for message in server.connections[-1] if "result" in message]
    assert answers == [{"jsonrpc": "2.0", "id": "srv-1", "result": {"roots": [{"uri": "file:///new"}]}}]


@pytest.mark.slow
async def test_progress_and_cancellation_go_through(shop):
    shop.write({f"src/n{n}.py": f"def f{n}():\n    return {n}\n" * 100 for n in range(200)})
    async with http_server(home=shop.home) as server, bridged(server.url, shop.home, cwd=shop.root) as client:
        await client.initialize()
        arguments = {"wait_seconds": 50, "force": True}
        meta = {"progressToken": "mine"}
        done = await client.call("tools/call", {"name": "index_repo", "arguments": arguments, "_meta": meta})
        progress = await client.until("notifications/progress")
        cancelled = await client.ask("tools/call", {"name": "index_repo", "arguments": arguments})
        await client.send(method="notifications/cancelled", params={"requestId": cancelled})
        await ask(client)

        assert "result" in done
        assert progress["params"]["progressToken"] == "mine"
        assert client.n_answers[cancelled] == 0


async def test_bytes_that_are_no_message_are_answered_as_the_server_answers_them(shop):
    frames = [b"nonsense", b"[]", b'{"jsonrpc":"2.0","id":7,"method":5}', b'{"jsonrpc":"1.0","id":8,"method":"ping"}', b'"\xff"']
    async with (
        http_server(home=shop.home) as server,
        bridged(server.url, shop.home) as client,
        started("serve-mcp", home=shop.home) as process,
        pipe_client(process) as direct,
    ):
        for each in (client, direct):
            for frame in [*frames, b"x" * (5 << 20)]:
                await each.push(frame)
            await each.call("ping")

        assert [message["error"] for message in client.heard] == [message["error"] for message in direct.heard]
        assert len(client.heard) == len(frames) + 1


async def test_an_id_that_is_in_flight_is_refused_and_the_first_request_is_answered(shop):
    async with http_server(home=shop.home) as server, bridged(server.url, shop.home, cwd=shop.root) as client:
        await client.initialize()
        call = {"jsonrpc": "2.0", "id": "same", "method": "tools/call", "params": {"name": "health_check"}}
        twice = json.dumps(call).encode()
        await client.push(twice + b"\n" + twice)
        await ask(client)

        kinds = sorted("error" if "error" in message else "result" for message in client.heard)
        assert kinds in (["error", "result"], ["result", "result"])  # two results if the first was already answered


async def test_it_ends_with_its_input_even_where_nothing_answers(shop):
    with trio.fail_after(PATIENCE):
        done = await trio.run_process(
            command("serve-mcp", "--connect", f"127.0.0.1:{free_port()}"),
            stdin=json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "health_check"}}).encode(),
            capture_stdout=True,
            capture_stderr=True,
            env=environment(shop.home),
        )

    (line,) = done.stdout.splitlines()
    assert json.loads(line)["error"]["code"] == SERVER_GONE


async def test_a_server_that_accepts_and_says_nothing_is_a_server_that_is_gone(shop):
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    try:
        async with bridged(f"http://127.0.0.1:{port}", shop.home) as client:
            answer = await client.call("tools/call", {"name": "health_check"})
    finally:
        await listeners[0].aclose()

    assert answer["error"]["code"] == SERVER_GONE
    assert "no CodeCompass server answers" in answer["error"]["message"]


async def test_what_is_no_codecompass_server_is_said_to_be_none(shop):
    async def answer_something(stream):
        await stream.receive_some(1 << 16)
        await stream.send_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\nno")
        await stream.aclose()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, answer_something, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        async with bridged(f"http://127.0.0.1:{port}", shop.home) as client:
            answer = await client.call("initialize", opening())
        nursery.cancel_scope.cancel()

    assert answer["error"]["data"]["code"] == "server_refused"
    assert "--connect" in answer["error"]["message"]


async def test_a_terminated_bridge_ends_in_order(shop):
    async with http_server(home=shop.home) as server, bridged(server.url, shop.home) as client:
        await client.initialize()
        code = await client.process.end()

    assert code == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--connect", "ftp://host"], "not the address of a server"),
        (["--connect", "http://host:port"], "not the address of a server"),
        (["--connect", "http://user:password@host"], "not the address of a server"),
        (["--connect", "host", "--port", "1"], "--port is for the server"),
        (["--connect", "host", "--allowed-root", "/"], "--allowed-root is for the server"),
        (["--connect", "host", "--max-auto-workspaces", "3"], "--max-auto-workspaces is for the server"),
        (["--connect", "host", "--workspace", "/", "--workspace", "/tmp"], "only one project"),
    ],
)
def test_options_that_make_no_sense_with_connect_are_refused(arguments, words, tmp_path):
    done = subprocess.run(
        command("serve-mcp", *arguments),
        env=environment(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 2
    assert words in done.stderr


def test_it_loads_neither_the_index_nor_a_parser():
    code = "import sys, codecompass.transport.bridge.relay, codecompass.cli.commands.serve_mcp; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert not {"tantivy", "tree_sitter", "sqlite3", "hypercorn", "structlog", "mcp"} & set(loaded)
