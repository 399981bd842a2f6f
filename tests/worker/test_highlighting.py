"""Every lexer of the page, in a worker process: whatever it is given, an answer comes, within the worker's processor time."""

import pytest

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.worker.highlighting import lexer_of
from codecompass.worker.messages import CodeText, Highlight
from tests.support.lexer_texts import units_by_state

pytestmark = pytest.mark.invariant(
    "Code is classified for the page and for `search -i` in worker processes, ended after a second of processor time;"
    " it is then shown plain, and nobody else waits"
)

CPU_SECONDS = 1.0

REPETITIONS = 100

MAX_LINE_CHARACTERS = 2_000
"""Text with longer lines is not given to a lexer."""

OPENERS = (
    *(
        '"',
        "'",
        "`",
        "(",
        "[",
        "{",
        "<",
        "/*",
        "//",
        "#",
        "--",
        "<!--",
        "<<a",
        "<<'",
        "<a ",
        "${",
        "#{",
        "$(",
        "%{",
        "@",
        "\\",
        "/",
        'r#"',
    ),
    *('"""', "a<", "a(", "::", "a.", "-", "=", "~", "0x", "1e", " ", "\t", "\n", "a \n", "a=\n", "e\u0301", "\u4e2d", "\udce9"),
)
"""Beginnings of constructs in all languages."""


def span_lengths(answer):
    return [sum(span.length for span in line) for line in answer.lines]


def repeated(way, unit):
    """Yields texts that repeat a unit in a state, and that enter the state again and again."""
    for text in (way + unit * REPETITIONS, (way + unit) * REPETITIONS, way + f"{unit}\n" * REPETITIONS):
        if all(len(line) <= MAX_LINE_CHARACTERS for line in text.split("\n")):
            yield text


@pytest.mark.slow
@pytest.mark.parametrize("language", [name for name in SYMBOL_LANGUAGES if lexer_of(name) is not None])
async def test_a_lexer_answers_repetitions_in_each_of_its_states_or_ends_its_own_process(language):
    states = units_by_state(lexer_of(language), seed=20261126)
    units = [(way, unit) for way, own in states.values() for unit in dict.fromkeys(own) if unit]
    units += [(way, unit) for way in dict.fromkeys(way for way, _ in states.values()) for unit in OPENERS]
    units += [("", unit) for unit in OPENERS]
    texts = [*dict.fromkeys(text for way, unit in units for text in repeated(way, unit)), "a" + " " * 1_980 + "\n"]

    async with open_worker_pool(1) as pool:
        for text in texts:
            n_before = pool.killed_count
            code = CodeText(text.encode("utf-8", "surrogatepass"), language)
            result = await pool.highlight(Highlight((code,), b"", CPU_SECONDS), seconds=60)

            if pool.killed_count > n_before:
                assert result.was_killed_by_text
            else:
                assert [span_lengths(each) for each in result.answers] == [[len(line) for line in text.split("\n")]]

        assert pool.killed_count <= len(texts) // 100, "a lexer that is slow for many texts is not worth its colours"


async def test_a_text_that_takes_too_much_time_ends_the_worker_and_those_before_it_are_answered():
    fine = CodeText(b"return 1", "python")
    slow = CodeText("\n".join("cat <<" + chr(0x4E00 + number) + "a" * 1_980 for number in range(49)).encode(), "bash")
    async with open_worker_pool(1) as pool:
        result = await pool.highlight(Highlight((fine, slow, fine), b"", CPU_SECONDS), seconds=60)
        again = await pool.highlight(Highlight((fine,), b"", CPU_SECONDS), seconds=60)

    assert (len(result.answers), result.was_killed_by_text) == (1, True)
    assert again.answers == result.answers
