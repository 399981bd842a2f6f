"""Replies of another server are validated before they are merged; which names may be sent to another server."""

import msgspec
import pytest

from codecompass.protocol.decode import asked_elsewhere, may_be_elsewhere, several_projects
from codecompass.protocol.parts import PartRequest, WrongReply, decode_error, decode_parts, decode_reply
from codecompass.protocol.replies import SearchCodeReply, TypeHierarchyReply
from codecompass.protocol.requests import FindReferences, GetSymbolHierarchy, SearchCode

METADATA = {
    "codecompass_protocol_version": "1.0",
    "freshness_status": "fresh",
    "indexing_status": "ready",
    "result_completeness": "complete",
    "ref": "live",
    "schema_status": "compatible",
    "workspace": "w",
    "project_id": "p",
}
REQUEST = SearchCode(query="x")


def found(metadata: dict | None = None, **evidence) -> bytes:
    reply = {
        "results": [{"path": "a.py", "line_start": 1, "line_end": 1}],
        "query_intent": "natural_language",
        "total_candidates": 1,
        "metadata": {**METADATA, **(metadata or {})},
        "evidence": {
            "n_texts": 10,
            "words": [{"text": "x", "weight": 1.0, "frequency": 3}],
            "hits": [{"score": 1.5, "has": [1.0]}],
            **evidence,
        },
    }
    return msgspec.json.encode(reply)


def test_a_reply_is_read_as_it_was_written():
    reply = decode_reply(REQUEST, found())

    assert isinstance(reply, SearchCodeReply)
    assert msgspec.json.decode(msgspec.json.encode(reply)) == msgspec.json.decode(found())


@pytest.mark.parametrize(
    "evidence",
    [
        {"hits": []},
        {"hits": [{"score": 1.0, "has": []}]},
        {"hits": [{"score": 1.0, "has": [1.0, 1.0]}]},
        {"hits": [{"score": -1.0, "has": [1.0]}]},
        {"hits": [{"score": 1.0, "has": [-1.0]}]},
        {"n_texts": 2},
        {"n_texts": -1, "words": [], "hits": [{"score": 1.0, "has": []}], "extra": 1}
        | {"words": [{"text": "x", "weight": 1.0, "frequency": 0}]},
        {"words": [{"text": "x", "weight": 1.0, "frequency": -1}]},
        {"words": [{"text": "x", "weight": -1.0, "frequency": 1}]},
        {"words": "x"},
    ],
)
def test_evidence_that_cannot_be_compared_is_refused(evidence):
    with pytest.raises(WrongReply):
        decode_reply(REQUEST, found(**evidence))


@pytest.mark.parametrize("index", [-1, 1, 10**9])
def test_a_reason_without_a_result_is_refused(index):
    reason = {"result_index": index, "exact_match_boost": 0.0, "path_affinity": 0.0, "definition_boost": 0.0, "final_score": 0.0}

    with pytest.raises(WrongReply):
        decode_reply(REQUEST, found({"ranking_reasons": [reason]}))


@pytest.mark.parametrize("content", [b"", b"null", b"[]", b"{}", b"\xff", b"[" * 100_000, b'{"results": 1}', b"1e999"])
def test_what_is_no_reply_is_refused_without_being_repeated(content):
    for read in (lambda it: decode_reply(FindReferences(symbol_name="x"), it), decode_parts, decode_error):
        with pytest.raises(WrongReply) as refused:
            read(content)
        assert "1e999" not in str(refused.value)


def test_the_kind_of_hierarchy_follows_from_the_question():
    content = msgspec.json.encode({"relation": "subtypes", "symbols": [], "total": 0, "metadata": METADATA})

    assert isinstance(decode_reply(GetSymbolHierarchy(symbol_name="x", relation="subtypes"), content), TypeHierarchyReply)


@pytest.mark.parametrize(
    "part",
    [
        {"seconds": -1},
        {"seconds": 61},
        {"answers": "xml"},
        {"leave_out": ["x"] * 2001},
        {"leave_out": ["x" * 101]},
        {"imported": {}},
    ],
)
def test_a_request_for_parts_has_bounds(part):
    with pytest.raises(msgspec.ValidationError):
        msgspec.json.decode(msgspec.json.encode(part), type=PartRequest)


@pytest.mark.parametrize(
    "name",
    [
        "flask",
        "pallets/flask",
        "group/sub/flask",
        "Flask_2.x",
        "git.example.org:8443/a/b",
        "https://git.example.org/a/b.git",
        "git@h:a/b",
    ],
)
def test_names_and_addresses_may_be_elsewhere(name):
    assert may_be_elsewhere(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "/srv/flask",
        "~/flask",
        "./flask",
        "../flask",
        ".",
        "a b",
        "a\\b",
        "C:\\flask",
        "a//b",
        "a/../b",
        "a\nb",
        "x" * 301,
        "-x",
        "ä/b",
    ],
)
def test_what_can_be_a_path_of_this_machine_may_not(name):
    assert not may_be_elsewhere(name)


def test_a_prefix_says_that_a_name_is_elsewhere():
    assert asked_elsewhere(" org:pallets/flask ") == "pallets/flask"
    assert asked_elsewhere("flask") is None
    assert asked_elsewhere("org:") is None
    assert several_projects("api,org:pallets/flask") == ("api", "org:pallets/flask")
    assert several_projects("/srv/a,b") is None
