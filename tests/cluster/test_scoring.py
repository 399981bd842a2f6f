"""Scores computed outside the engine equal tantivy's."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from codecompass.cluster.manifests import Averages
from codecompass.cluster.schema import SCORED
from codecompass.cluster.scoring import LENGTHS, Scorer, kept_length
from codecompass.languages.records import Chunk
from codecompass.store.schema import index_tokens
from codecompass.store.text_queries import FieldBoost, WordQuery
from codecompass.store.text_reader import TextReader
from codecompass.store.text_writer import FileDocument, TextWriter

pytestmark = pytest.mark.invariant(of="test_after_any_changes_the_engine_answers_as_an_index_made_anew")

WORDS = ("alpha", "beta", "gamma", "delta")

texts = st.lists(st.lists(st.sampled_from((*WORDS, "filler")), min_size=1, max_size=120).map(" ".join), min_size=1, max_size=12)


def queries() -> st.SearchStrategy[list[WordQuery]]:
    word = st.builds(
        WordQuery,
        word=st.sampled_from(WORDS),
        fields=st.sampled_from(((FieldBoost("body", 1.0),), (FieldBoost("body", 1.0), FieldBoost("parts", 0.8)))),
        boost=st.sampled_from((1.0, 0.4)),
        is_required=st.booleans(),
        tie_breaker=st.sampled_from((0.1, 0.5, 1.0)),
        is_constant=st.booleans(),
    )
    return st.lists(word, min_size=1, max_size=4, unique_by=lambda item: item.word)


@settings(max_examples=60, deadline=None)
@given(texts, texts, queries())
def test_they_are_those_of_the_embedded_store(tmp_path_factory, bodies, parts, words):
    bodies, parts = bodies[: len(parts)], parts[: len(bodies)]
    directory = tmp_path_factory.mktemp("text") / "1"
    writer = TextWriter(directory, None)
    for number, (body, part) in enumerate(zip(bodies, parts, strict=True), 1):
        writer.add(FileDocument(number, "python", "a path", chunks=(Chunk(1, 1, body, part, ""),)))
    writer.commit()
    reader = TextReader(directory)

    scorer = Scorer(words, averages(bodies, parts), reader.document_frequency)
    expected = {hit.file_id: hit.score for hit in reader.search_chunks(words, 100)}

    for number, (body, part) in enumerate(zip(bodies, parts, strict=True), 1):
        score = scorer.score({"body": counted(body), "parts": counted(part)})
        assert score == pytest.approx(expected.get(number, 0.0), rel=1e-5)


def averages(bodies: Sequence[str], parts: Sequence[str]) -> Averages:
    tokens = {"body": sum(map(n_tokens, bodies)), "parts": sum(map(n_tokens, parts)), "path_words": 2 * len(bodies)}
    return Averages(2 * len(bodies), len(bodies), tuple(tokens.get(field, 0) for field in SCORED))


def n_tokens(text: str) -> int:
    return len(index_tokens(text))


def counted(text: str) -> tuple[int, dict[str, int]]:
    tokens = index_tokens(text)
    return len(tokens), {word: tokens.count(word) for word in WORDS}


@pytest.mark.parametrize(
    ("length", "kept"), [(0, 0), (39, 39), (40, 40), (41, 40), (43, 42), (55, 54), (57, 56), (63, 60), (1000, 984)]
)
def test_a_length_is_kept_as_the_largest_class_that_is_not_larger(length, kept):
    assert kept_length(length) == kept
    assert len(LENGTHS) == 256
