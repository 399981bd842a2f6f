"""The fields of hits of `search_code` and `locate_symbol`."""

import json

import pytest

from codecompass.store.registry import Registry
from tests.contract.backend import BACKEND
from tests.support.serving import open_serving


@pytest.fixture(scope="module")
def home(indexed_home):
    return indexed_home("backend", BACKEND)


@pytest.fixture
async def backend(home):
    """Like the shared fixture, but indexed only once, because these tests only read."""
    async with open_serving(home) as serving:
        yield serving


TOOLS = [("locate_symbol", {"name": "validate_token"}), ("search_code", {"query": "validate_token"})]

LOCATION = {"path": "src/auth/jwt.rs", "line_start": 87, "line_end": 112, "kind": "fn", "name": "validate_token"}

SIGNATURE = {
    **LOCATION,
    # As a programmer of the language writes the type.
    "qualified_name": "auth::jwt::JwtValidator::validate_token",
    "signature": "pub fn validate_token(token: &str, key: &[u8]) -> Result<Claims>",
    "language": "rust",
    "visibility": "public",
}

CONTEXT = {
    **SIGNATURE,
    "parent": {"kind": "impl", "name": "JwtValidator", "path": "src/auth/jwt.rs", "line": 45},
    "related_symbols": [
        {"kind": "struct", "name": "Claims", "path": "src/auth/jwt.rs", "line": 12},
        {"kind": "enum", "name": "TokenError", "path": "src/auth/error.rs", "line": 5},
    ],
}

HANDLES = {"result_id", "result_type", "symbol_id", "symbol_stable_id", "score", "match"}
"""What an implementation may add at any level, so that calls can be chained and guesses recognised."""


@pytest.mark.parametrize(("tool", "asked"), TOOLS)
@pytest.mark.parametrize(("level", "shape"), [("location", LOCATION), ("signature", SIGNATURE)])
async def test_a_hit_has_the_fields_of_its_level_and_handles_besides(backend, tool, asked, level, shape):
    hit = (await backend.call(tool, detail_level=level, **asked))["results"][0]

    assert {key: value for key, value in hit.items() if key not in HANDLES} == shape


@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_the_context_of_a_hit_is_its_body_its_parent_and_what_it_speaks_of(backend, tool, asked):
    hit = (await backend.call(tool, detail_level="context", **asked))["results"][0]

    body = hit.pop("body_preview")
    assert {key: value for key, value in hit.items() if key not in HANDLES} == CONTEXT
    assert body.startswith(SIGNATURE["signature"] + " {\n    let decoded = decode(token, key, &Validation::default())?;\n")


async def test_signature_is_the_default_level(backend):
    default = await backend.call("locate_symbol", name="validate_token")

    assert default == await backend.call("locate_symbol", name="validate_token", detail_level="signature")
    assert SIGNATURE.items() <= default["results"][0].items()


async def test_what_there_is_not_is_left_out_and_never_null(backend):
    """No parent, related symbols or visibility for a hit that is only text."""
    enum = (await backend.call("locate_symbol", name="TokenError", detail_level="context"))["results"][0]
    page = await backend.call("search_code", query="how to validate a token", detail_level="context", limit=100)

    assert "parent" not in enum
    assert "related_symbols" not in enum
    assert b"null" not in (await backend.answer("search_code", query="validate_token", detail_level="context")).payload
    assert any("kind" not in hit for hit in page["results"]), "the page has a hit that is no symbol"


@pytest.mark.parametrize("level", ["location", "signature", "context"])
@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_compact_keeps_identity_location_and_score_at_every_level(backend, tool, asked, level):
    """`compact: true` applies after `detail_level` and keeps the handles."""
    compact = (await backend.call(tool, detail_level=level, compact=True, **asked))["results"][0]

    assert LOCATION.items() <= compact.items()
    assert set(compact) - set(LOCATION) <= HANDLES
    assert "symbol_id" in compact


async def test_a_compact_page_of_functions_takes_a_fifth_of_the_bytes_of_their_context(repository):
    """Issue 2 of 5: at most 20 % of `context`, over a page of functions of ordinary length."""
    body = "".join(f"    step_{n} = prepare(order, {n})\n    log.debug('prepared', step=step_{n})\n" for n in range(8))
    repository.write({f"shop/step{n}.py": f"def take_order_{n}(order, log):\n{body}    return order\n" for n in range(20)})
    repository.commit()
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        asked = {"query": "take order", "kind": "function", "limit": 20}

        context = (await serving.call("search_code", detail_level="context", **asked))["results"]
        compact = (await serving.call("search_code", detail_level="context", compact=True, **asked))["results"]

    assert [hit["symbol_id"] for hit in compact] == [hit["symbol_id"] for hit in context]
    assert len(compact) == 20
    assert len(json.dumps(compact)) <= 0.2 * len(json.dumps(context))


