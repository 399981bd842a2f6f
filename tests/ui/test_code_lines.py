"""Code in colour: worker processes classify it, whatever it is, and a page never waits long for one."""

import html
import re

import pytest

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.protocol.replies import MatchedLine
from codecompass.query.excerpts import word_pattern
from codecompass.transport.ui.code_lines import MAX_CHARACTERS, Highlighter, PlainLines
from tests.ui.shop import FILES

HOSTILE_LINES = ["cat <<" + chr(0x4E00 + number) + "a" * 1_980 for number in range(49)]


@pytest.fixture(autouse=True)
def _patience(monkeypatch):
    """A page waits for its colours however busy the machine is; what takes too long is told by its CPU time."""
    monkeypatch.setattr("codecompass.transport.ui.code_lines.WAIT_SECONDS", 60)


"""Takes the lexer of shell scripts minutes within one token: for each beginning of a word it searches the rest of the text."""


def plain(lines, language="python", first=1):
    return PlainLines(tuple(MatchedLine(line=first + index, text=text) for index, text in enumerate(lines)), language)


def _unescaped(shown):
    """Returns the text of lines without the page's own markup; any other markup stays."""
    return [html.unescape(re.sub(r"</?(?:i|b)(?: class=\"[a-z]\")?>", "", str(line.html))) for line in shown]


@pytest.mark.invariant(of="test_no_markup_of_a_repository_or_a_query_becomes_markup")
@pytest.mark.slow
@pytest.mark.parametrize("language", ["python", "typescript", "php", "ruby", "markdown", "nonsense", "sql", "haskell", "bash"])
async def test_highlighting_changes_no_character_and_no_line(language):
    texts = (
        *FILES.values(),
        "",
        "\n\n",
        "a\r\nb\tc\n",
        "'\"`" * 50,
        '"""unfinished\n<b>&amp;',
        "<script>\u2028\u0000\x0c</script>\x85x\x0by",
        "\udce9 half a character",
        "x" * 3_000,
        "y = 1\n" * (MAX_CHARACTERS // 6 + 1),
    )
    async with open_worker_pool(1) as pool:
        highlighter = Highlighter(pool)
        for wanted in (None, word_pattern("cart script unfinished"), re.compile(re.escape("\udce9 half"))):
            shown = await highlighter.lines([plain(text.split("\n"), language) for text in texts], wanted)

            assert [_unescaped(each) for each in shown] == [text.split("\n") for text in texts]


async def test_lines_that_do_not_follow_on_each_other_are_shown_apart():
    lines = [MatchedLine(line=3, text="def f():"), MatchedLine(line=4, text="    '''"), MatchedLine(line=9, text="    return 1")]
    async with open_worker_pool(1) as pool:
        [shown] = await Highlighter(pool).lines([PlainLines(tuple(lines), "python")])

    assert [(line.number, line.follows) for line in shown] == [(3, True), (4, True), (9, False)]
    assert '<i class="k">return</i>' in shown[2].html


async def test_words_are_marked_in_code_of_every_language_and_in_long_lines():
    async with open_worker_pool(1) as pool:
        places = [plain(["return cart"], "python"), plain(["the cart"], "markdown"), plain(["cart " + "x" * 3_000], "python")]
        shown = await Highlighter(pool).lines(places, word_pattern("cart"))

    assert all("<b>cart</b>" in each[0].html for each in shown)


@pytest.mark.invariant(of="tests/worker/test_highlighting.py")
async def test_code_that_no_lexer_can_take_in_time_is_shown_plain_and_the_next_page_in_colour():
    async with open_worker_pool(1) as pool:
        highlighter = Highlighter(pool)
        before, hostile, behind = plain(["return 1"]), plain(HOSTILE_LINES, "bash"), plain(["return 2"])

        shown = await highlighter.lines([before, hostile, behind])
        again = await highlighter.lines([before, hostile, behind])

        assert _unescaped(shown[1]) == _unescaped(again[1]) == HOSTILE_LINES
        assert not any("<i" in line.html for line in (*shown[1], *again[1]))
        assert '<i class="k">return</i>' in shown[0][0].html
        # What killed a worker once is not given to another one.
        assert ['<i class="k">return</i>' in each[0].html for each in (again[0], again[2])] == [True, True]
        assert pool.killed_count == 1


async def test_a_page_is_shown_without_a_process_that_could_highlight_it(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nonexistent/python")
    async with open_worker_pool(1) as pool:
        [shown] = await Highlighter(pool).lines([plain(["return <1>"])])

    assert [line.html for line in shown] == ["return &lt;1&gt;"]
