"""Detail levels, `compact`, handles and the byte limit, tested on the two tools that share them."""

import json

import msgspec
import pytest

from codecompass.protocol.encode import encode
from codecompass.protocol.requests import LocateSymbol, SearchCode
from codecompass.query import QueryOptions, locate_symbol, search_code

LOCATION = {"path", "line_start", "line_end", "kind", "name", "match", "symbol_id"}
SIGNATURE = LOCATION | {"qualified_name", "signature", "language", "visibility", "score"}
CONTEXT = SIGNATURE | {"symbol_stable_id", "body_preview", "related_symbols"}


@pytest.fixture(scope="session")
def first(shop, state):
    def asked(name, **arguments):
        return json.loads(encode(locate_symbol(shop, LocateSymbol(name=name, **arguments), state)))["results"][0]

    return asked


def test_each_level_has_exactly_its_keys(first):
    assert set(first("validate_token", detail_level="location")) == LOCATION
    assert set(first("validate_token")) == SIGNATURE
    assert set(first("validate_token", detail_level="context")) == CONTEXT
    assert set(first("authenticate", detail_level="context")) == CONTEXT | {"parent"}


def test_the_context_of_a_symbol_is_its_beginning_its_parent_and_the_types_it_names(first):
    result = first("authenticate", detail_level="context")

    assert result["body_preview"].startswith("pub fn authenticate(&self")
    assert result["parent"] == {"kind": "impl", "name": "AuthHandler", "path": "src/auth/handler.rs", "line": 9}
    assert result["related_symbols"] == [{"kind": "enum", "name": "TokenError", "path": "src/auth/error.rs", "line": 1}]


@pytest.mark.parametrize(
    ("path", "head", "mark"),
    [("a.py", "def long():", "#"), ("a.lua", "function long()", "--"), ("a.js", "function long() {", "//")],
)
def test_a_long_body_is_cut_with_a_mark_in_the_languages_comments(index_of, state, path, head, mark):
    snapshot = index_of({path: head + "\n" + "    x = 1\n" * 40 + {"a.py": "", "a.lua": "end\n", "a.js": "}\n"}[path]})

    (result,) = locate_symbol(snapshot, LocateSymbol(name="long", detail_level="context"), state).results

    assert result.body_preview.splitlines()[0] == head
    assert result.body_preview.splitlines()[-1] == f"{mark} ... truncated ..."
    assert len(result.body_preview.splitlines()) == 31


@pytest.mark.parametrize("level", ["location", "signature", "context"])
def test_compact_leaves_identity_location_and_score_whatever_the_level(first, level):
    plain, compact = first("authenticate", detail_level=level), first("authenticate", detail_level=level, compact=True)

    assert set(compact) == (LOCATION if level == "location" else LOCATION | {"score"})
    assert {key: plain[key] for key in compact} == compact


def test_a_result_that_is_no_symbol_has_a_result_id_and_its_best_line(shop, state):
    answer = json.loads(encode(search_code(shop, SearchCode(query="refuse messages", language="markdown"), state)))
    brief = json.loads(
        encode(search_code(shop, SearchCode(query="refuse message", language="markdown", detail_level="location"), state))
    )

    assert set(answer["results"][0]) == {
        "path",
        "line_start",
        "line_end",
        "language",
        "name",
        "qualified_name",
        "kind",
        "result_id",
        "result_type",
        "score",
        "snippet",
    }
    assert (answer["results"][0]["kind"], answer["results"][0]["name"]) == ("section", "Rate limiter")
    assert "refuses with a message" in answer["results"][0]["snippet"]
    assert set(brief["results"][0]) == {"path", "line_start", "line_end", "result_id", "kind", "name"}


def test_callers_that_name_a_project_get_the_text_and_lines_under_the_names_of_their_contract(shop, state):
    request = SearchCode(query="validate_token", detail_level="context", project_id="shop")
    named = msgspec.structs.replace(state, project_id="shop", schema_name="project_shop")

    answer = json.loads(encode(search_code(shop, request, named)))
    result = answer["results"][0]

    assert (result["start_line"], result["end_line"]) == (8, 13)
    assert result["content"].splitlines()[0].startswith("pub fn validate_token(")
    assert len(result["content"].splitlines()) == 6
    assert (answer["metadata"]["project_id"], answer["metadata"]["schema_name"]) == ("shop", "project_shop")


def test_handles_are_the_same_over_tools_and_levels(shop, state, first):
    (found,) = search_code(shop, SearchCode(query="validate_token", limit=1), state).results

    for level in ("location", "signature", "context"):
        assert first("validate_token", detail_level=level)["symbol_id"] == found.symbol_id
    assert len(found.symbol_id) == len(first("validate_token", detail_level="context")["symbol_stable_id"]) == 16


def test_too_large_a_page_keeps_its_beginning_and_says_what_to_do(shop, state):
    whole = search_code(shop, SearchCode(query="rate limiter", detail_level="context"), state)

    cut = search_code(
        shop, SearchCode(query="rate limiter", detail_level="context", limit=9), state, QueryOptions(max_result_bytes=2000)
    )
    located = locate_symbol(shop, LocateSymbol(name="reset", limit=4), state, QueryOptions(max_result_bytes=700))

    assert 0 < len(cut.results) < len(whole.results)
    assert cut.results == whole.results[: len(cut.results)]
    assert cut.metadata.result_completeness == "truncated"
    assert cut.metadata.safety_limit_applied
    assert [(action.tool, action.query, action.offset) for action in cut.suggested_next_actions] == [
        ("search_code", "rate limiter", len(cut.results))
    ]
    assert [(action.tool, action.offset, action.limit) for action in located.suggested_next_actions] == [
        ("locate_symbol", len(located.results), 0),
        ("search_code", 0, 5),
    ]


def test_a_request_that_leaves_the_limit_open_gets_an_answer_of_at_most_30_kB(index_of, state):
    lines = "".join(f"needle = {{ {number:04}: '{'x' * 180}' }}\n" for number in range(800))
    snapshot = index_of({f"part{number}.txt": lines for number in range(4)})
    request = SearchCode(query="needle", mode="literal")

    default = search_code(snapshot, request, state)
    explicit = search_code(snapshot, msgspec.structs.replace(request, limit=10), state)

    assert len(encode(default)) <= 30_000 < len(encode(explicit))
    assert default.results == explicit.results[: len(default.results)]
    assert default.metadata.result_completeness == "truncated"
    assert [(action.mode, action.offset) for action in default.suggested_next_actions] == [("literal", len(default.results))]


def test_the_first_result_is_there_however_small_the_limit(shop, state):
    reply = search_code(shop, SearchCode(query="rate limiter"), state, QueryOptions(max_result_bytes=1))

    assert len(reply.results) == 1


def test_an_index_that_still_lacks_symbols_answers_partially(shop, state):
    text_only = msgspec.structs.replace(shop, meta=msgspec.structs.replace(shop.meta, completeness="partial"))

    assert search_code(text_only, SearchCode(query="limiter"), state).metadata.result_completeness == "partial"
    assert locate_symbol(text_only, LocateSymbol(name="x"), state).metadata.result_completeness == "partial"


def test_warnings_and_hints_of_the_state_go_first(shop, state):
    with_warnings = msgspec.structs.replace(state, warnings=("limit 0 was clamped",), hint="Tip")

    metadata = search_code(shop, SearchCode(query="x", language="cobol"), with_warnings).metadata

    assert metadata.warnings[0] == "limit 0 was clamped"
    assert len(metadata.warnings) == 2
    assert metadata.hint == "Tip"
