"""How much a question asks of the engine: the state of each repository that it is put to, and nothing else."""

from collections.abc import Iterator

import pytest

from codecompass.cluster.access.visibility import Viewer
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.serving.library import Libraries
from tests.cluster.organisation import files_of
from tests.cluster.recording import RecordingEngine

pytestmark = pytest.mark.cluster

NAMES = ("one", "two", "three")


@pytest.fixture
def engine(house) -> Iterator[RecordingEngine]:
    made = RecordingEngine(house.urls, prefix=house.prefix)
    yield made
    made.close()


@pytest.fixture
async def library(house, engine, nursery, tmp_path):
    for name in NAMES:
        await house.publish(name, files_of(name), groups=["everyone"])
    opened = Generations(engine, house.store, tmp_path / "copies")
    libraries = Libraries(Repositories(engine), opened)
    nursery.start_soon(libraries.fetches.serve)
    nursery.start_soon(libraries.summaries.serve)
    yield lambda: libraries.of(Viewer("agent", groups=frozenset({"everyone"})))
    opened.close()


@pytest.mark.invariant(
    "A question about one repository takes two requests of the engine, for the state of the repository and, once for each "
    "generation, for its manifest"
)
async def test_a_question_about_one_repository_asks_for_its_state_and_once_for_its_manifest(house, engine, library):
    kinds = []
    for _ in range(2):
        asked = library()
        repository = await asked.newest(house.published["one"].repo_id)
        n_files = await asked.read(repository, repository.default_head, lambda snapshot: len(snapshot.facts.files()), 30.0)
        kinds.append([kind for _, kind, _ in engine.requests])
        engine.requests.clear()

    assert n_files == 2
    assert kinds == [["_doc", "_mget"], ["_doc"]]


@pytest.mark.invariant(of="test_a_question_about_one_repository_asks_for_its_state_and_once_for_its_manifest")
async def test_the_states_and_the_manifests_of_many_are_read_at_once(engine, library):
    asked = library()
    engine.requests.clear()

    shown = await asked.repositories()
    summaries = await asked.summaries(shown, 30.0)
    await asked.look_up([each.repo_id for each in shown])
    newest = [await asked.newest(each.repo_id) for each in shown]

    assert len(summaries) == len(NAMES)
    assert {each.name for each in newest} == {f"team-{name}/{name}" for name in NAMES}
    assert sorted(kind for _, kind, _ in engine.requests) == ["_mget", "_mget", "_search"]
