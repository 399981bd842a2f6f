"""The progress of a job on a terminal: one line that is drawn again, and gone in the end."""

import io

import pytest

from codecompass.actors.job_model import Progress
from codecompass.cli.jobs import progress_bar, progress_line
from codecompass.cli.terminal import DEFAULT_WIDTH, Terminal, columns

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
