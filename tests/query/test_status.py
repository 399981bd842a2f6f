"""`index_status`: what an index contains, what was skipped and why; also without an index."""

import json

import msgspec

from codecompass.protocol.encode import encode
from codecompass.protocol.job_views import JobView
from codecompass.protocol.requests import IndexStatus
from codecompass.query import JobsState, index_status

VERSIONS = {"current_schema_version": 1, "required_schema_version": 1}


def test_counts_languages_and_skipped_files(index_of, state):
    snapshot = index_of({"a.py": "def f(): pass\n", "b.rs": "fn g() {}\n", "c.md": "# c\n", "d.bin": b"\x00", "e.py": "x = 1\n"})

    reply = index_status(snapshot, IndexStatus(), state, **VERSIONS)

    assert (reply.file_count, reply.symbol_count, reply.pending_files) == (4, 4, 0)
    assert list(reply.languages.items()) == [("python", 2), ("markdown", 1), ("rust", 1)]
    assert reply.skipped == {"binary": 1}
    assert reply.last_indexed_at.endswith("Z")
    assert reply.index_status == "ready"


def test_one_file_is_explained(index_of, state):
    snapshot = index_of({"a.py": "def f(): pass\n", "d.bin": b"\x00"})

    def explained(path):
        return index_status(snapshot, IndexStatus(path=path), state, **VERSIONS).file

    assert (explained("./a.py").status, explained("a.py").symbol_count) == ("indexed", 1)
    assert (explained("d.bin").status, explained("d.bin").reason) == ("skipped", "binary")
    assert explained("nowhere.py").status == "unknown"


def test_a_running_job_is_shown_and_makes_the_status_indexing(shop, state):
    job = JobView(
        job_id="abc",
        progress_token="index-job-abc",
        mode="full",
        status="running",
        files_scanned=10,
        files_indexed=5,
        symbols_extracted=20,
        estimated_completion_pct=50,
        started_at="2026-11-21T00:00:00Z",
    )

    reply = index_status(shop, IndexStatus(), state, JobsState(active_job=job), **VERSIONS)

    assert reply.index_status == "indexing"
    assert json.loads(encode(reply))["active_job"]["estimated_completion_pct"] == 50


def test_without_an_index_the_status_says_so_and_null_stands_for_no_job(state):
    unindexed = msgspec.structs.replace(
        state, indexing_status="not_indexed", schema_status="not_indexed", freshness_status="stale"
    )

    answer = json.loads(encode(index_status(None, IndexStatus(), unindexed, current_schema_version=0, required_schema_version=1)))

    assert answer["index_status"] == "not_indexed"
    assert answer["active_job"] is None
    assert "last_indexed_at" not in answer
    assert "interrupted_recovery_report" not in answer
    assert answer["metadata"]["result_completeness"] == "partial"
