"""The answers of the query tools, field by field, as in the tools' published contract."""

import json

import pytest

from codecompass.protocol.encode import encode
from codecompass.protocol.requests import (
    FindRelatedSymbols,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    LocateSymbol,
    SearchCode,
)
from codecompass.query import (
    find_related_symbols,
    get_code_context,
    get_file_outline,
    get_symbol_hierarchy,
    locate_symbol,
    search_code,
)

openai = pytest.importorskip("rs_bpe.bpe", reason="has no wheel for this Python").openai

METADATA = {
    "codecompass_protocol_version",
    "freshness_status",
    "indexing_status",
    "result_completeness",
    "ref",
    "schema_status",
    "workspace",
    "project_id",
    "generation",
}
REFERENCE = {"kind", "name", "path", "line"}
NODE = {
    "symbol_id",
    "symbol_stable_id",
    "name",
    "kind",
    "qualified_name",
    "path",
    "line_start",
    "line_end",
    "signature",
    "depth",
}
REASON = {
    "result_index",
    "exact_match_boost",
    "qualified_name_boost",
    "path_affinity",
    "definition_boost",
    "kind_match",
    "bm25_score",
    "final_score",
}

HANDLERS = [
    f'''
def handle_order_{number}(order: Order, customer: Customer, *, retry: bool = False) -> Receipt:
    """Takes an order of a customer, reserves what it needs and writes a receipt."""
    if not order.lines:
        raise EmptyOrder(order.number)
    reserved = [Reservation(line.article, line.count) for line in order.lines]
    for reservation in reserved:
        if not reservation.is_possible(retry=retry):
            raise OutOfStock(reservation.article)
    receipt = Receipt(order.number, customer.address, sum(line.price for line in order.lines))
    customer.remember(receipt)
    return receipt

'''
    for number in range(12)
]
TYPES = "".join(
    f"class {name}:\n    pass\n\n\n" for name in ("Order", "Customer", "Receipt", "Reservation", "EmptyOrder", "OutOfStock")
)


@pytest.fixture(scope="session")
def answer(shop, state):
    tools = {
        SearchCode: search_code,
        LocateSymbol: locate_symbol,
        GetFileOutline: get_file_outline,
        GetSymbolHierarchy: get_symbol_hierarchy,
        FindRelatedSymbols: find_related_symbols,
        GetCodeContext: get_code_context,
    }

    def answered(request, snapshot=shop):
        return json.loads(encode(tools[type(request)](snapshot, request, state)))

    return answered


@pytest.fixture(scope="session")
def orders(index_of):
    parts = {f"shop/service{start}.py": "".join(HANDLERS[start : start + 4]) for start in (0, 4, 8)}
    return index_of({**parts, "shop/types.py": TYPES})


def test_every_answer_has_the_whole_metadata_block(answer):
    for request in (
        SearchCode(query="limiter"),
        LocateSymbol(name="RateLimiter"),
        GetFileOutline(path="shop/limits.py"),
        GetSymbolHierarchy(symbol_name="Window"),
        FindRelatedSymbols(symbol_name="Window"),
        GetCodeContext(query="limiter"),
    ):
        assert set(answer(request)["metadata"]) >= METADATA, request


def test_location_is_the_minimal_shape_and_one_handle(answer):
    (result,) = answer(LocateSymbol(name="validate_token", detail_level="location"))["results"]

    assert len(result.pop("symbol_id")) == 16
    place = {"path": "src/auth/jwt.rs", "line_start": 8, "line_end": 13}
    assert result == {**place, "kind": "fn", "name": "validate_token", "match": "exact"}


def test_signature_is_the_default_level(answer):
    assert answer(LocateSymbol(name="authenticate")) == answer(LocateSymbol(name="authenticate", detail_level="signature"))


def test_signature_adds_the_qualified_name_the_signature_the_language_and_the_visibility(answer):
    (result,) = answer(LocateSymbol(name="validate_token"))["results"]

    assert (result["qualified_name"], result["language"], result["visibility"]) == (
        "auth::jwt::validate_token",
        "rust",
        "public",
    )
    assert result["signature"] == "pub fn validate_token(token: &str, claims: &Claims) -> Result<User, TokenError>"


