"""Words that programmers use in place of a question's words."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.options import QueryOptions
from codecompass.query.words.lexicon import related_words
from codecompass.query.words.query_words import PART_WEIGHT, WantedWords, query_words

LISTING = """\
def list_dir(dir, filter):
    return [each for each in scan_dir(dir) if filter(each)]
"""
OTHER = """\
def compute(numbers):
    return sum(numbers)
"""


@pytest.fixture
def snapshot(index_of):
    return index_of({"listing.py": LISTING, "other.py": OTHER, "third.py": OTHER.replace("compute", "total")})


def test_what_the_code_calls_otherwise_is_found_and_explained(snapshot, state):
    request = SearchCode(query="filter what a directory contains", ranking_explain_level="full")
    reply = search_code(snapshot, request, state)

    assert reply.results[0].name == "list_dir"
    assert "dir for directory" in reply.metadata.ranking_reasons[0].related_words


def test_without_the_lexicon_nothing_stands_for_another_word(snapshot, state):
    request = SearchCode(query="filter what a directory contains", ranking_explain_level="full")
    reply = search_code(snapshot, request, state, QueryOptions(without_signals=frozenset({"lexicon"})))

    assert all(not reason.related_words for reason in reply.metadata.ranking_reasons)


def test_a_name_is_never_taken_for_another(snapshot, state):
    assert search_code(snapshot, SearchCode(query="directory"), state).results == ()


def test_a_related_word_counts_less_than_the_word_itself():
    wanted = WantedWords({"directory": 1.0}, {"dir": [(0, 0.3)]})

    assert wanted.recalls(["a directory"])[0] == 1.0
    assert wanted.recalls(["a dir"])[0] == pytest.approx(0.3)
    assert dict(wanted.numbers_of("scan_dir")) == {0: 0.3}


def test_the_data_knows_how_code_says_directory():
    assert "dir" in [each.word for each in related_words("directory")[:3]]


def test_words_of_change_weigh_less_than_what_is_changed():
    weights = {word.text: word.weight for word in query_words("fix the retryDelay and add a timeout")}

    assert weights["fix"] < weights["add"] < weights["timeout"] == 1.0
    assert weights["retry"] == PART_WEIGHT
