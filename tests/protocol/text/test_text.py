"""Every kind of reply as text: what is written, and that the normal case is not mentioned."""

import pytest
from msgspec import Struct
from msgspec.structs import replace

from codecompass.errors import AmbiguousSymbol, error_body
from codecompass.protocol.job_views import JobView
from codecompass.protocol.metadata import PROTOCOL_VERSION, Metadata, RankingReason, bare_metadata
from codecompass.protocol.replies import (
    CodeContextReply,
    ContextItem,
    ErrorReply,
    Excerpt,
    FileOutlineReply,
    LocateSymbolReply,
    MatchedLine,
    NextAction,
    Result,
    SearchCodeReply,
)
from codecompass.protocol.state_replies import FileState, IndexRepoReply, IndexStatusReply
from codecompass.protocol.text import render

METADATA = Metadata(
    codecompass_protocol_version=PROTOCOL_VERSION,
    freshness_status="fresh",
    indexing_status="ready",
    result_completeness="complete",
    ref="main",
    schema_status="compatible",
    workspace="/w",
    project_id="0123456789abcdef",
)

HIT = Result(
    path="a.py",
    line_start=7,
    line_end=9,
    kind="fn",
    name="f",
    qualified_name="a.f",
    signature="def f()",
    result_type="symbol",
    excerpt=Excerpt(lines=(MatchedLine(line=8, text="    return 1"),)),
)


def search(**fields: object) -> SearchCodeReply:
    given: dict[str, object] = {"results": (HIT,), "query_intent": "symbol", "total_candidates": 1, "metadata": METADATA}
    return SearchCodeReply(**(given | fields))  # type: ignore[arg-type]


def test_an_answer_that_is_fresh_and_complete_is_its_hits_and_nothing_else():
    assert render(search()) == "a.py\n7-9 def f()\n8:    return 1"


def test_counts_say_how_many_there_are_and_how_to_see_more():
    assert render(search(total_candidates=12, unit="file", next_offset=1)).endswith("\n1 of 12 files; more: offset 1")
    last = search(results=(HIT,) * 100, total_candidates=512, unit="line", offset=412)
    assert render(last).endswith("\n100 of 512 lines after the first 412")
    some = search(total_candidates=1000, unit="line", is_counted=False, next_offset=1)
    assert render(some).endswith("\n1 of at least 1,000 lines; more: offset 1")
    # How many places a search considers says nothing.
    assert render(search(total_candidates=12, next_offset=1)).endswith("\nmore: offset 1")


def test_an_answer_that_shows_everything_counts_nothing():
    assert render(search(total_candidates=12, unit="line")) == render(search())


def test_nothing_found_says_so_and_what_to_try():
    action = NextAction(tool="search_code", query="x y", mode="literal", limit=5)

    text = render(search(results=(), total_candidates=0, suggested_next_actions=(action,)))

    assert text == 'nothing found\ntry: search_code query "x y", mode "literal", limit 5'


@pytest.mark.parametrize(
    ("metadata", "said"),
    [
        ({"warnings": ("a filter\nmatches nothing",)}, "warning: a filter�matches nothing"),
        (
            {"indexing_status": "not_indexed", "freshness_status": "stale", "result_completeness": "partial"},
            "there is no index yet",
        ),
        ({"freshness_status": "stale", "result_completeness": "partial"}, "files have changed"),
        ({"freshness_status": "syncing", "result_completeness": "partial"}, "being indexed"),
        ({"indexing_status": "indexing", "result_completeness": "partial"}, "first index"),
        ({"result_completeness": "partial"}, "not complete"),
    ],
)
def test_what_is_not_normal_is_said_in_one_line(metadata, said):
    *_, last = render(search(metadata=replace(METADATA, **metadata))).split("\n")

    assert last.startswith("warning: ")
    assert said in last


def test_hits_without_lines_and_signatures_are_one_line_each():
    hit = replace(HIT, signature="", excerpt=Excerpt())

    assert render(LocateSymbolReply(results=(hit,), total_candidates=1, metadata=METADATA)) == "a.py:7-9 fn f"