def test_context_adds_the_body_the_parent_and_the_related_symbols(answer):
    (method,) = answer(LocateSymbol(name="authenticate", detail_level="context"))["results"]
    (function,) = answer(LocateSymbol(name="validate_token", detail_level="context"))["results"]

    assert method["body_preview"].startswith("pub fn authenticate(&self, request: &Request)")
    assert set(method["parent"]) == REFERENCE
    assert [(related["kind"], related["name"], related["path"]) for related in function["related_symbols"]] == [
        ("struct", "Claims", "src/auth/jwt.rs"),
        ("enum", "TokenError", "src/auth/error.rs"),
    ]
    assert all(set(related) == REFERENCE for related in function["related_symbols"])


def test_types_that_only_the_body_names_are_related_too(answer, orders):
    (result,) = answer(LocateSymbol(name="handle_order_3", detail_level="context"), orders)["results"]

    assert [related["name"] for related in result["related_symbols"]] == [
        "Order",
        "Customer",
        "Receipt",
        "EmptyOrder",
        "Reservation",
    ]


def test_unavailable_fields_are_omitted_not_null(answer):
    for level in ("location", "signature", "context"):
        for request in (
            SearchCode(query="limiter", detail_level=level),
            LocateSymbol(name="LimitExceeded", detail_level=level),
        ):
            assert not any(value in (None, "", []) for result in answer(request)["results"] for value in result.values())
    (alone,) = answer(LocateSymbol(name="LimitExceeded", detail_level="context"))["results"]
    assert not {"parent", "related_symbols"} & set(alone)


def test_a_page_of_functions_costs_compactly_at_most_a_fifth_of_its_context(orders, state):
    request = SearchCode(query="order of a customer", kind="fn", detail_level="context")

    whole = search_code(orders, request, state)
    compact = search_code(orders, SearchCode(query=request.query, kind="fn", detail_level="context", compact=True), state)

    assert [result.symbol_id for result in compact.results] == [result.symbol_id for result in whole.results]
    assert len(whole.results) == 10
    assert len(encode(compact)) <= 0.2 * len(encode(whole))


def test_results_cost_about_what_the_levels_promise(orders, state):
    count = openai.o200k_base().count

    def mean(level):
        results = search_code(orders, SearchCode(query="order of a customer", kind="fn", detail_level=level), state).results
        return sum(count(encode(result).decode()) for result in results) / len(results)

    assert mean("location") <= 60
    assert mean("signature") <= 120
    assert 250 <= mean("context") <= 500


@pytest.mark.slow
@pytest.mark.parametrize(("level", "most_bytes"), [("location", 300), ("signature", 500)])
def test_a_hit_keeps_the_bytes_of_its_level(own, state, level, most_bytes):
    queries = ("how is a file parsed", "Snapshot", "estimate tokens", "regular expression", "write the index", "status", "job")
    sizes = sorted(
        len(encode(result))
        for query in queries
        for reply in (
            search_code(own, SearchCode(query=query, detail_level=level, limit=50), state),
            locate_symbol(own, LocateSymbol(name=query, detail_level=level, limit=50), state),
        )
        for result in reply.results
        if result.symbol_id
    )

    assert len(sizes) > 100
    assert sizes[int(0.95 * len(sizes))] <= most_bytes


@pytest.mark.slow
def test_a_default_answer_of_any_tool_is_at_most_30_kB(own, answer):
    for request in (
        SearchCode(query="index"),
        SearchCode(query="index", detail_level="context", ranking_explain_level="full"),
        SearchCode(query="e", mode="literal"),
        SearchCode(query=".", mode="regex"),
        LocateSymbol(name="run", detail_level="context"),
        GetFileOutline(path="store/facts.py"),
        GetSymbolHierarchy(symbol_name="FactsReader", direction="descendants"),
        FindRelatedSymbols(symbol_name="FactsReader", scope="package"),
        GetCodeContext(query="index", strategy="depth"),
    ):
        assert len(json.dumps(answer(request, own), separators=(",", ":"), ensure_ascii=False).encode()) <= 30_000, request


def test_ranking_reasons_are_absent_by_default(answer):
    assert "ranking_reasons" not in answer(SearchCode(query="limiter"))["metadata"]
    assert "ranking_reasons" not in answer(SearchCode(query="limiter", ranking_explain_level="off"))["metadata"]


