"""Bulk writing of documents, with a real engine."""

import base64
import secrets
from collections.abc import Iterator

import msgspec
import pytest

from codecompass.cluster.documents import AT_ONCE, BULK_BYTES, write_documents
from codecompass.cluster.engine import Engine, EngineRefused, EngineUnavailable

pytestmark = pytest.mark.cluster

LARGE = base64.b64encode(secrets.token_bytes(BULK_BYTES // 2)).decode()
"""Two of these exceed the size of one request."""


class Stopped(Exception):
    """Raised by a checkpoint if the work is cancelled."""


@pytest.fixture
def engine(engine_cluster) -> Iterator[Engine]:
    made = Engine(engine_cluster.urls, prefix=f"t{secrets.token_hex(6)}", patience=30)
    made.prepare()
    yield made
    engine_cluster.request("DELETE", f"/{made.names.all}")
    made.close()


def action(number: int, **fields: object) -> bytes:
    lines = ({"index": {"_id": str(number)}}, {"repo_id": "r", "data": "AAAA", **fields})
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def written(engine: Engine) -> set[str]:
    engine.refresh(engine.names.blocks)
    return {hit["_id"] for hit in engine.all_hits(engine.names.blocks, {"match_all": {}})}


def test_what_is_prepared_has_its_copies_at_once(engine, engine_cluster):
    status, shards = engine_cluster.request("GET", f"/_cat/shards/{engine.names.all}?format=json&local=true")

    assert status == 200
    assert {shard["prirep"] for shard in shards} == {"p", "r"}
    assert {shard["state"] for shard in shards} == {"STARTED"}


def test_documents_of_more_requests_than_are_on_their_way_are_all_written(engine):
    n = 2 * (AT_ONCE + 2)

    assert write_documents(engine, engine.names.blocks, (action(number, data=LARGE) for number in range(n))) == n

    assert written(engine) == {str(number) for number in range(n)}


def test_nothing_to_write_is_no_request(engine):
    engine.close()

    assert write_documents(engine, engine.names.blocks, ()) == 0


def test_a_checkpoint_that_raises_ends_the_writing(engine):
    made = []

    def actions() -> Iterator[bytes]:
        for number in range(1000):
            made.append(number)
            yield action(number, data=LARGE)

    def checkpoint() -> None:
        if len(made) > 4:
            raise Stopped

    with pytest.raises(Stopped):
        write_documents(engine, engine.names.blocks, actions(), checkpoint=checkpoint)

    assert len(made) < 20
    assert write_documents(engine, engine.names.blocks, [action(0)]) == 1


def test_a_document_that_the_engine_will_never_take_is_said(engine):
    with pytest.raises(EngineRefused, match="strict"):
        write_documents(engine, engine.names.blocks, [action(1), action(2, unknown="x")])


def test_a_writer_that_gives_up_does_not_wait_for_an_engine_that_is_away(engine):
    away = Engine(["http://127.0.0.1:9"], prefix=engine.names.prefix, patience=3600)
    looks = []

    def checkpoint() -> None:
        looks.append(1)
        if len(looks) > 2:
            raise Stopped

    with pytest.raises(Stopped):
        write_documents(away, away.names.blocks, [action(1)], checkpoint=checkpoint)
    away.close()


def test_an_engine_that_stays_away_is_said_when_patience_is_over():
    away = Engine(["http://127.0.0.1:9"], patience=0)

    with pytest.raises(EngineUnavailable):
        write_documents(away, away.names.blocks, [action(1)])
    away.close()
