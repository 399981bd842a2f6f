"""Lone halves of surrogate pairs become U+FFFD, whatever surrounds them and however long the message is."""

import json
import random

import pytest

from codecompass.transport.mcp.unusual_json import without_lone_surrogates

PIECES = (
    r"\ud83d", r"\ude00", r"\ud83d\ude00", r"\uD83D", r"\\", r"\n", r"\"", r"\u00e9", "ud83d", "a", "é", "中", "😀",
)  # fmt: skip
LONG = 200_000
"""Bytes; a message of this length is scanned in several pieces."""


def lone_halves(text):
    """Returns the text with each lone half of a surrogate pair replaced by U+FFFD."""
    return "".join("\ufffd" if 0xD800 <= ord(each) < 0xE000 else each for each in text)


@pytest.mark.parametrize("seed", range(20))
def test_a_long_message_is_read_as_a_short_one_is(seed):
    source = random.Random(seed)
    chosen = source.sample(PIECES, source.randrange(1, 5))
    written = "".join(source.choices(chosen, k=LONG // 4))

    read = json.loads(without_lone_surrogates(f'{{"a":"{written}"}}'.encode()))["a"]

    assert read == lone_halves(json.loads(f'"{written}"'))


@pytest.mark.parametrize("lead", range(14))
def test_a_pair_stays_a_pair_wherever_it_stands(lead):
    frame = f'{{"a":"{"x" * lead}{PIECES[2] * (LONG // 12)}{PIECES[0]}"}}'.encode()

    read = json.loads(without_lone_surrogates(frame))["a"]

    assert read == "x" * lead + "😀" * (LONG // 12) + "\ufffd"


def test_halves_that_are_written_as_bytes_are_found_too():
    frame = b'{"a":"' + b"\xed\xa0\xbd" * LONG + b'"}'

    assert json.loads(without_lone_surrogates(frame))["a"] == "\ufffd" * LONG
