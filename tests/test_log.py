"""The log always goes to stderr, as text on a terminal, otherwise as JSON."""

import io
import json
import subprocess
import sys

import pytest
import structlog

from codecompass import log


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _restored():
    yield
    structlog.reset_defaults()


def test_a_file_or_pipe_gets_one_json_object_a_line():
    stream = io.StringIO()
    log.configure("info", stream=stream)

    structlog.get_logger("x").info("job_finished", path="a\nb", files=3)

    (line,) = stream.getvalue().splitlines()
    event = json.loads(line)
    assert (event["event"], event["level"], event["path"], event["files"]) == ("job_finished", "info", "a\nb", 3)
    assert event["timestamp"].endswith("Z")


def test_a_line_is_written_in_one_piece():
    """Other writers to the same descriptor must not come between a line and its newline."""
    pieces = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    log.configure("info", stream=Stream())

    structlog.get_logger("x").info("one")
    log.get_logger("y").warning("two")

    assert [piece.endswith("}\n") for piece in pieces] == [True, True]


@pytest.mark.parametrize("is_colored", [True, False])
def test_a_terminal_gets_text(is_colored):
    stream = Terminal()
    log.configure("info", stream=stream, is_colored=is_colored)

    structlog.get_logger("x").info("job_finished", files=3)

    assert "job_finished" in stream.getvalue()
    assert ("\x1b[" in stream.getvalue()) is is_colored


def test_the_format_can_be_chosen():
    stream = Terminal()
    log.configure("info", "json", stream=stream)

    structlog.get_logger("x").warning("disk_full")

    assert json.loads(stream.getvalue())["event"] == "disk_full"


def test_exceptions_are_part_of_the_line():
    stream = io.StringIO()
    log.configure("info", stream=stream)

    try:
        int("odd")
    except ValueError:
        structlog.get_logger("x").exception("job_failed")

    assert "ValueError: invalid literal" in json.loads(stream.getvalue())["exception"]


def test_less_severe_events_are_dropped():
    stream = io.StringIO()
    log.configure("warning", stream=stream)

    structlog.get_logger("x").info("job_started")

    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    ("level", "verbosity", "expected"),
    [("warning", 0, "warning"), ("warning", 1, "info"), ("warning", 2, "debug"), ("debug", 1, "debug"), ("error", 1, "info")],
)
def test_verbosity_only_ever_shows_more(level, verbosity, expected):
    assert log.level_for(level, verbosity) == expected


@pytest.mark.invariant("stdout carries only answers; logs go to stderr")
def test_nothing_ever_goes_to_stdout():
    """structlog prints to stdout by default, which would mix with protocol frames."""
    code = (
        "import logging, structlog; from codecompass import log; log.configure('debug');"
        "structlog.get_logger().warning('a'); structlog.get_logger('n').debug('b'); logging.getLogger('m').warning('c')"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == ""
    assert [word in done.stderr for word in ('"a"', '"b"', "m: c")] == [True] * 3
