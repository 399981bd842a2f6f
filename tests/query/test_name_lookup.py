"""Lookups by approximate names: stack frames, signatures, wrong scopes, plurals, other words and case."""

import pytest

from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import locate_symbol, search_code
from codecompass.query.names.name_lookup import READING_SCORE, find_named
from codecompass.store.text_queries import Filter

PYTHON = 'Traceback (most recent call last):\n  File "/ci/build/shop/limits.py", line 17, in allow\n    raise LimitExceeded()'


@pytest.fixture(scope="session")
def first(shop, state):
    """Returns the first hit of both tools for a text."""

    def asked(text):
        located = locate_symbol(shop, LocateSymbol(name=text), state).results
        found = search_code(shop, SearchCode(query=text), state).results
        return [(results[0].path, results[0].line_start, results[0].name) if results else None for results in (located, found)]

    return asked


@pytest.mark.parametrize(
    "text",
    [
        PYTHON,
        'File "shop/limits.py", line 17, in allow',
        'File "limits.py", line 17, in allow',
        "shop/limits.py:17: in allow",
        "  at RateLimiter.allow (/srv/app/shop/limits.py:17:9)",
        "def allow(self, client: str) -> bool:",
        "allow(client)",
        "RateLimiter#allow(client)",
        "shop/limits.py:allow",
        "shop/limits:RateLimiter.allow",
        "limits.RateLimiter->allow()",
    ],
)
def test_a_frame_or_a_signature_leads_to_the_definition_with_both_tools(first, text):
    assert first(text) == [("shop/limits.py", 15, "allow")] * 2


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ratelimiter", ("shop/limits.py", 8, "RateLimiter")),
        ("rate_limiters", ("shop/limits.py", 8, "RateLimiter")),
        ("RateLimiters", ("shop/limits.py", 8, "RateLimiter")),
        ("PARSE_HTTP_HEADER", ("shop/limits.py", 30, "parse_http_header")),
        ("parseHttpHeaders", ("shop/limits.py", 30, "parse_http_header")),
        ("Limiter.allow", ("shop/limits.py", 15, "allow")),
        ("RateLimiter.latest_version", ("shop/latest_version.py", 1, "latest_version")),
    ],
)
def test_a_name_that_is_slightly_wrong_finds_what_was_meant_with_both_tools(first, text, place):
    assert first(text) == [place] * 2


@pytest.mark.parametrize("text", ["http_header", "do_parse_http_header", "parse_http"])
def test_words_too_few_or_too_many_find_the_definition_near_the_top_of_a_search_and_first_in_a_lookup(shop, state, text):
    located = locate_symbol(shop, LocateSymbol(name=text), state).results
    found = search_code(shop, SearchCode(query=text), state).results

    assert located[0].name == "parse_http_header"
    assert "parse_http_header" in [result.name for result in found[:2]]


def test_the_line_of_a_frame_decides_where_its_name_is_ambiguous(first):
    assert first("tests/test_limits.py:14: in reset") == [("tests/test_limits.py", 13, "reset")] * 2


def test_a_frame_of_a_file_that_has_changed_since_leads_to_the_definition_of_its_name(first):
    assert first('File "shop/limits.py", line 900, in allow')[0] == ("shop/limits.py", 15, "allow")


def test_a_frame_of_other_peoples_code_leads_nowhere_by_its_file_name_alone(shop):
    named = find_named(shop, 'File "/usr/lib/python3/limits.py", line 9, in consume', Filter(), None)

    assert not [found for found in named if found.reading == "frame"]


def test_every_frame_of_a_trace_that_lies_in_the_project_is_there_innermost_first(shop, state):
    trace = "\n".join(
        f'File "{path}", line {line}, in {name}'
        for path, line, name in (
            ("shop/limits.py", 17, "allow"),
            ("/x/json.py", 2, "load"),
            ("shop/storage.py", 11, "open_storage"),
        )
    )

    named = [result.name for result in locate_symbol(shop, LocateSymbol(name=trace), state).results]
    found = [result.name for result in search_code(shop, SearchCode(query=trace), state).results[:2]]

    assert named == found == ["open_storage", "allow"]


def test_of_several_definitions_the_one_with_the_signature_asked_for_comes_first(index_of):
    snapshot = index_of({"a.py": "def put(key): ...\n", "b.py": "def put(key, value, ttl): ...\n"})

    assert [named.row.path for named in find_named(snapshot, "def put(key, value, ttl):", Filter(), None)] == ["b.py", "a.py"]
    assert [named.row.path for named in find_named(snapshot, "def put(key):", Filter(), None)] == ["a.py", "b.py"]


def test_a_wrong_scope_prefers_the_scope_that_shares_words_with_it(index_of):
    snapshot = index_of({"a.py": "class Door:\n    def open(self): ...\n", "b.py": "class FileStore:\n    def open(self): ...\n"})

    named = find_named(snapshot, "Store.open", Filter(), None)

    assert [(found.row.path, found.reading) for found in named] == [("b.py", "scope"), ("a.py", "bare")]


def test_public_definitions_come_before_internal_ones_of_the_same_kind(index_of):
    snapshot = index_of(
        {
            "A.java": "class A {\n  int size() {\n    return 1;\n  }\n}\n",
            "B.java": "public class B {\n  public int size() {\n    return 2;\n  }\n}\n",
        }
    )

    assert [named.row.path for named in find_named(snapshot, "size", Filter(), None)] == ["B.java", "A.java"]


@pytest.mark.parametrize("text", ["RateLimiters", "Limiter.reset", "do_parse_http_header", "reste"])
def test_looser_readings_never_come_before_stricter_ones(shop, text):
    scores = [READING_SCORE[named.reading] for named in find_named(shop, text, Filter(), None)]

    assert scores == sorted(scores, reverse=True)
    assert scores


def test_filters_hold_for_guesses_too(shop, state):
    frame = 'File "shop/limits.py", line 17, in allow'

    assert locate_symbol(shop, LocateSymbol(name=frame, language="rust"), state).results == ()
    assert all(result.language == "rust" for result in search_code(shop, SearchCode(query=frame, language="rust"), state).results)
    assert locate_symbol(shop, LocateSymbol(name="def allow(self)", kind="class"), state).results == ()
