"""How the engine's refusals are interpreted: real messages of a node with shards that are not ready (OpenSearch 2.19)."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from codecompass.cluster.engine import Engine, EngineRefused, EngineUnavailable

RECOVERING = {
    "type": "illegal_index_shard_state_exception",
    "reason": "CurrentState[RECOVERING] operations only allowed when shard state is one of [POST_RECOVERY, STARTED]",
}
TERM_VECTORS = {"type": "exception", "reason": "failed to execute term vector request", "caused_by": RECOVERING}


class Node:
    """Answers every request with the same status and body."""

    def __init__(self) -> None:
        self.status = 200
        self.body: object = {}
        node = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                said = json.dumps(node.body).encode()
                self.send_response(node.status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, *_: object) -> None:
                """Logs nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def says(self, status: int, body: object) -> None:
        self.status, self.body = status, body

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def node() -> Iterator[Node]:
    made = Node()
    yield made
    made.stop()


@pytest.fixture
def engine(node) -> Iterator[Engine]:
    made = Engine([node.url], patience=0)
    yield made
    made.close()


def test_statistics_of_a_shard_that_recovers_are_to_be_asked_for_again(node, engine):
    node.says(500, {"error": {"root_cause": [RECOVERING], **TERM_VECTORS}, "status": 500})

    with pytest.raises(EngineUnavailable, match="RECOVERING"):
        engine.term_statistics("i", {}, routing="r")


def test_a_document_of_a_shard_that_recovers_is_not_a_missing_one(node, engine):
    node.says(404, {"error": {"root_cause": [RECOVERING], **RECOVERING}, "status": 404})

    with pytest.raises(EngineUnavailable):
        engine.get("i", "a")
    with pytest.raises(EngineUnavailable):
        engine.delete("i", "a")


def test_a_document_that_is_not_there_is_missing(node, engine):
    node.says(404, {"_index": "i", "_id": "a", "found": False})

    assert engine.get("i", "a") is None


@pytest.mark.parametrize("kind", ["shard_not_found_exception", "index_not_found_exception"])
def test_a_write_to_what_is_not_there_is_not_taken_for_a_deletion_that_came_late(node, engine, kind):
    item = {"_id": "a", "status": 404, "error": {"type": kind, "reason": "no such shard"}}
    node.says(200, {"errors": True, "items": [{"index": item}]})

    with pytest.raises(EngineUnavailable):
        engine.write("i", [b"{}\n{}\n"])


def test_a_deletion_of_what_is_gone_is_done(node, engine):
    item = {"_id": "a", "status": 404, "result": "not_found"}
    node.says(200, {"errors": True, "items": [{"delete": item}]})

    engine.write("i", [b"{}\n"])


def test_what_will_never_be_done_is_refused(node, engine):
    node.says(400, {"error": {"type": "parsing_exception", "reason": "unknown query"}, "status": 400})

    with pytest.raises(EngineRefused, match="unknown query"):
        engine.search("i", {})
