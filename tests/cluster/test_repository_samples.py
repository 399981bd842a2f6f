"""A query over many repositories: the engine's requests, and that each repository is judged as if queried alone."""

import pytest

from codecompass.cluster.repository_samples import SAMPLED_REPOSITORIES, Across
from codecompass.cluster.scoring import EngineRarities
from tests.cluster.organisation import files_of
from tests.cluster.recording import RecordingEngine

pytestmark = pytest.mark.cluster

NAMES = ("one", "two", "three", "four", "five", "six", "seven", "eight")


@pytest.mark.parametrize("house", ["documents"], indirect=True)
async def test_each_of_many_repositories_is_judged_as_if_it_were_asked_alone(house):
    generations = {}
    for number, name in enumerate(NAMES):
        files = {**files_of(name), "more.md": "wheels turn\n" * number or "nothing\n"}
        published = await house.publish(name, files, groups=["everyone"])
        generations[published.repo_id] = published.default_head.generation
    engine = RecordingEngine(house.urls, prefix=house.prefix)
    try:
        across = Across(engine, EngineRarities(engine))

        found = across.sample(generations, "turn secret wheels")
        alone = {key: across.sample({key: name}, "turn secret wheels")[key] for key, name in generations.items()}

        # Weights are not compared: they depend on how rare words are in the shard of the first repository.
        assert {key: facts(each) for key, each in found.items()} == {key: facts(each) for key, each in alone.items()}
        assert set(found) == set(generations)
        assert all(each.hits and each.n_texts >= 2 for each in found.values())
        assert len({str(facts(each)) for each in found.values()}) > 1
        assert across.sample(generations, "quitecertainlynowhere") == {}
        # One query for all, then queries for the best, at once.
        numbers = engine.numbers_of_searches()
        assert numbers[:2] == [1, len(NAMES)]
        assert numbers[-1] == 1
        assert max(numbers) <= SAMPLED_REPOSITORIES
    finally:
        engine.close()


def facts(evidence):
    words = [(word.text, word.frequency) for word in evidence.words]
    return evidence.n_texts, words, sorted(hit.has for hit in evidence.hits)
