import struct

import pytest

from codecompass.scan.classify import Text, TextLimits, classify, looks_binary, text_limits
from codecompass.scan.files import BINARY_PROBE_BYTES


def test_utf8_text_comes_back_as_it_is():
    assert classify("naïve\r\nline two\n".encode()) == Text("naïve\r\nline two\n", "utf-8")


def test_an_empty_file_is_text():
    assert classify(b"") == Text("", "utf-8")


def test_a_byte_order_mark_is_no_part_of_the_text():
    assert classify(b"\xef\xbb\xbfint x;\n") == Text("int x;\n", "utf-8")


@pytest.mark.parametrize(("codec", "mark"), [("utf-16-le", b"\xff\xfe"), ("utf-16-be", b"\xfe\xff")])
def test_utf16_with_a_byte_order_mark_is_decoded(codec: str, mark: bytes):
    text = "Größe = 1\r\n"

    assert classify(mark + text.encode(codec)) == Text(text, codec)


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("padding", [0, 1, 4_065])
def test_utf16_without_a_byte_order_mark_is_told_by_its_zeros(codec: str, padding: int):
    text = " \n" * (padding // 2) + " " * (padding % 2) + "Größe = 1;\r\nname = 'Żółw 🐢'\r\n"

    assert classify(text.encode(codec)) == Text(text, codec)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param("x = 1\n".encode("utf-16-le"), id="too short"),
        pytest.param(struct.pack("<400h", *range(400)), id="numbers"),
        pytest.param(struct.pack("<200i", *range(32, 232)), id="long numbers"),
        pytest.param("text and\x01control\n".encode("utf-16-le") * 9, id="control characters"),
    ],
)
def test_numbers_with_zeros_are_no_utf16(data: bytes):
    assert classify(data) == "binary"


def test_a_text_with_a_zero_in_one_of_many_lines_is_text():
    lines = [f"line {number}" for number in range(30)]
    lines[7] = "a\0b"
    text = "\n".join(lines)

    assert classify(text.encode()) == Text(text)
    assert classify("\n".join(lines[:9]).encode()) == "binary"
    assert classify(text.replace("line 3", "\x01").encode()) == "binary"
    assert classify(text.encode() + b"\xff") == "binary"


def test_half_a_utf16_character_is_not_text():
    assert classify(b"\xff\xfea\0b") == "not_utf8"


def test_a_binary_file_that_begins_like_utf16_is_binary():
    assert classify(b"\xff\xfe" + bytes(200)) == "binary"


@pytest.mark.parametrize("codec", ["utf-32-le", "utf-32-be"])
def test_utf32_with_a_byte_order_mark_is_decoded(codec: str):
    data = ("\ufeff" + "Größe\n").encode(codec)

    assert not looks_binary(data)
    assert classify(data) == Text("Größe\n", codec)


def test_zeros_behind_a_mark_of_utf32_are_binary():
    assert classify(b"\xff\xfe\0\0" + bytes(200)) == "binary"
    assert classify(b"\0\0\xfe\xff" + b"\x12\x34\x56\x78" * 50) == "binary"


def test_a_nul_near_the_beginning_makes_a_file_binary_and_later_does_not():
    line = b"0123456\n"
    text = line * (BINARY_PROBE_BYTES // len(line))
    text = text[: -2 * len(line)] + b"\x01" * 16

    assert classify(text[:-1] + b"\0") == "binary"
    assert isinstance(classify(text + b"\0"), Text)
    assert looks_binary(text[:-1] + b"\0")
    assert not looks_binary(text + b"\0")


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"\xc0\xaf", id="overlong"),
        pytest.param(b"\xed\xa0\x80", id="surrogate"),
        pytest.param(b"\xe2\x82", id="cut off"),
    ],
)
def test_a_text_in_no_known_encoding_is_skipped_with_that_reason(data: bytes):
    assert classify(data) == "not_utf8"


def test_a_text_in_another_encoding_is_decoded():
    assert classify("café\n".encode("latin-1")) == Text("café\n", "cp1252")
    assert classify("żółć\n".encode("cp1250"), charset=lambda: "windows-1250") == Text("żółć\n", "cp1250")