@pytest.mark.parametrize("request_type", [SearchCode, LocateSymbol])
def test_full_ranking_reasons_have_the_eight_fields_and_basic_ones_fewer(answer, request_type):
    subject = {"query": "token bucket is"} if request_type is SearchCode else {"name": "validate_token"}

    full = answer(request_type(**subject, ranking_explain_level="full"))
    basic = answer(request_type(**subject, ranking_explain_level="basic"))

    reasons = full["metadata"]["ranking_reasons"]
    assert [reason["result_index"] for reason in reasons] == list(range(len(full["results"])))
    assert all(set(reason) - {"related_words"} == REASON for reason in reasons)
    assert all(set(reason) < REASON for reason in basic["metadata"]["ranking_reasons"])
    assert [reason["final_score"] for reason in reasons] == [result["score"] for result in full["results"]]
    for reason in reasons:
        assert all(
            0.0 <= value <= 1.0 for key, value in reason.items() if key not in ("result_index", "bm25_score", "related_words")
        )


def test_the_bm25_score_of_a_search_is_the_engines_own(answer):
    reply = answer(SearchCode(query="validate_token", ranking_explain_level="full"))
    (reason, *_) = reply["metadata"]["ranking_reasons"]

    assert reason["bm25_score"] > 1.0
    assert reason["exact_match_boost"] == 1.0
    assert reply["is_verbatim"] is True


def test_an_outline_nests_children_in_their_impl_and_shows_imports_as_use(answer):
    reply = answer(GetFileOutline(path="src/auth/handler.rs"))

    assert set(reply) == {"file_path", "language", "symbols", "metadata"}
    use, struct, impl = reply["symbols"][0], reply["symbols"][3], reply["symbols"][4]
    assert use == {"kind": "use", "name": "crate::auth::Claims", "line_start": 1, "line_end": 1}
    assert (struct["kind"], struct["signature"], struct["visibility"]) == ("struct", "pub struct AuthHandler", "public")
    assert (impl["kind"], impl["name"]) == ("impl", "AuthHandler")
    assert impl["children"][0] == {
        "kind": "fn",
        "name": "new",
        "line_start": 10,
        "line_end": 12,
        "visibility": "public",
        "signature": "pub fn new(claims: Claims) -> Self",
    }
    assert reply["metadata"]["symbol_count"] == 11


def test_a_hierarchy_names_every_symbol_with_its_handles_and_depth(answer):
    up = answer(GetSymbolHierarchy(symbol_name="Window.reset"))
    down = answer(GetSymbolHierarchy(symbol_name="RateLimiter", path="shop/limits.py", direction="descendants"))

    assert set(up) == set(down) == {"hierarchy", "direction", "chain_length", "metadata"}
    assert [set(node) for node in up["hierarchy"]] == [NODE] * 3
    assert [node["depth"] for node in up["hierarchy"]] == [0, 1, 2]
    assert set(down["hierarchy"][0]) == NODE | {"children"}
    assert down["chain_length"] == 7


def test_related_symbols_name_their_relation_and_the_anchor_its_place(answer):
    reply = answer(FindRelatedSymbols(symbol_name="LimitExceeded"))

    assert set(reply) == {"anchor", "related", "scope_used", "total_found", "metadata"}
    assert set(reply["anchor"]) == {"symbol_id", "symbol_stable_id", "kind", "name", "path", "line_start"}
    assert all(set(found) == (NODE - {"depth"}) | {"relation", "language"} for found in reply["related"])
    assert (reply["scope_used"], reply["total_found"]) == ("file", len(reply["related"]))


def test_a_code_context_says_how_much_of_what_it_found_it_shows(answer):
    whole = answer(GetCodeContext(query="limiter"))
    cut = answer(GetCodeContext(query="limiter", max_tokens=400))

    assert set(whole) == {"context_items", "estimated_tokens", "truncated", "metadata"}
    assert whole["metadata"].keys() >= {"strategy", "total_candidates", "returned"}
    assert cut["metadata"].keys() >= {"strategy", "total_candidates", "returned", "remaining_candidates", "suggestion"}
    assert (whole["truncated"], cut["truncated"]) == (False, True)


def test_a_signature_is_cut_at_240_characters_and_a_path_never(index_of, answer):
    path = "/".join(["deeply_nested_directory"] * 12) + "/wide.py"
    parameters = ", ".join(f"parameter_{number}: int" for number in range(40))
    snapshot = index_of({path: f"def wide({parameters}) -> int:\n    return 1\n"})

    (result,) = answer(LocateSymbol(name="wide"), snapshot)["results"]

    assert len(result["signature"]) == 240
    assert result["signature"].endswith("…")
    assert result["path"] == path
