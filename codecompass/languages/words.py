"""Words inside identifiers: `getHTTPServerName` holds `get http server name`; and identifiers as wholes: `get_user(`.

The text index splits at punctuation by itself (so for ranking `snake_case` and `a.b.c` need nothing), but not at case. A memo
makes this affordable: 43 to 47 MB/s against 4 for a regex tokenizer inside the text index (measured 2026-11-20).
"""

import re
import unicodedata
from typing import Final

from msgspec import Struct

_HUMPS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_RUN: Final = re.compile(r"[^\W_]+")
_ASCII_NAME: Final = re.compile("[0-9A-Za-z_]+")
_KEPT: Final = bytes(byte if byte >= 128 or chr(byte).isalnum() or byte in b"_(" else 32 for byte in range(256))
_BEYOND_ASCII: Final = bytes(range(128, 256))
_PERHAPS_MARK: Final = re.compile(r"[^\w\x00-\x7f]")
_MANY_BLANKS: Final = b" " * 8 + b"("

MAX_TOKEN_BYTES: Final = 128
"""The text index drops tokens of this length and more. Longer ones are data."""

NAME_MARK: Final = "="
"""Stands before an identifier as a whole."""

CALL_MARK: Final = "("
"""Stands before an identifier that a parenthesis follows."""

ASCII_MARK: Final = "~"
"""Stands before the marks above, or before a word, where letters outside ASCII touch it: there it is a word only to those who
know ASCII alone, as `\\b` in a pattern."""

MAX_MARK_BYTES: Final = 2

ODD_WORD_MARK: Final = "!odd"
"""Stands for a word that no search finds by its letters: one that is too long for the index, or has one of the letters below."""

_OTHER_CASE: Final = re.compile("[\u017f\u212a]")
"""Letters outside ASCII that are `s` and `k` in another case: in a pattern that does not tell cases apart they match, and yet
`\\b` and `\\w` do not count them as letters."""

_OTHER_CASE_BYTES: Final = re.compile("\u017f|\u212a".encode())

MEMO_LIMIT: Final = 50_000
"""Distinct identifiers remembered by one splitter, 7 MB. Four times as many save 1 % of the time of indexing (2026-11-21)."""


class TextWords(Struct, frozen=True):
    """What the index is told about a text besides the text itself, blank separated, sorted, each word and name once.

    `parts` are the lower-case parts of its camelCase words. `names` are identifiers as wholes, as far as the index cannot
    make them from the text: `=get_user` for one with an underscore, `(getUser` for one that a parenthesis follows (there may
    be blanks and other marks before it), and what else the marks above say.
    """

    parts: str
    names: str


_Word = tuple[tuple[tuple[str, str], ...], str]
"""Of an identifier that is not plain: its camelCase words with the parts of each, and its names, blank separated."""


class WordSplitter:
    """Splits identifiers, remembering what it has seen. One per process or per job; not thread-safe."""

    def __init__(self) -> None:
        self._plain: set[bytes] = set()
        self._words: dict[bytes, _Word] = {}

    def words_of_text(self, text: str) -> TextWords:
        """Returns the words of `text` that the index does not see by itself."""
        # Most words are plain, and known: for these everything happens outside the interpreter's loop.
        words = [word for identifier in set(_identifiers(text)) - self._plain if (word := self._word(identifier))]
        camel = {run: parts for pairs, _ in words for run, parts in pairs}
        names = set(" ".join([names for _, names in words]).split())
        return TextWords(" ".join([camel[key] for key in sorted(camel)]), " ".join(sorted(names)))

    def _word(self, identifier: bytes) -> _Word | None:
        """Returns what an identifier gives; None for a plain one, which is in the text as the index sees it."""
        word = self._words.get(identifier)
        if word is None:
            if len(self._words) + len(self._plain) >= MEMO_LIMIT:
                self._words.clear()
                self._plain.clear()
            word = None if _is_plain(identifier) else _word(identifier)
            if word is None:
                self._plain.add(identifier)
            else:
                self._words[identifier] = word
        return word


