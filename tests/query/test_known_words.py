"""A search of words that are nowhere says so instead of answering with something else."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.intent import listed, missing_names, unknown_words


@pytest.fixture(scope="session")
def search(shop, state):
    return lambda query, **arguments: search_code(shop, SearchCode(query=query, **arguments), state)


def test_words_that_are_nowhere_find_nothing_and_the_answer_says_so(search):
    reply = search("zzqxv frobnicate_token")

    assert (reply.results, reply.total_candidates) == ((), 0)
    assert reply.metadata.warnings == ("no word of the query occurs in the index: zzqxv, frobnicate_token",)


def test_one_word_that_is_there_is_enough(search):
    assert search("zzqxv bucket").results
    assert search("zzqxv bucket").metadata.warnings == ()


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        ("bucket", True),
        ("BUCKET", True),
        ("buckets", True),  # another form of it
        ("getHTTPServerName", True),
        ("parse_http_header", True),
        ("parseHttpHeaders", True),  # most of its words
        ("parse_frobnicate", False),
        ("frobnicate", False),
        ("limits", True),  # of a path
        ("the of and", True),
        ("=> ?", True),  # no word at all
        ("", True),
    ],
)
def test_a_word_is_known_by_itself_another_form_or_most_of_its_parts(shop, query, is_known):
    assert (unknown_words(shop, query) == ()) is is_known


def test_an_identifier_that_is_made_up_is_named_beside_the_hits(search):
    reply = search("how does fetchTokenBucket refuse a client")

    assert reply.results
    assert reply.metadata.warnings == ("nowhere in the index: fetchTokenBucket",)


@pytest.mark.parametrize("query", ["RateLimiter refuses", "Storage.count", "validate_token", "per_minute bucket", "rate limiter"])
def test_identifiers_that_are_there_are_not_named(shop, search, query):
    assert missing_names(shop, query) == ()
    assert search(query).metadata.warnings == ()


def test_a_name_with_a_typing_error_still_leads_to_what_it_resembles(search):
    reply = search("validate_tokn")

    assert reply.results[0].name == "validate_token"


def test_a_warning_lists_three_words_and_cuts_long_ones():
    assert listed(("a", "b", "c", "d")) == "a, b, c, …"
    assert listed(("x" * 500,)) == "x" * 99 + "…"
