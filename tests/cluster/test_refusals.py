"""How the engine's refusals are interpreted: real messages of a node with shards that are not ready (OpenSearch 2.19)."""

from collections.abc import Iterator

import pytest

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineRefused, EngineUnavailable
from tests.cluster.strange_node import Node

RECOVERING = {
    "type": "illegal_index_shard_state_exception",
    "reason": "CurrentState[RECOVERING] operations only allowed when shard state is one of [POST_RECOVERY, STARTED]",
}


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


@pytest.mark.parametrize(
    ("status", "kind", "error", "advice"),
    [
        (401, "security_exception", EngineRefused, "cluster.password_file"),
        (403, "security_exception", EngineRefused, "cluster.user the right"),
        (403, "cluster_block_exception", EngineUnavailable, "makes room"),
        (429, "circuit_breaking_exception", EngineUnavailable, "is busy"),
    ],
)
def test_each_refusal_says_what_helps(node, engine, status, kind, error, advice):
    node.says(status, {"error": {"type": kind, "reason": "no"}, "status": status})

    with pytest.raises(error, match=advice):
        engine.search("i", {})
