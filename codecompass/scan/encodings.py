"""Decodes the bytes of a file: the only place that knows encodings other than UTF-8.

In this order: a byte order mark, the zero bytes of UTF-16, a coding line, UTF-8, what a format or an `.editorconfig` declares, a
guess from the bytes. Only UTF-8 and byte order marks are certain. All else must decode without an error and look like text, so
that binary data without NUL bytes stays binary. The detector is imported by the first file that needs it.
"""

import codecs
import re
import unicodedata
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.scan.files import BINARY_PROBE_BYTES
from codecompass.units import KIB

UTF8: Final = "utf-8"

GUESSED_BYTES: Final = 64 * KIB
"""The encoding is guessed from at most this many bytes, of lines with bytes outside ASCII."""

_MARKS: Final = (
    # The mark of UTF-16 is the beginning of that of UTF-32.
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, UTF8),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_UTF16_SHARE: Final = 0.4
"""Least share of characters below 256, whose high byte is zero, in UTF-16 that is recognised without a mark. Of other bytes none
are zero there, so that tables of numbers are not text."""

_UTF16_BYTES: Final = 16
"""Fewer are no evidence."""

_NO_TEXT: Final = lazy.pattern("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")

Charset = Callable[[], str]
"""Returns what is declared about a file elsewhere, empty if nothing is. Called only for a file that is not UTF-8."""


def no_charset() -> str:
    """A `Charset` that knows nothing."""
    return ""


class Decoded(Struct, frozen=True):
    """A text without its byte order mark, and the Python name of its encoding."""

    text: str
    encoding: str = UTF8


def marked_encoding(head: bytes) -> str:
    """Returns the encoding that a byte order mark at the beginning of a file names, empty without one."""
    return next((encoding for mark, encoding in _MARKS if head.startswith(mark)), "")


