"""Splitting bytes into lines: the result is independent of how the input is cut, and lines that are too long are discarded."""

import itertools
import json

from hypothesis import given
from hypothesis import strategies as st

from codecompass.transport.mcp.connection import Input
from codecompass.transport.mcp.jsonrpc import Malformed
from codecompass.transport.stdio import KEPT_BYTES, LineFrames

LIMIT = 8


def frames_of(*pieces: bytes, limit: int = LIMIT) -> list[bytes | None]:
    """Returns the frames of an input that arrived in these pieces; None for each that was refused."""
    frames = LineFrames(limit)
    found = list(itertools.chain.from_iterable(list(frames.feed(piece)) for piece in pieces))
    return [told(each) for each in [*found, *frames.end()]]


def told(given: Input) -> bytes | None:
    if given.malformed is None:
        return given.frame
    assert isinstance(given.malformed, Malformed)
    assert given.frame == b""
    return None


def test_each_line_is_a_frame():
    assert frames_of(b"one\ntwo\n") == [b"one", b"two"]


def test_a_line_can_come_in_any_number_of_pieces():
    assert frames_of(b"o", b"", b"n", b"e\nt", b"wo", b"\n") == [b"one", b"two"]


def test_blank_lines_are_no_frames():
    assert frames_of(b"\n\r\n  \n\t\r\none\n\n") == [b"one"]


def test_a_carriage_return_before_the_end_of_line_belongs_to_it():
    assert frames_of(b"one\r\nt\rwo\r\n") == [b"one", b"t\rwo"]


def test_an_end_of_line_can_be_cut_in_two():
    assert frames_of(b"one\r", b"\ntwo\n") == [b"one", b"two"]


def test_a_last_line_without_an_end_is_a_frame():
    assert frames_of(b"one\ntwo") == [b"one", b"two"]


def test_a_nul_or_bytes_that_are_no_text_are_left_to_the_reader():
    assert frames_of(b"a\0b\n\xff\xfe\n") == [b"a\0b", b"\xff\xfe"]


def test_the_limit_is_that_of_a_line_without_its_end():
    assert frames_of(b"12345678\n", b"12345678\r\n", b"12345678") == [b"12345678"] * 3
    assert frames_of(b"123456789\n") == [None]
    assert frames_of(b"123456789\r\n") == [None]
    assert frames_of(b"123456789") == [None]


def test_a_line_that_is_too_long_is_refused_once_and_the_next_one_is_taken():
    assert frames_of(b"x" * 50, b"x" * 50, b"x\nnext\n") == [None, b"next"]


def test_a_line_that_is_too_long_is_refused_as_soon_as_that_is_known():
    frames = LineFrames(LIMIT)

    refused = list(frames.feed(b"x" * 50))

    assert [told(each) for each in refused] == [None]
    assert list(frames.feed(b"x" * 50)) == []
    assert list(frames.end()) == []


def test_no_more_than_the_limit_is_kept_of_a_line_without_an_end():
    frames = LineFrames(LIMIT)
    for _ in range(100):
        list(frames.feed(b"x" * 1000))

    assert len(frames._begun) <= LIMIT + 1


def test_the_room_of_a_long_line_is_given_back():
    frames = LineFrames(KEPT_BYTES * 4)
    long = b"x" * (KEPT_BYTES * 2)

    assert [each.frame for each in frames.feed(long + b"\n")] == [long]
    assert frames._begun.__alloc__() < KEPT_BYTES


@given(
    lines=st.lists(st.binary(max_size=LIMIT * 2).map(lambda line: line.replace(b"\n", b"")), max_size=8),
    end=st.sampled_from([b"", b"\n", b"\r\n"]),
    cuts=st.lists(st.integers(0, 200), max_size=10),
)
def test_the_same_frames_come_out_however_the_bytes_are_cut(lines, end, cuts):
    data = b"\n".join(lines) + end
    places = sorted({0, *(min(cut, len(data)) for cut in cuts), len(data)})
    pieces = [data[a:b] for a, b in itertools.pairwise(places)]

    whole = frames_of(data)

    assert frames_of(*pieces) == whole == frames_of(*(bytes([byte]) for byte in data))
    assert [each for each in whole if each is not None] == [
        line.removesuffix(b"\r") for line in data.split(b"\n") if line.strip() and len(line.removesuffix(b"\r")) <= LIMIT
    ]


@given(st.text(max_size=20))
def test_what_is_json_on_one_line_is_one_frame(text):
    message = json.dumps({"text": text}, ensure_ascii=False).encode()

    assert frames_of(message + b"\n", limit=1000) == [message]
