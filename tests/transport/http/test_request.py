"""Request bodies: size, slow arrival, compression; and refusals that reach a client that is still sending."""

import pytest

from codecompass.transport.http.limits import HttpLimits
from tests.transport.http.client import JSON, Conversation, call, connect
from tests.transport.http.serving import serving

SMALL = HttpLimits(body_bytes=1000, body=0.2, linger=0.2, stop=1)

TOO_LARGE = call("echo", {"text": "x" * 2000})


async def begin(client: Conversation, path: str, *headers: str) -> None:
    """Sends the head of a request without its body."""
    lines = [f"POST {path} HTTP/1.1", "host: localhost", "content-type: application/json", *headers, "", ""]
    await client.stream.send_all("\r\n".join(lines).encode())


@pytest.mark.parametrize("path", ["/", "/mcp", "/mcp?sessionId=x"])
async def test_a_body_over_the_limit_is_refused_by_its_announced_length(path, core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        answer = await client.request("POST", path, TOO_LARGE, **JSON)

    assert answer.status == 413
    assert "larger than 1000 bytes" in answer.json()["error"]["message"]


@pytest.mark.parametrize("path", ["/", "/mcp"])
async def test_a_body_over_the_limit_is_refused_without_an_announced_length(path, core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        answer = await client.request("POST", path, TOO_LARGE, content_length=None, transfer_encoding="chunked", **JSON)

    assert answer.status == 413


async def test_a_body_of_exactly_the_limit_is_taken(core):
    body = call("echo").ljust(1000)
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        assert (await client.request("POST", "/", body)).status == 200
        assert (await client.request("POST", "/", body + b" ")).status == 413


async def test_a_chunked_body_is_put_together(core):
    async with serving(core) as server, connect(server.port) as client:
        await begin(client, "/", "transfer-encoding: chunked")
        for byte in call("echo", {"text": "x"}):
            await client.stream.send_all(b"1\r\n" + bytes([byte]) + b"\r\n")
        await client.stream.send_all(b"0\r\n\r\n")
        await client.stream.send_eof()
        data = await client.wait_closed()

    assert data.startswith(b"HTTP/1.1 200")
    assert b'"result":' in data


async def test_a_connection_can_be_used_again_after_a_refusal(core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        assert (await client.request("POST", "/nope", b"x" * 900)).status == 404
        assert (await client.request("POST", "/", b"x" * 900, content_type="text/plain")).status == 415
        assert (await client.request("POST", "/", call("echo"))).status == 200
        assert server.transport.load().connections_accepted == 1


async def test_a_client_that_sends_far_too_much_is_told_and_cut_off(core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        await begin(client, "/", "content-length: 100000000")
        assert (await client.wait_closed()).startswith(b"HTTP/1.1 413")
        await server.wait_load(connections=0)


@pytest.mark.parametrize("path", ["/", "/mcp"])
async def test_a_body_that_comes_too_slowly_is_given_up(path, core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        await begin(client, path, "content-length: 100")
        await client.stream.send_all(b'{"jsonrpc"')

        assert (await client.wait_closed()).startswith(b"HTTP/1.1 408")
        await server.wait_load(connections=0, requests=0)


async def test_a_client_that_leaves_in_the_middle_of_its_body_costs_nothing(core):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await begin(client, "/", "content-length: 100")
            await server.wait_load(requests=1)
        await server.wait_load(requests=0, connections=0)

    assert server.measures.responses == {}


@pytest.mark.parametrize("coding", ["gzip", "br", "deflate, gzip"])
async def test_a_compressed_body_is_refused(coding, core):
    async with serving(core) as server, connect(server.port) as client:
        answer = await client.request("POST", "/", call("echo"), content_encoding=coding, **JSON)

    assert answer.status == 415
    assert "Content-Encoding" in answer.json()["error"]["message"]


async def test_a_client_may_ask_before_it_sends_its_body(core):
    """curl does so with large bodies (`Expect: 100-continue`)."""
    body = call("echo", {"text": "x"})
    async with serving(core) as server, connect(server.port) as client:
        await begin(client, "/", f"content-length: {len(body)}", "expect: 100-continue")
        assert (await client.stream.receive_some(1000)).startswith(b"HTTP/1.1 100")
        await client.stream.send_all(body)
        assert (await client.stream.receive_some(10_000)).startswith(b"HTTP/1.1 200")


async def test_a_body_that_nobody_asked_for_holds_nothing_up(core):
    async with serving(core, limits=SMALL) as server, connect(server.port) as client:
        await client.stream.send_all(
            b"GET /mcp HTTP/1.1\r\nhost: localhost\r\nmcp-protocol-version: x\r\ncontent-length: 50\r\n\r\n"
        )
        assert (await client.wait_closed()).startswith(b"HTTP/1.1 405")
        await server.wait_load(connections=0)