def unmarked_utf16(head: bytes) -> str:
    """Returns the encoding of UTF-16 without a byte order mark, told from the beginning of a file; empty if it is none."""
    if len(head) < _UTF16_BYTES or b"\0" not in head:
        return ""
    pairs = head[: len(head) // 2 * 2]
    zeros_first, zeros_second = pairs[0::2].count(0), pairs[1::2].count(0)
    if min(zeros_first, zeros_second) or max(zeros_first, zeros_second) < _UTF16_SHARE * len(pairs) / 2:
        return ""
    encoding = "utf-16-be" if zeros_first else "utf-16-le"
    try:
        # The head may end within a character.
        text = codecs.getincrementaldecoder(encoding)().decode(pairs)
    except UnicodeError:
        return ""
    return "" if _NO_TEXT.search(text) else encoding


def decoded(data: bytes, charset: Charset = no_charset) -> Decoded | None:
    """Returns the text of a file, None if its encoding is unknown."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            text = _strictly(data[len(mark) :], encoding)
            return None if text is None else Decoded(text, encoding)
    if b"\0" in data[:BINARY_PROBE_BYTES] and (encoding := unmarked_utf16(data[:BINARY_PROBE_BYTES])):
        text = _strictly(data, encoding)
        return None if text is None else Decoded(text, encoding)
    if data.isascii():
        return Decoded(data.decode(), UTF8) if _ESCAPE not in data else _shifted(data)
    declared = declared_encoding(data)
    if declared.is_binding and (found := _as_declared(data, declared.name)) is not None:
        return found
    text = _strictly(data, UTF8)
    if text is not None:
        return Decoded(text)
    if _CONTROLS.search(data) is not None:
        return None
    for name in (declared.name, charset()):
        if (found := _as_declared(data, name)) is not None:
            return found
    return _guessed(data)


def _strictly(data: bytes, encoding: str) -> str | None:
    try:
        return data.decode(encoding)
    except (UnicodeError, LookupError):
        return None


# What is declared.

_HEAD_BYTES: Final = 1 * KIB
_CODING: Final = lazy.pattern(rb"coding[:=][ \t]*([-\w.]+)")
_WORDS_BEFORE: Final = lazy.pattern(rb"[ \t\f]*[#/*;%\"<!(-]")
"""How a line begins that is a comment in some language."""

_MARKUP: Final = lazy.pattern(
    rb"""<\?xml[^>]{0,200}?encoding=["']([-\w.]+)|<meta[^>]{0,200}?charset=["']?([-\w.]+)|\A@charset "([-\w.]+)"|"""
    rb"Content-Type: text/plain; charset=([-\w.]+)",
    re.IGNORECASE,
)
"""XML, HTML, CSS, catalogues of messages."""

_ALIASES: Final = {
    "x-sjis": "cp932",
    "windows-31j": "cp932",
    "cp-936": "gbk",
    "euc-japan": "euc_jp",
    "x-gbk": "gbk",
    "x-euc": "euc_jp",
}
_LINE_END_SUFFIX: Final = lazy.pattern(r"-(?:unix|dos|mac)\Z")
_ISO_LATIN: Final = lazy.pattern(r"iso-latin-(\d)")

_TEXT_CODEC: Final = lazy.pattern(
    r"iso8859[-_]\d{1,2}|cp\d{3,4}|koi8[-_][rtu]|gb2312|gbk|gb18030|big5(?:hkscs)?|shift_jis(?:_2004|x0213)?"
    r"|euc_(?:jp|kr|jis_2004|jisx0213)|iso2022_(?:jp|kr)\w*|johab|hz|tis-620|mac[-_]\w+|ptcp154|kz1048|hp-roman8"
)
"""Python's names of encodings of text that begin with ASCII characters. Others transform text, or are UTF."""

_SUPERSETS: Final = {
    "shift_jis": "cp932",
    "shift_jis_2004": "cp932",
    "euc_jis_2004": "euc_jp",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "euc_kr": "cp949",
    "big5": "cp950",
    "iso8859-1": "cp1252",
}
"""What texts really are that say so, and have characters that the encoding lacks."""


class DeclaredEncoding(Struct, frozen=True):
    """What a file says about itself; an empty name if it says nothing. `is_binding` for a coding line, which interpreters and
    editors follow also where the bytes would be UTF-8."""

    name: str = ""
    is_binding: bool = False


def declared_encoding(data: bytes) -> DeclaredEncoding:
    """Returns what the beginning of a file declares: a coding line (PEP 263, Emacs, Vim), or the declaration of a format."""
    head = data[:_HEAD_BYTES]
    for line in head.split(b"\n", 2)[:2]:
        if (
            b"coding" in line
            and _WORDS_BEFORE.match(line)
            and b"<?xml" not in line
            and (found := _CODING.search(line)) is not None
        ):
            return DeclaredEncoding(found[1].decode("ascii", "replace"), is_binding=True)
    found = _MARKUP.search(head)
    name = b"" if found is None else next(group for group in found.groups() if group is not None)
    return DeclaredEncoding(name.decode("ascii", "replace"))


def _codec_of(name: str) -> str:
    """Returns Python's name of an encoding of text that somebody has written, empty if there is none, or it is ASCII or UTF."""
    name = _LINE_END_SUFFIX.sub("", name.strip().lower())
    name = _ISO_LATIN.sub(r"iso8859-\1", _ALIASES.get(name, name))
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return ""
    return found if _TEXT_CODEC.fullmatch(found) else ""


def _as_declared(data: bytes, name: str) -> Decoded | None:
    codec = _codec_of(name) if name else ""
    if not codec or _CONTROLS.search(data) is not None:
        return None
    for encoding in (codec, _SUPERSETS.get(codec, "")):
        text = _strictly(data, encoding) if encoding else None
        if text is not None and not _C1_CONTROLS.search(text):
            return Decoded(text, encoding)
    return None


# What the bytes tell.

_ESCAPE: Final = b"\x1b"
_SHIFT_TO_JAPANESE: Final = lazy.pattern(rb"\x1b\$[@B]")

_CONTROLS: Final = lazy.pattern(rb"[\x00-\x07\x0e-\x19\x1c-\x1f\x7f]")
"""Bytes that no text has. Others are blanks, a backspace, an escape, or the end mark of DOS."""


def holds_controls(data: bytes) -> bool:
    """Whether there are bytes that no text has."""
    return _CONTROLS.search(data) is not None


_C1_CONTROLS: Final = lazy.pattern("[\x80-\x84\x86-\x9f]")
_BEYOND_ASCII: Final = lazy.pattern(rb"[\x80-\xff]+")
_BEYOND_ASCII_TEXT: Final = lazy.pattern(r"[^\x00-\x7f]")

_WESTERN: Final = ("cp1252", "cp1250", "iso8859-2", "cp1254", "cp1257")
_SCRIPTS: Final = (
    *_WESTERN,
    *("cp932", "euc-jp", "gb18030", "big5", "cp949", "euc-kr"),
    *("koi8-r", "koi8-u", "cp1251", "iso8859-5", "cp1253", "iso8859-7", "cp1255", "cp1256", "tis-620"),
)
"""The encodings that are guessed. Every further one costs others some of their files: of 800 Latin files, the detector with all
that it knows recognised 1 of 9, with these 99 of 100 (measured 2026-11-25)."""

_LINE_BYTES: Final = 1_000
"""Bytes of one line that are looked at."""

_LATIN_RUN: Final = 2
"""Bytes outside ASCII in a row that are usual in Latin script: `für`, `déjà`, `Größe`."""

_LATIN_SHARE: Final = 0.3
"""Most bytes outside ASCII in the lines of a text in Latin script that have any."""

_TOLD_APART_FROM: Final = 8
"""Bytes outside ASCII from which the detector can tell the encodings of Latin script apart."""

_UNUSUAL: Final = lazy.pattern(
    "[^\x00-\x7f\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u00ff\u0152\u0153\u00a0-\u00bf\u2013-\u2026\u20ac\u2122]"
)
_SIGN_IN_WORD: Final = lazy.pattern("[A-Za-z][\u00a1-\u00bf\u20ac\u2122\u0152\u0153][a-z]")

_LEAST_CONFIDENCE: Final = 0.03
"""Of the detector, for other scripts. Texts of one comment have .03 (Big5) to .4, 100 random bytes without control characters
less than .03 (measured 2026-11-25)."""

_LEAST_BYTES: Final = 4
"""Bytes outside ASCII from which another script is recognised."""

_FEW: Final = 0.2
"""Share of the bytes. Up to this, characters outside ASCII may all be signs: a copyright sign, quotation marks, dashes."""

_MIN_LETTERS: Final = 0.6
"""Least share of letters among the characters outside ASCII, if there are more."""


def _shifted(data: bytes) -> Decoded | None:
    """Returns an ASCII text, which may switch to Japanese by escape sequences (ISO 2022)."""
    if _SHIFT_TO_JAPANESE.search(data) is not None and (text := _strictly(data, "iso2022_jp_2")) is not None:
        return Decoded(text, "iso2022_jp_2")
    declared = _codec_of(declared_encoding(data).name)
    text = _strictly(data, declared) if declared.startswith("iso2022") else None
    return Decoded(data.decode()) if text is None else Decoded(text, declared)


def _guessed(data: bytes) -> Decoded | None:
    sample = _lines_beyond_ascii(data)
    encoding = _detected(sample)
    for each in (encoding, _SUPERSETS.get(encoding, "")):
        text = _strictly(data, each) if each else None
        if text is not None:
            return Decoded(text, each) if _looks_like_text(text, len(data)) else None
    return None


def _lines_beyond_ascii(data: bytes) -> bytes:
    """Returns the lines with bytes outside ASCII, as far as GUESSED_BYTES: all other lines only dilute them."""
    lines: list[bytes] = []
    size = 0
    position = 0
    while size < GUESSED_BYTES and (found := _BEYOND_ASCII.search(data, position)) is not None:
        start = max(data.rfind(b"\n", position, found.start()) + 1, position, found.start() - _LINE_BYTES // 4)
        line_end = data.find(b"\n", found.end())
        end = min(len(data) if line_end < 0 else line_end + 1, max(start + _LINE_BYTES, found.end()))
        end = min(end, start + GUESSED_BYTES)
        lines.append(data[start:end])
        size += end - start
        position = end
    return b"".join(lines)


def _detected(sample: bytes) -> str:
    """Returns the encoding of a text, empty if that is too uncertain."""
    runs = [len(run) for run in _BEYOND_ASCII.findall(sample)]
    # In Latin script, bytes outside ASCII stand alone among letters: then no other script is considered, however short the text.
    is_latin = sum(runs) <= _LATIN_SHARE * len(sample) and sum(runs) <= _LATIN_RUN * 0.75 * len(runs)
    western = _strictly(sample, _WESTERN[0]) if is_latin else None
    if western is not None and sum(runs) < _TOLD_APART_FROM and _is_usual(western):
        return _WESTERN[0]
    # The detector's tables take 25 MB, in each worker, for the rest of its life.
    import chardet

    found = chardet.detect(
        sample,
        include_encodings=_WESTERN if is_latin else _SCRIPTS,
        compat_names=False,
        no_match_encoding=_WESTERN[0],
    )
    encoding = found["encoding"] or ""
    if is_latin:
        # Where they do not differ, the more usual one.
        return _WESTERN[0] if western == _strictly(sample, encoding) else encoding
    return encoding if found["confidence"] >= _LEAST_CONFIDENCE and sum(runs) >= _LEAST_BYTES else ""


def _is_usual(text: str) -> bool:
    """Whether a text has only the usual letters of western Europe, and usual signs that are not inside of words."""
    return not _UNUSUAL.search(text) and not _SIGN_IN_WORD.search(text)


def _looks_like_text(text: str, n_bytes: int) -> bool:
    characters = _BEYOND_ASCII_TEXT.findall(text)
    kinds = [unicodedata.category(character) for character in characters]
    if any(kind in ("Cc", "Co", "Cn") for kind in kinds):
        return False
    return len(characters) <= _FEW * n_bytes or sum(kind[0] in "LM" for kind in kinds) >= _MIN_LETTERS * len(kinds)
