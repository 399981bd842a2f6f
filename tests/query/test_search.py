"""`search_code` in automatic mode: what ranks first, and that nothing a person types is an error."""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from codecompass.protocol.encode import encode
from codecompass.protocol.requests import SearchCode
from codecompass.query import QueryOptions, search_code
from codecompass.query.words.retrieval import SIGNALS


@pytest.fixture(scope="session")
def ask(shop, state):
    def asked(query, **arguments):
        return search_code(shop, SearchCode(query=query, **arguments), state)

    return asked


def found(reply):
    return [(result.path, result.name) for result in reply.results]


def test_words_find_the_class_whose_name_and_documentation_they_are(ask):
    reply = ask("rate limiter token bucket")

    assert found(reply)[0] == ("shop/limits.py", "RateLimiter")
    assert reply.query_intent == "natural_language"


def test_product_code_comes_before_its_tests_vendored_copies_and_documentation(ask):
    paths = [path for path, _ in found(ask("rate limiter token bucket client"))]

    product = paths.index("shop/limits.py")
    assert product < paths.index("tests/test_limits.py")
    assert product < paths.index("third_party/limiter/limits.py")
    assert product < paths.index("docs/limits.md")


def test_a_name_finds_its_definition_before_its_uses(ask):
    reply = ask("validate_token")

    assert reply.query_intent == "symbol"
    assert found(reply)[0] == ("src/auth/jwt.rs", "validate_token")
    assert (reply.results[0].line_start, reply.results[0].line_end) == (8, 13)


def test_a_qualified_name_prefers_the_definition_that_it_qualifies(ask):
    assert found(ask("Window.reset"))[0] == ("shop/limits.py", "reset")
    assert found(ask("storage.reset"))[0] == ("shop/storage.py", "reset")


def test_words_inside_identifiers_are_found(ask):
    assert found(ask("http server name"))[0] == ("web/server.ts", "getHTTPServerName")


def test_other_forms_of_a_word_are_found_where_the_word_itself_is_nowhere(ask):
    assert found(ask("validating"))[0] == ("src/auth/jwt.rs", "validate_token")


def test_an_error_message_finds_where_it_is_raised(ask):
    reply = ask("LimitExceeded: too many requests from this client")

    assert reply.query_intent == "error"
    assert found(reply)[0] == ("shop/limits.py", "allow")


def test_a_path_finds_the_file_and_a_line_in_it_the_definition(ask):
    file = ask("auth/jwt.rs").results[0]
    line = ask("src/auth/jwt.rs:10").results[0]

    assert (file.path, file.result_type, file.line_start) == ("src/auth/jwt.rs", "file", 1)
    assert (line.path, line.name, line.kind) == ("src/auth/jwt.rs", "validate_token", "fn")


def test_a_path_that_names_no_file_still_searches_its_words(ask):
    assert found(ask("src/limits/"))[0][0] == "shop/limits.py"


def test_filters_leave_only_what_they_name(ask):
    in_typescript = ask("parse header", language="ts")
    in_tests = ask("rate limiter", path="tests/**")
    classes = ask("rate limiter", kind="class")

    assert {path for path, _ in found(in_typescript)} <= {"web/header.ts", "web/server.ts"}
    assert {path for path, _ in found(in_tests)} == {"tests/test_limits.py"}
    assert {result.kind for result in classes.results} == {"class"}


def test_a_kind_finds_members_of_that_kind_by_their_words(ask):
    reply = ask("strip a header line into name and value", kind="fn", language="python")

    assert found(reply)[0] == ("shop/limits.py", "parse_http_header")
    assert {result.kind for result in reply.results} <= {"fn", "method"}


def test_a_language_that_is_not_there_is_said(ask):
    reply = ask("rate limiter", language="cobol")

    assert reply.results == ()
    assert "cobol" in reply.metadata.warnings[0]
    assert reply.suggested_next_actions[0].tool == "search_code"


def test_scores_are_0_to_1_and_sort_the_page_also_across_lanes(ask):
    for query in ("rate limiter token bucket", "validate_token", "limits.py", "too many requests: error"):
        scores = [result.score for result in ask(query).results]

        assert scores == sorted(scores, reverse=True)
        assert all(0.0 < score < 1.0 for score in scores)


def test_the_reasons_of_the_ranking_follow_the_level(ask):
    off = ask("how are tokens validated").metadata
    basic = ask("how are tokens validated", ranking_explain_level="basic").metadata
    full = ask("how are tokens validated", ranking_explain_level="full")
    first = json.loads(encode(full.metadata.ranking_reasons[0]))

    assert off.ranking_reasons == ()
    assert set(json.loads(encode(basic.ranking_reasons[0]))) == {
        "result_index",
        "exact_match_boost",
        "path_affinity",
        "definition_boost",
        "final_score",
    }
    assert set(first) == {
        "result_index",
        "exact_match_boost",
        "qualified_name_boost",
        "path_affinity",
        "definition_boost",
        "kind_match",
        "bm25_score",
        "final_score",
    }
    assert first["definition_boost"] > 0.0
    assert first["final_score"] == full.results[0].score
    assert [reason.result_index for reason in full.metadata.ranking_reasons] == list(range(len(full.results)))


