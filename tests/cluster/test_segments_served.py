"""A server over segments: its answers while the store is away or slow, with an empty cache, and after damage of its copies."""

import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from typing import TypeVar

import pytest
import trio
from msgspec.structs import replace

from codecompass.cluster.indexing.publishing import WORDS
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.serving import index_fetches
from codecompass.cluster.serving.generations import Generations
from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings
from tests.cluster.organisation import Organisation, files_of, organisation, serving_library
from tests.support.waiting import until
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

T = TypeVar("T")

NAMES = ("alpha", "beta", "shared", "public", "gamma")
ASKED = (
    ("search_code", {"query": "common_helper(value)", "mode": "literal", "workspace": "*", "limit": 20}),
    ("search_code", {"query": r"def turn_\w+\(", "mode": "regex", "workspace": "*", "limit": 20}),
    ("search_code", {"query": "README.md", "mode": "files", "workspace": "*", "limit": 20}),
    ("search_code", {"query": "shared words about wheels and engines", "workspace": "*"}),
    ("locate_symbol", {"name": "turn_beta", "workspace": "*"}),
    ("find_references", {"symbol_name": "common_helper", "workspace": "gamma"}),
)


@pytest.fixture
def house(engine_cluster, kept, tmp_path) -> Iterator[Organisation]:
    """An organisation without repositories, with a store of each kind."""
    with organisation(engine_cluster.urls, tmp_path / "house", kept.settings) as made:
        yield made


async def filled(house: Organisation) -> dict[str, str]:
    for name in NAMES:
        await house.publish(name, files_of(name), groups=["red"])
    return {"authorization": f"Bearer {house.tokens.add('anna', ['red'])}"}


async def said(served, headers, tool, **arguments):
    answer = await ask(served.port, "POST", "/", call(tool, arguments), **headers)
    assert answer.status == 200, answer.body
    return answer.said()


async def in_time(ask: Callable[[int], Awaitable[T]], is_enough: Callable[[T], bool]) -> T:
    """Returns the first answer with what can be answered, of `ask(timeout_ms)` with timeouts that grow: while a part hangs, each
    is waited for to its end, and a short one may not be enough for the rest on a busy machine."""
    for timeout_ms in (1_000, 5_000):
        if is_enough(answer := await ask(timeout_ms)):
            return answer
    return await ask(25_000)


def without_state(answer: dict) -> dict:
    return {key: value for key, value in answer.items() if key not in ("metadata", "call_id")}


async def test_a_new_server_under_load_fetches_each_file_once_and_answers_everybody(house, tmp_path, monkeypatch):
    headers = await filled(house)
    reads: Counter[str] = Counter()
    lock = threading.Lock()
    blocks = type(house.store).blocks

    def counted(self, key):
        with lock:
            reads[key] += 1
        return blocks(self, key)

    monkeypatch.setattr(type(house.store), "blocks", counted)
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


async def test_while_the_store_is_away_what_is_here_is_answered_and_the_rest_names_the_store(house, kept, tmp_path):
    headers = await filled(house)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        before = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
        kept.go_away()

        here = await said(served, headers, "locate_symbol", name="turn_alpha", workspace="alpha")
        away = await said(served, headers, "locate_symbol", name="turn_beta", workspace="beta")
        some = await said(served, headers, "search_code", query="common_helper(value)", mode="literal", workspace="*")

        kept.come_back()
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
    blocks = type(house.store).blocks
    monkeypatch.setattr("codecompass.cluster.serving.answers.GRACE_SECONDS", 0.0)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="alpha")

        def hanging(self, key):
            assert is_released.wait(300)
            return blocks(self, key)

        monkeypatch.setattr(type(house.store), "blocks", hanging)
        try:
            for name in ("beta", "shared", "public", "gamma", "beta"):
                answer = await said(served, headers, "search_code", query="turn", mode="literal", workspace=name, timeout_ms=100)
                assert answer["error"]["code"] == "engine_unavailable"
                assert "store of segments" in answer["error"]["message"]
            here = await said(served, headers, "search_code", query="turn_alpha", mode="literal", workspace="alpha")
            assert here["results"]
            # Those that are waited for come first by name, and are more than are read at a time.
            for name in ("*", "beta,gamma,public,alpha"):

                async def ask_several(timeout_ms, name=name):
                    asked = {"query": "turn", "mode": "literal", "workspace": name}
                    return await said(served, headers, "search_code", **asked, timeout_ms=timeout_ms)

                some = await in_time(ask_several, lambda answer: bool(answer["results"]))
                assert {each["project"] for each in some["results"]} == {"alpha"}
        finally:
            is_released.set()
        again = await said(served, headers, "search_code", query="turn_beta", mode="literal", workspace="beta")
    assert again["results"]
    assert index_fetches.AT_ONCE < 5, "more questions hang than fetches are possible at a time"


