"""A client of many connections asks each server in turn, and counts what it is answered."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec
import pytest

from bench.serving import BenchServer, QuestionFailed, ask_at_once

CALLS = [("search_code", {"query": str(number)}) for number in range(4)]


class _Answering(BaseHTTPRequestHandler):
    """Answers each question with itself, after the header in a segment of its own; `query: refuse` with status 503."""

    protocol_version = "HTTP/1.1"
    asked: list[tuple[int, str]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        query = msgspec.json.decode(body)["params"]["arguments"]["query"]
        self.asked.append((self.server.server_address[1], query))
        answer = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": query}]}})
        self.send_response(503 if query == "refuse" else 200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.flush()
        self.wfile.write(answer)

    def log_message(self, *_arguments: object) -> None:
        """Writes nothing."""


@pytest.fixture
def servers(tmp_path):
    """Two servers, and what they were asked: port and query."""
    asked: list[tuple[int, str]] = []
    handler = type("Handler", (_Answering,), {"asked": asked})
    made = [ThreadingHTTPServer(("127.0.0.1", 0), handler) for _ in range(2)]
    threads = [threading.Thread(target=each.serve_forever) for each in made]
    for thread in threads:
        thread.start()
    found = [BenchServer("test", 0, each.server_address[1], tmp_path) for each in made]
    yield found, asked
    for server in found:
        server.close()
    for each, thread in zip(made, threads, strict=True):
        each.shutdown()
        each.server_close()
        thread.join()


def test_connections_are_dealt_to_the_servers_in_turn(servers):
    found, asked = servers

    load = ask_at_once(found, CALLS, 4, 2.0)

    assert load.n_errors == 0
    assert len(load.waits) >= 4
    assert {port for port, _ in asked} == {server.port for server in found}
    assert {query for _, query in asked} == {"0", "1", "2", "3"}


def test_an_answer_that_is_refused_counts_as_an_error(servers):
    found, _ = servers

    load = ask_at_once(found[:1], [("search_code", {"query": "refuse"})], 1, 1.0)

    assert load.n_errors == len(load.waits) > 0
    with pytest.raises(QuestionFailed):
        found[0].ask(("search_code", {"query": "refuse"}))