def test_the_limit_counts_results_and_total_candidates_what_there_was(ask):
    one, many = ask("rate limiter", limit=1), ask("rate limiter", limit=100)

    assert len(one.results) == 1
    assert one.results[0] == many.results[0]
    assert one.total_candidates >= len(many.results) > 1


def test_the_configuration_gives_the_limit_and_the_explain_level_that_a_request_leaves_open(shop, state):
    configured = QueryOptions(default_limit=2, ranking_explain_level="basic")

    reply = search_code(shop, SearchCode(query="rate limiter"), state, configured)

    assert len(reply.results) == len(reply.metadata.ranking_reasons) == 2


@pytest.mark.invariant("The same generation and request give the same bytes")
def test_the_same_request_gives_the_same_bytes(ask):
    for query in ("rate limiter", "reset", "src/auth", "token"):
        assert encode(ask(query, detail_level="context", ranking_explain_level="full")) == encode(
            ask(query, detail_level="context", ranking_explain_level="full")
        )


def test_filters_may_be_any_text_too(ask):
    for text in ("\ufffd", "[", "**", "\x00", "é", "{a,b", "\\"):
        encode(ask("limiter", path=text))
        encode(ask("limiter", language=text))


def test_an_empty_index_answers_with_nothing(index_of, state):
    reply = search_code(index_of({}), SearchCode(query="anything"), state)

    assert (reply.results, reply.total_candidates) == ((), 0)


TORTURE = [
    "auth::jwt::validate",
    "error: x",
    "foo(bar",
    "what's up",
    '"unbalanced',
    "un'balanced\"",
    "AND OR NOT",
    "AND",
    "*",
    "?",
    "-x",
    "[0]",
    "[a TO b]",
    "field:value",
    "a^2 b~3",
    "!!!",
    "()[]{}",
    "\\",
    "/",
    "..",
    "😀🚀",
    "日本語のテスト",
    "e\u0301",
    "a\x00b",
    "\x00",
    "\ufffd",
    "limiter " * 1500,
    "x" * 10_000,
    "x_" * 5_000,
    "\n\n\t rate \r\n limiter",
    "the of and is",
    "%s %d %_",
    "src\\auth\\jwt.rs",
    "src/\ufffd.py",
    "src/auth/jwt.rs:99999",
    "https://example.com/rate/limiter?x=1",
]


@pytest.mark.invariant("Any text is a valid query, and any arguments give a request or a named error")
@pytest.mark.parametrize("query", TORTURE)
@pytest.mark.parametrize("mode", ["auto", "literal"])
def test_any_text_whatever_is_a_query(ask, query, mode):
    reply = ask(query, mode=mode)

    json.loads(encode(reply))
    assert len(reply.results) <= 10


@pytest.mark.invariant(of="test_any_text_whatever_is_a_query")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), st.sampled_from(["auto", "literal"]))
def test_random_text_is_a_query_too(ask, query, mode):
    encode(ask(query, mode=mode, detail_level="context"))


def test_a_signal_that_is_off_does_not_rank(shop, state):
    def paths(*without):
        settings = QueryOptions(without_signals=frozenset(without))
        return [result.path for result in search_code(shop, SearchCode(query="rate limiter client"), state, settings).results]

    usual, without_roles = paths(), paths("role", "best")

    assert usual.index("docs/limits.md") > usual.index("shop/limits.py")
    assert without_roles.index("docs/limits.md") < without_roles.index("shop/limits.py")


@pytest.mark.parametrize("signal", SIGNALS)
def test_every_signal_can_be_left_out(shop, state, signal):
    reply = search_code(shop, SearchCode(query="RateLimiter allow"), state, QueryOptions(without_signals=frozenset({signal})))

    assert reply.results


CALLS = {
    "lib/container.php": "<?php\nclass Container {\n    public function getAlias($name) {\n        return $name;\n    }\n}\n",
    "app/loader.php": "<?php\n" + "".join(f"$alias = $app->getAlias($name{n});\n" for n in range(40)),
    "app/other.php": "<?php\nclass Other {\n    public function getAlias($x) {\n        return 1;\n    }\n}\n",
}


@pytest.mark.parametrize("query", ["getAlias(", "getAlias()", "getAlias ($name)", "->getAlias(", "$this->getAlias($name)"])
def test_a_call_finds_the_definition_before_its_uses(index_of, state, query):
    reply = search_code(index_of(CALLS), SearchCode(query=query), state)

    assert reply.results[0].signature.startswith("public function getAlias")


@pytest.mark.parametrize(("owner", "path"), [("Container", "lib/container.php"), ("Other", "app/other.php")])
@pytest.mark.parametrize("separator", [".", "::", "->"])
def test_a_qualified_call_finds_the_definition_that_it_qualifies(index_of, state, owner, path, separator):
    reply = search_code(index_of(CALLS), SearchCode(query=f"{owner}{separator}getAlias("), state)

    assert reply.results[0].path == path


@pytest.mark.parametrize(("mode", "query"), [("literal", "getAlias("), ("regex", r"getAlias\("), ("regex", r"getAlias")])
def test_a_literal_call_finds_the_definitions_first_too(index_of, state, mode, query):
    reply = search_code(index_of(CALLS), SearchCode(query=query, mode=mode), state)

    assert [result.path for result in reply.results[:2]] == ["app/other.php", "lib/container.php"]
