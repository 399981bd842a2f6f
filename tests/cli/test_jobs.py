"""The summary of a finished job, and its progress on a terminal: one line that is redrawn, and removed at the end."""

import io

import msgspec
import pytest

from codecompass.actors.job_state import Progress
from codecompass.cli.jobs import progress_bar, progress_line, summary
from codecompass.cli.json_output import FinishedJob
from codecompass.cli.terminal import DEFAULT_WIDTH, Terminal, columns

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
        ({"changed_files": 2, "symbols_written": 4}, "2 changed files indexed"),
        ({"symbols_written": 4}, "went on where the last run ended"),
        ({"mode": "full", "changed_files": 6, "symbols_written": 9}, "indexed 6 files, 9 symbols"),
    ],
)
def test_a_job_says_what_it_did(changes, said):
    assert summary(msgspec.structs.replace(NOTHING_DONE, **changes)).startswith(said)


PARSING = Progress(stage="parsing", files_scanned=3000, files_total=3000, files_parsed=1500, symbols_extracted=5000)


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def shown(screen: io.StringIO, environment: dict[str, str]) -> str:
    with progress_bar(Terminal(environment, out=io.StringIO(), err=screen)) as show:
        show(PARSING)
    return screen.getvalue()


def test_the_line_has_the_stage_the_bar_the_counters_and_the_time():
    line = progress_line(PARSING, 3725.9)

    assert line == f"Reading and parsing {'━' * 16}{' ' * 24}  40% 1,500/3,000 files, 5,000 symbols 1:02:05"


def test_the_line_fits_the_terminal_and_is_gone_in_the_end():
    _, first, last = shown(Screen(), {}).split("\r\x1b[2K")

    assert first.startswith("Reading and parsing ━")
    assert columns(first) < DEFAULT_WIDTH
    assert last == ""


@pytest.mark.parametrize(("screen", "environment"), [(io.StringIO, {}), (Screen, {"TERM": "dumb"})])
def test_nothing_is_drawn_where_a_line_cannot_be_drawn_again(screen, environment):
    assert shown(screen(), environment) == ""
