"""How much a question asks of the engine: few requests, nothing about words that a repository lacks, and enough to notice that a
copy is behind."""

import secrets
from collections.abc import Iterator, Sequence

import msgspec
import pytest

from codecompass.cluster.access import Viewer
from codecompass.cluster.engine_text import COPIES_ASKED
from codecompass.cluster.generations import Generations
from codecompass.cluster.library import Libraries
from codecompass.cluster.publishing import publish
from codecompass.cluster.repositories import Repositories
from codecompass.cluster.repository_samples import Across
from codecompass.cluster.scoring import EngineRarities
from codecompass.errors import IndexNotReady
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import SearchCode
from codecompass.query.options import QueryOptions
from codecompass.query.search import search_code
from codecompass.store.snapshot import MAX_LINE, Snapshot, WeighedSearch
from codecompass.store.text_queries import FieldBoost, Filter, WordQuery
from tests.cluster.organisation import files_of, organisation
from tests.cluster.recording import RecordingEngine
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.cluster

REPO = "0123456789abcdef"
BODY = (FieldBoost("body", 1.0),)

MOST_REQUESTS = 5
"""For a question in words: the searches, the texts of possible messages and of definitions, the lines of the page, and one more
where these continue in another chunk."""

MOST_OF_SEVERAL = 2
"""For each of several repositories: the searches, with the texts of the best chunks, and the other lines of the page."""


@pytest.fixture
def engine(engine_cluster) -> Iterator[RecordingEngine]:
    client = RecordingEngine(engine_cluster.urls, prefix=f"t{secrets.token_hex(5)}", patience=120.0)
    client.prepare()
    yield client
    client.close()


@pytest.fixture
async def generation(engine, tmp_path) -> str:
    """A repository whose definitions are longer than a chunk."""
    workspace = TestWorkspace(tmp_path / "tree", tmp_path / "home")
    body = "\n".join(f"    step_{line} = wheel.turn_slowly({line})  # keeps the engine warm" for line in range(90))
    workspace.write({f"pkg/part_{n}.py": f"def start_engine_{n}(wheel):\n{body}\n    return step_1\n" for n in range(12)})
    await workspace.sync()
    cache = Generations(engine, tmp_path / "publishing")
    made = publish(
        engine,
        cache.cache,
        repo_id=REPO,
        generation=secrets.token_hex(8),
        previous=None,
        layout=workspace.layout,
        project_id=workspace.project_id,
    )
    cache.close()
    return made.manifest.generation


def places(snapshot: Snapshot, query: str, **options: object) -> Sequence[tuple[str, int]]:
    state = AnswerState(workspace="/w", project_id=snapshot.project_id, ref="")
    reply = search_code(snapshot, SearchCode(query=query), state, QueryOptions(answers="text", **options))
    return [(each.path, each.line_start) for each in reply.results]


@pytest.mark.invariant(
    "A question in words takes at most five requests of the engine one after the other, none about words that the "
    "repository lacks"
)
@pytest.mark.parametrize(("n_merged", "most"), [(0, MOST_REQUESTS), (1, MOST_OF_SEVERAL), (4, MOST_OF_SEVERAL)])
async def test_a_question_in_words_takes_few_requests(engine, generation, generations, n_merged, most):
    with generations.snapshot(generation, is_exact=not n_merged) as snapshot:
        engine.requests.clear()

        found = places(snapshot, "where is the engine started that turns a wheel slowly", n_merged=n_merged)

    assert found
    assert 1 <= len(engine.sent("_msearch")) <= most


async def test_scores_of_the_engine_find_the_same_places(engine, generation, generations):
    question = "start_engine_7 wheel"
    with generations.snapshot(generation) as exact, generations.snapshot(generation, is_exact=False) as other:
        assert places(exact, question)[0] == places(other, question)[0] == ("pkg/part_7.py", 1)


@pytest.mark.invariant(of="test_a_question_in_words_takes_few_requests")
async def test_words_that_a_repository_lacks_are_not_sent(engine, generation, generations):
    known, unknown = WordQuery("wheel", BODY), WordQuery("zeppelin", BODY)
    with generations.snapshot(generation) as snapshot:
        engine.requests.clear()

        both = snapshot.text.search_chunks([known, unknown], 5)

        assert not any(b"zeppelin" in msgspec.json.encode(body) for body in engine.sent("_termvectors"))
        assert both == snapshot.text.search_chunks([known], 5) != []
        assert not any(b"zeppelin" in body for body in engine.sent("_msearch"))
        engine.requests.clear()
        assert snapshot.text.search_chunks([unknown], 5) == []
        # Of a required word and another one both have to be there.
        required = msgspec.structs.replace(unknown, is_required=True)
        assert snapshot.text.search_chunks([known, required], 5) == []
        assert snapshot.text.search_chunks([msgspec.structs.replace(known, is_required=True), unknown], 5) == []
        assert not engine.requests, "nothing is asked for"


