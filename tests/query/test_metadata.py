"""What an answer reports about files changed since indexing: how many, which, and which of its hits are in them."""

import pytest

from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import (
    CallGraphReply,
    CodeContextReply,
    ContextItem,
    FindReferencesReply,
    GraphNode,
    LocateSymbolReply,
    Reference,
    ReferenceCounts,
    ReferenceDefinition,
    RelatedType,
    Result,
    TypeHierarchyReply,
)
from codecompass.query.metadata import mark_stale, stale_warning
from codecompass.query.token_budget import estimate_tokens

PATHS = ("a.py", "b.py")

METADATA = Metadata(
    codecompass_protocol_version="1.0",
    freshness_status="stale",
    indexing_status="ready",
    result_completeness="partial",
    ref="main",
    schema_status="compatible",
    workspace="/home/me/shop",
    project_id="0123456789abcdef",
)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, ("1 file has changed", "a0.py.")),
        (5, ("5 files have changed", "a0.py, a1.py, a2.py, a3.py, a4.py.")),
        (7, ("7 files have changed", "a0.py, a1.py, a2.py, a3.py, a4.py, and 2 more.")),
        (1500, ("1,500 files have changed", "and 1,495 more.")),
    ],
)
def test_a_warning_counts_the_files_and_names_five(count, expected):
    warning = stale_warning([f"a{number}.py" for number in range(count)])

    assert all(each in warning for each in expected), warning


def test_hits_in_changed_files_are_marked_and_the_others_are_as_they_were():
    results = tuple(Result(path=path, line_start=1, line_end=2) for path in ("a.py", "b.py"))

    marked = mark_stale(LocateSymbolReply(results=results, total_candidates=2, metadata=METADATA), {"b.py"})

    assert [result.stale for result in marked.results] == [False, True]
    assert b'"stale"' not in encode(marked.results[0])


def test_uses_symbols_and_types_in_changed_files_are_marked():
    counts = ReferenceCounts(exact=2, likely=0, possible=0, elsewhere=0, tests=0, roles={})
    symbol = {"path": "a.py", "line_start": 1, "line_end": 2, "kind": "fn", "name": "f", "qualified_name": "f", "symbol_id": "1"}
    uses = FindReferencesReply(
        definition=ReferenceDefinition(signature="", **symbol),
        references=tuple(Reference(path=path, line_start=1, line_end=1, role="call", confidence="exact") for path in PATHS),
        counts=counts,
        total=2,
        offset=0,
        metadata=METADATA,
    )
    nodes = tuple(GraphNode(id=n, distance=n, is_test=False, **symbol | {"path": path}) for n, path in enumerate(PATHS))
    graph = CallGraphReply(direction="callers", nodes=nodes, edges=(), metadata=METADATA)
    one = {"line_start": 1, "name": "A", "qualified_name": "A", "kind": "class", "depth": 0, "confidence": "exact"}
    types = TypeHierarchyReply(
        relation="subtypes", symbols=tuple(RelatedType(path=path, **one) for path in PATHS), total=2, metadata=METADATA
    )

    for reply, places in ((uses, "references"), (graph, "nodes"), (types, "symbols")):
        marked = getattr(mark_stale(reply, {"b.py"}), places)

        assert [place.stale for place in marked] == [False, True]
        assert b'"stale"' not in encode(marked[0])


@pytest.mark.parametrize("spare_tokens", [0, 5, 30, 1000])
def test_marks_do_not_make_an_answer_larger_than_was_promised(spare_tokens):
    items = tuple(ContextItem(path=f"a{n}.py", line_start=1, line_end=9, score=0.5, body="x = 1\n" * 20) for n in range(10))
    tokens = sum(estimate_tokens(encode(item)) for item in items) + 100
    reply = CodeContextReply(context_items=items, estimated_tokens=tokens, truncated=False, metadata=METADATA)

    marked = mark_stale(reply, {item.path for item in items}, max_tokens=tokens + spare_tokens)

    assert marked.estimated_tokens <= tokens + spare_tokens
    assert all(item.stale for item in marked.context_items)
    assert len(marked.context_items) >= 8
    assert marked.truncated == (len(marked.context_items) < 10)
