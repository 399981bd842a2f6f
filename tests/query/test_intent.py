"""The intent of queries as people and agents type them."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.source_lines import listed
from codecompass.query.words.intent import classify, missing_names, unknown_words, unquoted

LABELLED = [
    ("validate_token", "symbol"),
    ("getHTTPServerName", "symbol"),
    ("Mutex", "symbol"),
    ("auth::jwt::validate", "symbol"),
    ("Router.add_route", "symbol"),
    ("UserService#login", "symbol"),
    ("App\\Http\\Kernel", "symbol"),
    ("pkg.(*Server).Serve", "symbol"),
    ("fn validate", "symbol"),
    ("class UserService", "symbol"),
    ("main()", "symbol"),
    ("@property_name", "symbol"),
    ("SHA256", "symbol"),
    ("src/auth/handler.rs", "path"),
    ("handler.rs", "path"),
    ("tests/", "path"),
    ("./codecompass/store", "path"),
    ("src\\main\\App.java", "path"),
    ("handler.rs:42", "path"),
    ("error: cannot find module 'foo'", "error"),
    ("Error: listen EADDRINUSE: address already in use", "error"),
    ("thread 'main' panicked at src/lib.rs", "error"),
    ("ValueError: invalid literal for int()", "error"),
    ("Traceback (most recent call last)", "error"),
    ("E0308", "error"),
    ("TS2345", "error"),
    ("ENOENT", "error"),
    ('"connection reset by peer"', "error"),
    ("undefined reference to `foo'", "error"),
    ("java.lang.NullPointerException at com.acme.Main.run(Main.java:12)", "error"),
    ("where is rate limiting implemented", "natural_language"),
    ("how does the parser recover from errors", "natural_language"),
    ("jwt validation", "natural_language"),
    ("type inference", "natural_language"),
    ("interface design guidelines", "natural_language"),
    ("error handling middleware", "natural_language"),
    ("src/foo bar", "natural_language"),
    ("line 3 of the config", "natural_language"),
]


@pytest.mark.parametrize(("query", "intent"), LABELLED)
def test_the_labelled_queries(query, intent):
    assert classify(query) == intent


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("a/b testing", "natural_language"),
        ("exception handling strategy", "natural_language"),
        ("validate", "natural_language"),
        ("https://example.com/docs", "natural_language"),
        ("I/O", "natural_language"),
        ("n/a", "natural_language"),
        ("SHA256 checksum", "natural_language"),
    ],
)
def test_what_only_looks_like_a_path_an_error_or_a_symbol(query, intent):
    assert classify(query) == intent


@pytest.mark.parametrize("query", ["", " ", "()", "'", "''", "\x00", "///", "\\", "日本語", "*" * 5000, "a" * 10_000])
def test_any_text_has_an_intent(query):
    assert classify(query) in ("symbol", "path", "error", "natural_language")


def test_quotes_around_the_whole_query_come_off():
    assert unquoted(' "no such table" ') == "no such table"
    assert unquoted('say "hello"') == 'say "hello"'
    assert unquoted('"a" or "b"') == '"a" or "b"'


@pytest.fixture(scope="session")
def search(shop, state):
    return lambda query, **arguments: search_code(shop, SearchCode(query=query, **arguments), state)


def test_words_that_are_nowhere_find_nothing_and_the_answer_says_so(search):
    reply = search("zzqxv frobnicate_token")

    assert (reply.results, reply.total_candidates) == ((), 0)
    assert reply.notice == "no word of the query occurs in the index: zzqxv, frobnicate_token"


def test_one_word_that_is_there_is_enough(search):
    assert search("zzqxv bucket").results


@pytest.mark.parametrize(
    ("query", "is_known"),
    [
        ("bucket", True),
        ("BUCKET", True),
        ("buckets", True),  # an inflected form
        ("getHTTPServerName", True),
        ("parse_http_header", True),
        ("parseHttpHeaders", True),  # most of its parts
        ("parse_frobnicate", False),
        ("frobnicate", False),
        ("limits", True),  # from a path
        ("the of and", True),
        ("=> ?", True),  # not a word
        ("", True),
    ],
)
def test_a_word_is_known_by_itself_another_form_or_most_of_its_parts(shop, query, is_known):
    assert (unknown_words(shop, query) == ()) is is_known


def test_an_identifier_that_is_made_up_is_named_beside_the_hits(search):
    reply = search("how does fetchTokenBucket refuse a client")

    assert reply.results
    assert "not found in the index: fetchTokenBucket" in reply.notice


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