def test_a_line_of_exactly_the_limit_is_kept_and_one_more_character_is_left_out():
    limits = TextLimits()
    padding = "short\n" * 1000
    longest = "x" * limits.max_line_characters

    assert classify((padding + longest + "\n" + padding).encode(), limits) == Text(padding + longest + "\n" + padding)
    assert classify((padding + longest + "x\n" + padding).encode(), limits) == Text(padding + "\n" + padding, long_lines=1)


@pytest.mark.parametrize("ending", ["", "\n"])
def test_a_last_line_over_the_limit_is_left_out(ending: str):
    text = "short\n" * 1000

    assert classify((text + "x" * 20_001 + ending).encode()) == Text(text + ending, long_lines=1)


def test_a_written_file_keeps_its_lines_however_much_data_one_of_them_holds():
    text = "# data\nDATA = '{}'\n\n\ndef size():\n    return len(DATA)\n"

    found = classify(text.format("A" * 500_000).encode())

    assert found == Text("# data\n\n\n\ndef size():\n    return len(DATA)\n", long_lines=1)


@pytest.mark.parametrize("text", ["x" * 30_000, "\n\n" + "x" * 30_000 + "\n", ("x" * 30_000 + "\n") * 5])
def test_a_file_of_nothing_but_long_lines_is_minified(text: str):
    assert classify(text.encode()) == "minified"


def test_the_mean_counts_the_lines_that_are_kept():
    lines = ["x" * 30_000, *["y" * 600] * 40]

    assert classify("\n".join(lines).encode()) == "minified"


def test_lines_are_measured_in_characters_not_bytes():
    padding = "short\n" * 1000

    assert isinstance(classify((padding + "é" * 20_000 + "\n").encode()), Text)


def test_the_line_rule_agrees_with_splitting_into_lines():
    limits = TextLimits(max_line_characters=7, max_mean_line_characters=10**6)
    for lengths in [(7, 7, 7), (8,), (0, 0, 8), (7, 8, 7), (8, 7), (1, 7, 1), (0,), (3, 3, 3, 3), (7, 0, 8, 0)]:
        text = "\n".join("x" * length for length in lengths)
        kept = "\n".join("x" * length if length <= 7 else "" for length in lengths)
        n_long = sum(length > 7 for length in lengths)
        expected = "minified" if n_long and not kept.strip() else Text(kept, long_lines=n_long)

        assert classify(text.encode(), limits) == expected, lengths


def test_a_long_mean_line_is_minified():
    minified = ("x" * 600 + "\n") * 20

    assert classify(minified.encode()) == "minified"


def test_a_mean_line_of_exactly_the_limit_is_kept():
    assert isinstance(classify((("x" * 500 + "\n") * 20).encode()), Text)


def test_a_higher_line_limit_admits_files_of_long_lines():
    minified = ("x" * 100_000).encode()

    assert classify(minified, text_limits(max_file_bytes=1 << 20, max_line_characters=99_999)) == "minified"
    assert classify(minified, text_limits(max_file_bytes=1 << 20, max_line_characters=4_000_000)) == Text(minified.decode())


def test_a_lower_line_limit_keeps_files_of_ordinary_lines():
    limits = text_limits(max_file_bytes=1 << 20, max_line_characters=1000)

    assert isinstance(classify(("x" * 400 + "\n").encode() * 100, limits), Text)


def test_a_small_file_on_one_line_is_kept():
    """A one-line SVG icon or JSON document is not minified."""
    assert isinstance(classify(b'<svg viewBox="0 0 24 24">' + b"<path d=0/>" * 300 + b"</svg>"), Text)


def test_a_lock_file_of_many_short_lines_is_kept():
    assert isinstance(classify(b'    "resolved": "https://example.org/a.tgz",\n' * 20_000), Text)


def test_a_file_that_grew_since_it_was_listed_is_too_large():
    assert classify(b"x\n" * 6, TextLimits(max_file_bytes=11)) == "too_large"
    assert isinstance(classify(b"x\n" * 6, TextLimits(max_file_bytes=12)), Text)


def test_old_mac_line_ends_are_kept():
    assert classify(b"one\rtwo\r") == Text("one\rtwo\r")