async def test_a_word_is_looked_up_once_in_each_shard(engine, generation, generations):
    rarities = EngineRarities(engine)
    words = [WordQuery("wheel", BODY), WordQuery("engine", BODY)]
    others = [f"{number:016x}" for number in range(60)]
    shard = engine.shard(engine.names.text, REPO)
    same = [each for each in others if engine.shard(engine.names.text, each) == shard]
    assert 0 < len(same) < len(others), "the numbers are spread"
    engine.requests.clear()

    rarities.of(same[0], ["body"], words[:1])
    first = rarities.of(REPO, ["body"], words[:1])
    second = rarities.of(same[0], ["body"], words)

    assert second["body", "wheel"] == first["body", "wheel"]
    # What was read before the first question about a repository may be from before the repository was there.
    assert [body["doc"] for body in engine.sent("_termvectors")] == [{"body": "wheel"}, {"body": "wheel"}, {"body": "engine"}]


@pytest.mark.invariant(of="test_a_copy_without_the_newest_piece_is_not_believed")
async def test_a_copy_without_all_texts_is_replaced_by_another_one(engine, generation, generations):
    with generations.snapshot(generation) as snapshot:
        hits = snapshot.text.search_chunks([WordQuery("wheel", BODY)], 3)
    with generations.snapshot(generation) as snapshot:
        engine.is_behind = 2
        snapshot.text.expect_texts(hits)
        assert engine.is_behind == 0
        assert all("wheel" in snapshot.text.chunk_text(hit) for hit in hits)
    with generations.snapshot(generation) as snapshot:
        engine.is_behind = 1 + COPIES_ASKED
        with pytest.raises(IndexNotReady):
            snapshot.text.expect_texts(hits)


async def test_announced_lines_are_read_in_one_request(engine, generation, generations):
    with generations.snapshot(generation) as snapshot:
        files = [number for number, _ in snapshot.facts.paths()][:4]
        expected = [snapshot.text.file_chunks(each, 40, 70) for each in files]
    with generations.snapshot(generation) as snapshot:
        engine.requests.clear()

        snapshot.text.expect_lines((each, 40, 70) for each in files)

        assert [snapshot.text.file_chunks(each, 40, 70) for each in files] == expected
        assert all(expected)
        assert len(engine.sent("_msearch")) == 1
        assert snapshot.text.file_chunks(files[0], 1, MAX_LINE)[0].line_start == 1


async def test_hits_below_the_least_worth_are_not_sent(engine, generation, generations):
    with generations.snapshot(generation) as snapshot:
        engine.requests.clear()
        worth = {"wheel": 1.0, "return": 2.0}
        found = snapshot.text.weighed_chunks(WeighedSearch(worth, 50, 3.0, Filter()))

        assert b'"min_score":2.9' in engine.sent("_msearch")[0]
        assert {hit.score for hit in found} == {3.0}
        assert len(snapshot.text.weighed_chunks(WeighedSearch(worth, 50, 1.0, Filter()))) > len(found)
        assert snapshot.text.weighed_chunks(WeighedSearch(worth, 50, 1.0, Filter(), least_words=2)) == found
        assert snapshot.text.weighed_chunks(WeighedSearch({"zeppelin": 1.0}, 50, 0.5, Filter())) == []


async def test_the_states_of_sampled_repositories_are_read_at_once(engine_cluster, tmp_path):
    with organisation(engine_cluster.urls, tmp_path / "house") as house:
        for name in ("one", "two", "three"):
            await house.publish(name, files_of(name), groups=["everyone"])
        engine = RecordingEngine(house.urls, prefix=house.prefix)
        opened = Generations(engine, tmp_path / "facts")
        libraries = Libraries(Repositories(engine), opened, Across(engine, EngineRarities(engine)))
        library = libraries.of(Viewer("agent", groups=frozenset({"everyone"})))
        shown = await library.repositories()
        engine.requests.clear()

        sampled = await library.sample(shown, "turn wheels of the engine", 30.0)
        newest = [await library.newest(each) for each in sampled]

        assert {each.name for each in newest} == {"team-one/one", "team-two/two", "team-three/three"}
        assert not engine.sent("_doc")
        opened.close()
        engine.close()
