"""A server over segments: its answers while the store is away or slow, with an empty cache, and after damage of its copies."""

import json
import threading
from collections import Counter

import pytest
import trio
from msgspec.structs import replace

from codecompass.cluster import library
from codecompass.cluster.segment_store import DirectoryStore
from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings
from tests.cluster.organisation import Organisation, files_of, serving_library
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

NAMES = ("alpha", "beta", "shared", "public", "gamma")
ASKED = (
    ("search_code", {"query": "common_helper(value)", "mode": "literal", "workspace": "*", "limit": 20}),
    ("search_code", {"query": r"def turn_\w+\(", "mode": "regex", "workspace": "*", "limit": 20}),
    ("search_code", {"query": "README.md", "mode": "files", "workspace": "*", "limit": 20}),
    ("search_code", {"query": "shared words about wheels and engines", "workspace": "*"}),
    ("locate_symbol", {"name": "turn_beta", "workspace": "*"}),
    ("find_references", {"symbol_name": "common_helper", "workspace": "gamma"}),
)


async def filled(house: Organisation) -> dict[str, str]:
    for name in NAMES:
        await house.publish(name, files_of(name), groups=["red"])
    return {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}


async def said(served, headers, tool, **arguments):
    answer = await ask(served.port, "POST", "/", call(tool, arguments), **headers)
    assert answer.status == 200, answer.body
    return answer.said()


def without_state(answer: dict) -> dict:
    return {key: value for key, value in answer.items() if key not in ("metadata", "call_id")}


async def test_a_new_server_under_load_fetches_each_file_once_and_answers_everybody(house, tmp_path, monkeypatch):
    headers = await filled(house)
    reads: Counter[str] = Counter()
    lock = threading.Lock()
    blocks = DirectoryStore.blocks

    def counted(self, key):
        with lock:
            reads[key] += 1
        return blocks(self, key)

    monkeypatch.setattr(DirectoryStore, "blocks", counted)
    answers: list[tuple[int, dict]] = []
    async with serving_library(house.settings(), tmp_path / "cache") as served, trio.open_nursery() as nursery:

        async def client() -> None:
            for number, (tool, arguments) in enumerate(ASKED):
                answers.append((number, without_state(await said(served, headers, tool, **arguments))))

        for _ in range(6):
            nursery.start_soon(client)

    assert set(reads.values()) == {1}
    for number in range(len(ASKED)):
        mine = [json.dumps(answer, sort_keys=True) for at, answer in answers if at == number]
        assert len(mine) == 6
        assert len(set(mine)) == 1, ASKED[number]


async def test_while_the_store_is_away_what_is_here_is_answered_and_the_rest_names_the_store(house, tmp_path):
    headers = await filled(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        before = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
        house.segments.rename(tmp_path / "unmounted")

        here = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
        away = await said(served, headers, "locate_symbol", name="turn_beta", workspace="beta")
        some = await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="*")

        (tmp_path / "unmounted").rename(house.segments)
        again = await said(served, headers, "locate_symbol", name="turn_beta", workspace="beta")

    assert without_state(here) == without_state(before)
    assert away["error"]["code"] == "engine_unavailable"
    assert "the store of segments" in away["error"]["message"]
    assert {each["project"] for each in some["results"]} == {"alpha"}
    assert some["metadata"]["result_completeness"] == "partial"
    assert again["results"][0]["name"] == "turn_beta"


async def test_a_store_that_hangs_costs_the_questions_that_need_it_and_not_those_about_what_is_here(house, tmp_path, monkeypatch):
    headers = await filled(house)
    is_released = threading.Event()
    blocks = DirectoryStore.blocks
    monkeypatch.setattr("codecompass.cluster.answers.GRACE_SECONDS", 0.0)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="alpha")

        def hanging(self, key):
            assert is_released.wait(60)
            return blocks(self, key)

        monkeypatch.setattr(DirectoryStore, "blocks", hanging)
        try:
            for name in ("beta", "shared", "public", "gamma", "beta"):
                answer = await said(served, headers, "search_code", query="turn", mode="literal", workspace=name, timeout_ms=100)
                assert answer["error"]["code"] == "engine_unavailable"
                assert "store of segments" in answer["error"]["message"]
            here = await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="alpha")
            assert here["results"]
        finally:
            is_released.set()
        again = await said(served, headers, "search_code", query="turn_beta", mode="literal", workspace="beta", timeout_ms=30_000)
    assert again["results"]
    assert library.FETCHES < 5, "more questions hang than fetches are possible at a time"


async def test_a_copy_that_is_damaged_on_the_servers_disk_is_fetched_again_for_the_same_question(house, tmp_path):
    headers = await filled(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        await said(served, headers, "index_status", workspace="beta")
        generation = house.published["alpha"].default_head.generation
        copies = tmp_path / "cache" / generation
        served.server.libraries._generations.fetch(generation)
        for path in (copies / "text").glob("*.term"):
            path.write_bytes(b"\0" * path.stat().st_size)

        answer = await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="alpha")

    assert answer["results"][0]["name"] == "turn_alpha"


async def test_a_server_that_is_not_told_where_the_store_is_does_not_start_and_says_what_to_set(house, tmp_path):
    settings = house.settings()
    plain = replace(settings, cluster=ClusterSettings(url=house.urls, prefix=house.prefix))

    with pytest.raises(InvalidInput, match=r"cluster\.segments"):
        async with serving_library(plain, tmp_path / "cache"):
            pass