def _is_plain(identifier: bytes) -> bool:
    """Whether it is of the kinds that most words are of, and that give nothing: `word`, `Word`, `WORD`, `w0rd`, `слово`."""
    if len(identifier) >= MAX_TOKEN_BYTES:
        return False
    if identifier.isalpha():
        return identifier.islower() or identifier[1:].islower() or identifier.isupper()
    if identifier.isalnum():
        return identifier.islower() or identifier.isdigit()
    return not identifier.translate(None, _BEYOND_ASCII) and not _OTHER_CASE_BYTES.search(identifier)


def _identifiers(text: str) -> list[bytes]:
    """The identifiers of a text in their order, with a `(` at the end of each that one follows, alone where none precedes it."""
    data = text.encode("utf-8", "surrogatepass").translate(_KEPT)
    while _MANY_BLANKS in data:
        data = data.replace(_MANY_BLANKS, b"(")
    for blanks in (b"    (", b"  (", b" ("):
        data = data.replace(blanks, b"(")
    return data.replace(b"(", b"( ").split()


def _word(identifier: bytes) -> _Word | None:
    is_called = identifier.endswith(b"(")
    text = identifier.removesuffix(b"(").decode("utf-8", "replace")
    if is_called and text.isascii() and _is_plain(identifier[:-1]):
        return ((), CALL_MARK + text) if text else None
    is_odd = len(identifier) >= MAX_TOKEN_BYTES
    if text.isascii():
        pieces = [] if text.islower() else [text]
        names = _names(text, is_called)
    else:
        pieces = _PERHAPS_MARK.sub(_blank_for_mark, text).split()
        names = [name for number, piece in enumerate(pieces, 1) for name in _names_in(piece, is_called and number == len(pieces))]
        is_odd = is_odd or _OTHER_CASE.search(text) is not None
    if is_odd:
        names.append(ODD_WORD_MARK)
    camel = [(run, parts) for piece in pieces for run in piece.split("_") if (parts := _parts(run))]
    return (tuple(camel), " ".join(names)) if camel or names else None


def _names_in(piece: str, is_called: bool) -> list[str]:
    """The names of an identifier, and where it is not of ASCII alone, those of ASCII in it."""
    names = _names(piece, is_called)
    if not piece.isascii():
        for run in _ASCII_NAME.finditer(piece):
            own = _names(run[0], is_called and run.end() == len(piece))
            names += [ASCII_MARK + name for name in (*own, *run[0].split("_")) if name]
    return names


def _names(name: str, is_called: bool) -> list[str]:
    """The name with its marks, as far as the index cannot make it from the text."""
    return [NAME_MARK + name] * ("_" in name) + [CALL_MARK + name] * (is_called and bool(name))


def _parts(word: str) -> str:
    """The parts of a camelCase word; of another none, unless letters outside ASCII stand beside it."""
    humps = [] if word.islower() or len(word) >= MAX_TOKEN_BYTES else _HUMPS.findall(word)
    return " ".join(humps).lower() if len(humps) > 1 or not word.isascii() else ""


def _blank_for_mark(found: re.Match[str]) -> str:
    """A blank for what is surely no letter to the index either: punctuation, blanks, signs; but for letters in circles."""
    character = found[0]
    is_letter = "\u249c" <= character <= "\u24e9" or character >= "\U0001f100"
    return character if is_letter or unicodedata.category(character)[0] not in "PZS" else " "


def word_set(text: str) -> frozenset[str]:
    """Returns the blank-separated words of `text`."""
    return frozenset(text.split())


def split_identifier(name: str) -> list[str]:
    """Returns the lower-case words of one identifier or path, split at punctuation and at case, in order.

    `getHTTPServer_v2` gives `get http server v 2`; letters outside ASCII stay together as one word.
    """
    if name.isascii():
        return " ".join(_HUMPS.findall(name)).lower().split()
    words: list[str] = []
    for run in _RUN.findall(name):
        if run.isascii():
            words.extend(hump.lower() for hump in _HUMPS.findall(run))
        else:
            words.append(run.lower())
    return words
