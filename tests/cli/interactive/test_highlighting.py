"""The colours of previews come from a process of their own: no code keeps the search from answering."""

import os
import queue
import signal

import pytest

from codecompass.cli.interactive import highlighting
from codecompass.cli.interactive.finder import Finder, PreviewAnswer
from codecompass.cli.interactive.highlighting import PreviewHighlighter
from codecompass.cli.interactive.source import ListedHit, open_source
from codecompass.cli.invocation import GlobalOptions, Invocation
from codecompass.protocol.replies import Result
from tests.cli.conftest import write

DEADLINE_SECONDS = 60

HOSTILE = "\n".join("cat <<" + chr(0x4E00 + number) + "a" * 390 for number in range(160))
"""Takes the lexer of shell scripts minutes within one token: for each beginning of a word it searches the rest of the text."""


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """Colours are waited for, however busy the machine is: their process may still have to start."""
    monkeypatch.setattr(highlighting, "WAIT_SECONDS", DEADLINE_SECONDS)


@pytest.fixture
def highlighter():
    made = PreviewHighlighter()
    yield made
    made.close()


def wanted():
    return False


def kinds(answer):
    return {span.kind for line in answer.lines for span in line}


def coloured(highlighter, text="def f():\n    return 1"):
    answer = highlighter.highlighted(text, "python", wanted)
    return answer is not None and "k" in kinds(answer)


def test_code_that_takes_a_lexer_forever_is_plain_and_what_follows_is_coloured(highlighter):
    first = highlighter.highlighted(HOSTILE, "bash", wanted)
    is_next_coloured = coloured(highlighter)
    before = highlighter._process
    again = highlighter.highlighted(HOSTILE, "bash", wanted)

    assert (first, is_next_coloured, again) == (None, True, None)
    # What killed a process once is not given to another one.
    assert highlighter._process is before
    assert before.poll() is None


def test_an_answer_that_nobody_wants_any_more_is_skipped(highlighter):
    dropped = highlighter.highlighted("class C: pass", "python", lambda: True)

    assert dropped is None
    assert coloured(highlighter)
    assert coloured(highlighter, "import os")


def test_an_answer_that_kills_the_process_after_it_was_dropped_costs_one_preview_its_colours(highlighter):
    assert highlighter.highlighted(HOSTILE, "bash", lambda: True) is None
    highlighter.highlighted("def f(): pass", "python", wanted)

    assert coloured(highlighter, "def f(): pass")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_somebody_ends_is_started_again(highlighter, number):
    assert coloured(highlighter)
    os.kill(highlighter._process.pid, number)
    highlighter._process.wait()

    assert coloured(highlighter)


def test_a_process_that_stands_still_is_not_waited_for_when_the_search_goes_on(highlighter):
    assert coloured(highlighter)
    os.kill(highlighter._process.pid, signal.SIGSTOP)
    looks = iter([False, False, True])

    assert highlighter.highlighted("x = 1\n" * 100_000, "python", lambda: next(looks)) is None


def test_without_a_process_code_is_plain(highlighter, monkeypatch):
    monkeypatch.setattr("sys.executable", "/nonexistent/python")

    assert highlighter.highlighted("def f(): pass", "python", wanted) is None


def test_the_process_ends_with_the_highlighter(highlighter):
    assert coloured(highlighter)
    process = highlighter._process
    highlighter.close()

    assert process.returncode is not None


@pytest.mark.invariant(of="tests/worker/test_highlighting.py")
def test_questions_are_answered_beside_a_preview_that_takes_forever(cli, shop, monkeypatch):
    for name in ("CODECOMPASS_HOME", "HOME", "XDG_CONFIG_HOME", "GIT_CEILING_DIRECTORIES"):
        monkeypatch.setenv(name, cli.environment[name])
    write(shop, {"setup.sh": HOSTILE})
    cli("index")
    news: queue.SimpleQueue = queue.SimpleQueue()
    finder = Finder(open_source(Invocation(GlobalOptions(workspace=str(shop))), {}), news.put)
    finder.start()
    try:
        hit = ListedHit(Result(path="setup.sh", line_start=1, line_end=1), 1)
        finder.request_preview(hit)
        shown = news.get(timeout=DEADLINE_SECONDS)
        finder.ask("class Money", "auto")
        answer = news.get(timeout=DEADLINE_SECONDS)
    finally:
        finder.stop()

    assert isinstance(shown, PreviewAnswer)
    assert shown.preview is not None
    assert {style for line in shown.preview.lines for style, _ in line} == {""}
    assert answer.found.hits[0].path == "shop/money.py"