# Ranking reasons.

FULL = {
    "result_index",
    "exact_match_boost",
    "qualified_name_boost",
    "path_affinity",
    "definition_boost",
    "kind_match",
    "bm25_score",
    "final_score",
}


@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_reasons_are_absent_unless_they_are_asked_for(backend, tool, asked):
    """`ranking_explain_level: "off"` is the default."""
    assert "ranking_reasons" not in (await backend.call(tool, **asked))["metadata"]
    assert "ranking_reasons" not in (await backend.call(tool, ranking_explain_level="off", **asked))["metadata"]


@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_full_reasons_have_eight_fields_for_each_hit_in_the_order_of_the_page(backend, tool, asked):
    """`final_score` is 0..1 and sorts the page."""
    reply = await backend.call(tool, ranking_explain_level="full", **asked)

    reasons = reply["metadata"]["ranking_reasons"]
    assert [set(reason) for reason in reasons] == [FULL] * len(reply["results"])
    assert [reason["result_index"] for reason in reasons] == list(range(len(reply["results"])))
    scores = [reason["final_score"] for reason in reasons]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    assert [hit["score"] for hit in reply["results"]] == scores
    assert reasons[0]["exact_match_boost"] == 1.0
    assert reasons[0]["definition_boost"] == 1.0


@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_basic_reasons_are_fewer_factors_of_the_same_values(backend, tool, asked):
    """`basic`: compact normalized factors."""
    full = (await backend.call(tool, ranking_explain_level="full", **asked))["metadata"]["ranking_reasons"]
    basic = (await backend.call(tool, ranking_explain_level="basic", **asked))["metadata"]["ranking_reasons"]

    assert len(basic) == len(full)
    for less, more in zip(basic, full, strict=True):
        assert {"result_index", "final_score"} <= set(less) < FULL
        assert less.items() <= more.items()
        assert "bm25_score" not in less, "it is not normalized"


@pytest.mark.parametrize(
    ("parameter", "value"),
    [("detail_level", "verbose"), ("ranking_explain_level", "some"), ("freshness_policy", "eventually"), ("compact", "perhaps")],
)
@pytest.mark.parametrize(("tool", "asked"), TOOLS)
async def test_a_value_that_is_none_is_refused_and_never_taken_for_the_default(backend, tool, asked, parameter, value):
    refusal = await backend.refusal(tool, **asked, **{parameter: value})

    assert refusal["error"]["code"] == "invalid_input"
    assert refusal["error"]["data"]["field"] == parameter
    assert refusal["error"]["data"]["value"] == value


@pytest.mark.slow
@pytest.mark.parametrize(
    "query",
    [
        "auth::jwt::validate", "error: x", "foo(bar", "what's up", '"unbalanced', "'", "AND OR NOT", "*", "-x", "[0]", "...?!",
        "\N{SLIGHTLY SMILING FACE}", "word " * 2000, "nul\0byte", "title:x^2 AND (", "\\", "~", "a*", "\ud800",
    ],
)  # fmt: skip
@pytest.mark.parametrize("mode", ["auto", "literal"])
async def test_any_text_is_a_query(backend, query, mode):
    """Issue 1 of 5, "Query torture": results or none, never an error, and the same bytes each time."""
    first = await backend.answer("search_code", query=query, mode=mode)
    located = await backend.answer("locate_symbol", name=query)

    assert first.error is None, first.payload
    assert located.error is None, located.payload
    assert (await backend.answer("search_code", query=query, mode=mode)).payload == first.payload


@pytest.mark.parametrize(("limit", "used"), [(0, 1), (-1, 1), (1e9, 100), ("5", 5), (2.0, 2)])
async def test_a_limit_out_of_bounds_is_clamped_with_a_warning(backend, limit, used):
    """Integral texts and numbers are accepted."""
    reply = await backend.call("search_code", query="check claim auth", limit=limit)

    assert len(reply["results"]) <= used
    assert ("warnings" in reply["metadata"]) is (limit in (0, -1, 1e9))


@pytest.mark.parametrize("limit", ["abc", 2.5, True, [1], float("inf")])
async def test_a_limit_that_is_no_number_is_refused(backend, limit):
    assert (await backend.refusal("search_code", query="x", limit=limit))["error"]["data"]["field"] == "limit"
