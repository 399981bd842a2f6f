"""Classifies a file by its bytes: text in a known encoding, or the reason why it is not indexed.

Pure and fast (a few microseconds for an ordinary file), because it runs on every file that is read. Keeps line endings, and an
empty line for each that is too long, so that line numbers stay right.
"""

import codecs
from typing import Final

from msgspec import Struct

from codecompass.languages.records import SkipReason
from codecompass.scan.encodings import UTF8, Charset, decoded, holds_controls, marked_encoding, no_charset, unmarked_utf16
from codecompass.scan.files import BINARY_PROBE_BYTES
from codecompass.units import KIB, MIB

LINES_PER_ZEROS: Final = 10
"""Lines, and bytes, of a text for each one with zero bytes: a log with a crash in it, a test that quotes one. Of 65,800 binary
files of a Linux system and 29 repositories one passes, an index with long texts (measured 2026-11-28)."""


class TextLimits(Struct, frozen=True):
    """Limits beyond which a text is not indexed. Line lengths are in characters without the line feed.

    A line of more than `max_line_characters` is left out. The mean length of the others is checked in files of
    `mean_applies_from_bytes` or more: an icon or a small JSON document on one line is worth indexing, while minified files are
    long.
    """

    max_file_bytes: int = MIB
    max_line_characters: int = 20_000
    max_mean_line_characters: int = 500
    mean_applies_from_bytes: int = 8 * KIB


DEFAULT_LIMITS: Final = TextLimits()


def text_limits(*, max_file_bytes: int, max_line_characters: int) -> TextLimits:
    """Returns the limits that follow from two settings.

    The limit of the mean grows in proportion to that of the longest line, because a user who allows longer lines wants such
    files. It never falls below its default, which ordinary prose reaches.
    """
    mean = max_line_characters * DEFAULT_LIMITS.max_mean_line_characters // DEFAULT_LIMITS.max_line_characters
    return TextLimits(
        max_file_bytes=max_file_bytes,
        max_line_characters=max_line_characters,
        max_mean_line_characters=max(mean, DEFAULT_LIMITS.max_mean_line_characters),
    )


class Text(Struct, frozen=True):
    """The text of a file without its byte order mark, and Python's name of its encoding."""

    text: str
    encoding: str = UTF8
    long_lines: int = 0
    """Lines that were too long, and are empty in `text`."""


def looks_binary(head: bytes) -> bool:
    """Whether a file that begins with `head` (8 KiB suffice) is binary, so that the rest need not be read.

    A zero byte makes it so, except in UTF-16 and UTF-32, and in a text that has some in one line of many.
    """
    head = head[:BINARY_PROBE_BYTES]
    return b"\0" in head and not marked_encoding(head) and not unmarked_utf16(head) and not _has_few_zeros(head)


def _has_few_zeros(head: bytes) -> bool:
    lines = head.split(b"\n")
    with_zeros = [line for line in lines if b"\0" in line]
    if len(with_zeros) * LINES_PER_ZEROS > len(lines) or sum(map(len, with_zeros)) * LINES_PER_ZEROS > len(head):
        return False
    try:
        # The head may end within a character.
        codecs.getincrementaldecoder(UTF8)().decode(head)
    except UnicodeError:
        return False
    return not holds_controls(head.replace(b"\0", b""))


def classify(data: bytes, limits: TextLimits = DEFAULT_LIMITS, charset: Charset = no_charset) -> Text | SkipReason:
    """Returns the text of a file, or why it is skipped: `too_large`, `binary`, `not_utf8` or `minified`.

    `charset` returns what an `.editorconfig` declares, for a file that is not UTF-8.
    """
    if len(data) > limits.max_file_bytes:
        return "too_large"
    if looks_binary(data):
        return "binary"
    found = decoded(data, charset)
    if found is None:
        return "binary" if b"\0" in data[:BINARY_PROBE_BYTES] and not marked_encoding(data).startswith("utf-16") else "not_utf8"
    if found.encoding.startswith(("utf-16", "utf-32")) and "\0" in found.text[:BINARY_PROBE_BYTES]:
        return "binary"
    text, n_long = _without_long_lines(found.text, limits.max_line_characters)
    if _is_minified(text, len(data) if not n_long else len(text), limits) or (n_long and not text.strip()):
        return "minified"
    return Text(text, found.encoding, n_long)


def _without_long_lines(text: str, longest: int) -> tuple[str, int]:
    """Returns the text with an empty line for each line that is too long, and their number."""
    if not _has_long_line(text, longest):
        return text, 0
    lines = text.split("\n")
    kept = ["" if len(line) > longest else line for line in lines]
    return "\n".join(kept), sum(len(line) > longest for line in lines)


def _has_long_line(text: str, longest: int) -> bool:
    # From each line feed, jump to the last one within `longest` characters; if there is none, the line is too long.
    start = 0
    while len(text) - start > longest:
        line_end = text.rfind("\n", start, start + longest + 1)
        if line_end < 0:
            return True
        start = line_end + 1
    return False


def _is_minified(text: str, n_bytes: int, limits: TextLimits) -> bool:
    if n_bytes < limits.mean_applies_from_bytes:
        return False
    n_lines = text.count("\n") + (not text.endswith("\n"))
    return len(text) - text.count("\n") > limits.max_mean_line_characters * n_lines
