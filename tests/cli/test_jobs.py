"""What a finished job is said to have done."""

import msgspec
import pytest

from codecompass.cli.jobs import summary
from codecompass.cli.json_output import FinishedJob

NOTHING_DONE = FinishedJob(
    job_id="1",
    project_id="2",
    repo_root="/srv/shop",
    status="published",
    mode="incremental",
    ref="main",
    generation=1,
    file_count=6,
    symbol_count=9,
    source_bytes=100,
    files_scanned=6,
    changed_files=0,
    files_written=0,
    files_removed=0,
    symbols_written=0,
    rows_written=0,
    documents_written=0,
    quarantined=(),
    duration_ms=1000,
    created_at="2026-01-01T00:00:00Z",
    finished_at="2026-01-01T00:00:01Z",
)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "nothing has changed"),
        ({"changed_files": 2, "symbols_written": 4}, "2 changed files taken in"),
        ({"symbols_written": 4}, "went on where the last run ended"),
        ({"mode": "full", "changed_files": 6, "symbols_written": 9}, "indexed 6 files, 9 symbols"),
    ],
)
def test_a_job_says_what_it_did(changes, said):
    assert summary(msgspec.structs.replace(NOTHING_DONE, **changes)).startswith(said)