@pytest.mark.parametrize("is_text", [False, True])
@pytest.mark.parametrize("has_summaries", [False, True])
async def test_an_answer_that_lacks_repositories_says_which_and_the_next_one_has_them(
    house, tmp_path, monkeypatch, has_summaries, is_text
):
    """A server with an empty cache and a slow store found nothing in time, and began with "nothing found"."""
    headers = await filled(house)
    is_released = threading.Event()
    blocks = type(house.store).blocks
    ids = {repository.repo_id: name for name, repository in house.published.items()}
    words = {key for name in NAMES for key in words_keys(house, name)}

    def slow(self, key):
        if ids[key.split("/")[0]] == "beta" and not (has_summaries and key in words):
            assert is_released.wait(300)
        return blocks(self, key)

    monkeypatch.setattr(type(house.store), "blocks", slow)
    settings = house.settings()
    if is_text:
        settings = replace(settings, server=replace(settings.server, answers="text"))
    questions = [
        {"query": "turn_beta", "mode": "literal"},
        {"query": "betasecre", "mode": "literal"},
        {"query": r"\bturn_be\w*\(", "mode": "regex"},
    ]
    try:
        async with serving_library(settings, tmp_path / "cache") as served:

            async def ask_all(timeout_ms, question):
                return await shown(served, headers, "search_code", workspace="*", timeout_ms=timeout_ms, **question)

            first = [await in_time(partial(ask_all, question=each), lambda answer: "1 of 5" in answer) for each in questions]
            is_released.set()
            await until(lambda: not served.server.libraries.fetches.n_wanted, "the index of beta")
            later = [await ask_all(25_000, each) for each in questions]
    finally:
        is_released.set()

    for answer in first:
        assert "not known: 1 of 5 projects were not searched" in answer
        assert "no answer from beta: this server is still fetching its index; ask again in a moment" in answer
        assert "nothing found" not in answer
        assert is_text or '"result_completeness":"partial"' in answer
    for answer in later:
        assert "src/beta_engine.py" in answer
        assert "no answer from" not in answer
        assert is_text or '"result_completeness":"complete"' in answer


def words_keys(house, name) -> list[str]:
    """Returns the keys of the summaries of a repository."""
    generation = house.published[name].default_head.generation
    manifest = ManifestReader(house.engine).manifest(generation)
    return [file.key for file in manifest.segments if file.name == WORDS]


async def shown(served, headers, tool, **arguments) -> str:
    """Returns an answer as a model reads it."""
    answer = await ask(served.port, "POST", "/", call(tool, arguments), **headers)
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["result"]["content"][0]["text"]


async def test_a_question_is_put_to_the_repositories_that_can_have_an_answer_alone(house, tmp_path, monkeypatch):
    headers = await filled(house)
    read: list[str] = []
    fetch = Generations.fetch
    monkeypatch.setattr(Generations, "fetch", lambda self, generation: (read.append(generation), fetch(self, generation))[1])
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        for query, mode, found in (
            ("urn_bet", "literal", ["beta"]),
            (r"\bgammasec\w*\b", "regex", ["gamma"]),
            ("nobody has thi", "literal", []),
            ("obodyHasThi", "literal", []),
        ):
            answer = await said(served, headers, "search_code", query=query, mode=mode, workspace="*")
            assert sorted({hit["project"] for hit in answer["results"]}) == found, query
            assert answer["metadata"]["result_completeness"] == "complete"
            assert "notice" not in answer

    assert sorted(read) == sorted(house.published[name].default_head.generation for name in ("beta", "gamma"))


async def test_a_generation_that_cannot_be_read_costs_its_own_part_of_an_answer(house, tmp_path):
    """One repository that another version has indexed made every question to all fail."""
    headers = await filled(house)
    generation = house.published["beta"].default_head.generation
    house.engine.delete(house.engine.names.manifests, generation)
    async with serving_library(house.settings(), tmp_path / "cache") as served:
        answer = await said(served, headers, "search_code", query="common_helper(value)", mode="literal", workspace="*")

    assert {hit["project"] for hit in answer["results"]} == {"alpha", "shared", "public", "gamma"}
    assert answer["metadata"]["result_completeness"] == "partial"
    assert any("no answer from beta" in warning for warning in answer["metadata"]["warnings"])


async def test_a_server_that_starts_again_fetches_no_summary_that_it_has_on_disk(house, tmp_path, monkeypatch):
    headers = await filled(house)
    reads: Counter[str] = Counter()
    blocks = type(house.store).blocks
    monkeypatch.setattr(type(house.store), "blocks", lambda self, key: (reads.update([key]), blocks(self, key))[1])
    counts = []
    for _ in range(2):
        async with serving_library(house.settings(), tmp_path / "cache") as served:
            answer = await said(served, headers, "search_code", query="nobody has this", mode="literal", workspace="*")
            assert answer["metadata"]["result_completeness"] == "complete"
        counts.append(reads.total())

    assert counts == [len(NAMES), len(NAMES)]


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