def test_reasons_are_there_where_they_were_asked_for():
    reason = RankingReason(result_index=0, exact_match_boost=1.0, path_affinity=0.5, definition_boost=1.0, final_score=0.9)

    assert "a.py: score 0.9" in render(search(metadata=replace(METADATA, ranking_reasons=(reason,))))


def test_context_is_code_below_its_path_with_what_was_left_out():
    item = ContextItem(
        path="a.py",
        line_start=7,
        line_end=8,
        kind="fn",
        name="f",
        qualified_name="a.f",
        signature="def f()",
        score=0.5,
        excerpt=Excerpt(lines=(MatchedLine(line=7, text="def f():"), MatchedLine(line=8, text="    pass")), is_whole=True),
    )
    brief = replace(item, line_start=20, line_end=30, excerpt=Excerpt())
    metadata = replace(METADATA, result_completeness="partial", returned=2, total_candidates=5, remaining_candidates=3)
    reply = CodeContextReply(context_items=(item, brief), estimated_tokens=9, truncated=True, metadata=metadata)

    assert render(reply).split("\n") == [
        "a.py",
        "7-8 fn f",
        "7:def f():",
        "8:    pass",
        "20-30 def f()",
        "2 of 5; more: a larger max_tokens",
    ]


def test_an_error_is_its_message_and_what_there_is_to_choose_from():
    candidates = [{"path": "a.py", "line": 3, "kind": "fn", "qualified_name": "a.f"}]
    error = AmbiguousSymbol("2 definitions are named f. Pass path.", candidates=candidates)

    text = render(ErrorReply(error=error_body(error), metadata=bare_metadata()))

    assert text == "error ambiguous_symbol: 2 definitions are named f. Pass path.\na.py:3 fn a.f"


def test_an_outline_without_definitions_says_how_to_find_the_text():
    text = render(FileOutlineReply(file_path="a.md", language="markdown", symbols=(), metadata=METADATA))

    assert text == "a.md markdown\ndefines nothing that is listed; search_code finds its text"


def test_a_job_says_how_it_stands():
    running = IndexRepoReply(job_id="j1", progress_token="t", status="running", mode="full", file_count=None, metadata=METADATA)
    ended = replace(running, status="published", file_count=1200, symbol_count=1, duration_seconds=0.41)
    failed = replace(running, status="failed", error_code="permission_denied", error_message="cannot write")

    assert render(running).startswith("full job j1 running\nsearches answer meanwhile")
    assert render(ended) == "full job j1 published, 1,200 files, 1 symbol, 0.4 s"
    assert render(failed) == "full job j1 failed\nerror permission_denied: cannot write"


def test_a_status_says_what_is_indexed_and_why_a_file_is_not():
    job = JobView(
        job_id="j1",
        progress_token="t",
        mode="full",
        status="running",
        files_scanned=9,
        files_indexed=5,
        symbols_extracted=7,
        estimated_completion_pct=40,
        started_at="2026-11-22T00:00:00Z",
    )
    reply = IndexStatusReply(
        project_id="p",
        repo_root="/w",
        index_status="indexing",
        ref="main",
        schema_status="compatible",
        current_schema_version=1,
        required_schema_version=1,
        file_count=2,
        symbol_count=3,
        source_bytes=2048,
        languages={"python": 2},
        skipped={"secret": 1},
        file=FileState(path=".env", status="skipped", reason="secret"),
        active_job=job,
        metadata=METADATA,
    )

    assert render(reply).split("\n") == [
        "/w: indexing, fresh, on main",
        "2 files, 3 symbols, 2.0 KB of source",
        "languages: python 2",
        "left out: secret 1",
        ".env: skipped, secret",
        "full job j1 running: 40 %, 5 files, 7 symbols so far",
    ]


def test_text_that_utf8_cannot_carry_does_not_stop_the_answer():
    reply: Struct = search(results=(replace(HIT, path="\udcff.py"),))

    assert "\ufffd.py" in render(reply)
