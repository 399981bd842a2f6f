"""Splits identifiers into words (`getHTTPServerName` gives `get http server name`), and lists whole identifiers (`get_user(`).

The text index itself splits at punctuation (`snake_case` and `a.b.c` need nothing here), but not at case. Remembering words
makes this fast: 43 to 47 MB/s against 4 for a regex tokenizer inside the text index (measured 2026-11-20).
"""

import re
import unicodedata
from typing import Final

from codecompass import lazy
from codecompass.languages.records import TextWords
from codecompass.languages.unspaced import LETTERS, RUN, has_letters, pairs_of_run, pairs_of_text, words_beside

_CASE_WORDS: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_RUN: Final = lazy.pattern(rf"[{LETTERS}]+|[^\W_{LETTERS}]+")
_ASCII_NAME: Final = re.compile("[0-9A-Za-z_]+")
_IDENTIFIER_BYTES: Final = bytes(byte if byte >= 128 or chr(byte).isalnum() or byte in b"_(" else 32 for byte in range(256))
_WORD_BYTES: Final = _IDENTIFIER_BYTES.replace(b"(", b" ")
_BEYOND_ASCII: Final = bytes(range(128, 256))
_POSSIBLE_SEPARATOR: Final = re.compile(r"[^\w\x00-\x7f]")
_MANY_BLANKS: Final = b" " * 8 + b"("

MAX_TOKEN_BYTES: Final = 128
"""The text index drops tokens of this length or more; they are data."""

NAME_MARK: Final = "="
"""Prefix of a whole identifier."""

CALL_MARK: Final = "("
"""Prefix of an identifier that is followed by a parenthesis."""

ASCII_MARK: Final = "~"
"""Prefix of a marked name, or of a word, that is next to letters outside ASCII: it is a whole word only for patterns in which
`\\b` knows ASCII letters only."""

MAX_MARK_BYTES: Final = 2

ODD_WORD_MARK: Final = "!odd"
"""Replaces a word that cannot be found by its letters: it is too long for the index, or has one of the letters below."""

_OTHER_CASE_BYTES: Final = re.compile("\u017f|\u212a".encode())
"""Letters outside ASCII that are `s` and `k` in another case: a pattern that ignores case matches them, although `\\b` and `\\w`
do not count them as letters."""

MEMO_LIMIT: Final = 50_000
"""Distinct identifiers that one splitter remembers, 7 MB. Four times as many save 1 % of the indexing time (2026-11-21)."""


_Word = tuple[dict[str, str], str]
"""For an identifier that is not plain: its camelCase words with the parts of each, and its names, separated by blanks."""


class WordSplitter:
    """Splits identifiers and remembers the results. One per process or job; not thread-safe."""

    def __init__(self) -> None:
        # Every identifier is either plain, or has names, which may be empty. Few have camelCase words.
        self._plain: set[bytes] = set()
        self._names: dict[bytes, str] = {}
        self._camel: dict[bytes, dict[str, str]] = {}

    def words_of_text(self, text: str) -> TextWords:
        """Returns the words of `text` that the index cannot find by the text."""
        if len(self._names) + len(self._plain) >= MEMO_LIMIT:
            self._names.clear()
            self._camel.clear()
            self._plain.clear()
        # Most words are plain or known: what follows handles them without Python calls.
        identifiers = set(_identifiers(text)) - self._plain
        if not self._names.keys() >= identifiers:
            identifiers -= self._learn_plain(identifiers)
        names = set(" ".join(map(self._names.__getitem__, identifiers)).split())
        camel: dict[str, str] = {}
        for identifier in self._camel.keys() & identifiers:
            camel |= self._camel[identifier]
        parts = [camel[key] for key in sorted(camel)]
        if not has_letters(text):
            return TextWords(" ".join(parts), " ".join(sorted(names)))
        known = set(" ".join(parts).split())
        parts += sorted({word for beside in words_beside(text) for word in split_identifier(beside)} - known)
        return TextWords(" ".join(parts), " ".join(sorted(names)), pairs_of_text(text))

    def _learn_plain(self, identifiers: set[bytes]) -> set[bytes]:
        """Remembers identifiers, and returns those of the new ones that are plain, which need nothing besides the text."""
        plain = set()
        for identifier in identifiers.difference(self._names):
            word = None if _is_plain(identifier) else _word(identifier)
            if word is None:
                plain.add(identifier)
                continue
            camel, self._names[identifier] = word
            if camel:
                self._camel[identifier] = camel
        self._plain |= plain
        return plain


def _is_plain(identifier: bytes) -> bool:
    """Whether an identifier is of a common form that needs nothing besides the text: `word`, `Word`, `WORD`, `w0rd`, `слово`."""
    if len(identifier) >= MAX_TOKEN_BYTES:
        return False
    if identifier.isalpha():
        return identifier.islower() or identifier[1:].islower() or identifier.isupper()
    if identifier.isalnum():
        return identifier.islower() or identifier.isdigit()
    return not identifier.translate(None, _BEYOND_ASCII) and not _OTHER_CASE_BYTES.search(identifier)


def _identifiers(text: str) -> list[bytes]:
    """Returns the identifiers of a text in order, each with a `(` if one follows; any other `(` is a separate item."""
    data = text.encode("utf-8", "surrogatepass").translate(_IDENTIFIER_BYTES)
    while _MANY_BLANKS in data:
        data = data.replace(_MANY_BLANKS, b"(")
    for blanks in (b"    (", b"  (", b" ("):
        data = data.replace(blanks, b"(")
    return data.replace(b"(", b"( ").split()


def odd_words(text: str) -> list[str]:
    """Returns the words of `text` because of which it has ODD_WORD_MARK, each once; maybe also some that are a byte too short."""
    has_other_case = "\u017f" in text or "\u212a" in text
    words = text.encode("utf-8", "surrogatepass").translate(_WORD_BYTES).split()
    # A parenthesis behind an identifier counts as a part of it.
    least = MAX_TOKEN_BYTES - 1
    found = {word for word in words if len(word) >= least or (has_other_case and _OTHER_CASE_BYTES.search(word) is not None)}
    return [word.decode("utf-8", "replace") for word in found]


def _is_odd(identifier: bytes) -> bool:
    return len(identifier) >= MAX_TOKEN_BYTES or _OTHER_CASE_BYTES.search(identifier) is not None


def _word(identifier: bytes) -> _Word | None:
    is_called = identifier.endswith(b"(")
    text = identifier.removesuffix(b"(").decode("utf-8", "replace")
    if is_called and text.isascii() and _is_plain(identifier[:-1]):
        return ({}, CALL_MARK + text) if text else None
    if text.isascii():
        pieces = [] if text.islower() else [text]
        names = _names(text, is_called)
    else:
        pieces = _POSSIBLE_SEPARATOR.sub(_blank_for_separator, text).split()
        names = [name for number, piece in enumerate(pieces, 1) for name in _names_in(piece, is_called and number == len(pieces))]
    if _is_odd(identifier):
        names.append(ODD_WORD_MARK)
    camel = {run: parts for piece in pieces for run in piece.split("_") if (parts := _parts(run))}
    return (camel, " ".join(names)) if camel or names else None


def _names_in(piece: str, is_called: bool) -> list[str]:
    """Returns the names of an identifier and, if it has letters outside ASCII, those of the ASCII words in it."""
    names = _names(piece, is_called)
    if not piece.isascii():
        for run in _ASCII_NAME.finditer(piece):
            own = _names(run[0], is_called and run.end() == len(piece))
            names += [ASCII_MARK + name for name in (*own, *run[0].split("_")) if name]
    return names


def _names(name: str, is_called: bool) -> list[str]:
    """Returns the name with the marks that apply to it."""
    return [NAME_MARK + name] * ("_" in name) + [CALL_MARK + name] * (is_called and bool(name))


def _parts(word: str) -> str:
    """Returns the parts of a camelCase word; empty for any other ASCII word."""
    case_words = [] if word.islower() or len(word) >= MAX_TOKEN_BYTES else _CASE_WORDS.findall(word)
    return " ".join(case_words).lower() if len(case_words) > 1 or not word.isascii() else ""


def _blank_for_separator(found: re.Match[str]) -> str:
    """Returns a blank for a character that is not a letter to the index (punctuation, blanks, symbols), else the character.

    Letters in circles are symbols in Unicode but letters to the index.
    """
    character = found[0]
    is_letter = "\u249c" <= character <= "\u24e9" or character >= "\U0001f100"
    return character if is_letter or unicodedata.category(character)[0] not in "PZS" else " "


def word_set(*texts: str) -> frozenset[str]:
    """Returns the set of the blank-separated words in the texts."""
    return frozenset(" ".join(texts).split())


def split_identifier(name: str) -> list[str]:
    """Returns the lower-case words of one identifier or path, split at punctuation and at case, in order.

    `getHTTPServer_v2` gives `get http server v 2`; letters outside ASCII stay together as one word, except those of scripts
    without blanks, which give pairs of letters.
    """
    if name.isascii():
        return " ".join(_CASE_WORDS.findall(name)).lower().split()
    words: list[str] = []
    for run in _RUN.findall(name):
        if run.isascii():
            words.extend(case_word.lower() for case_word in _CASE_WORDS.findall(run))
        elif RUN.match(run):
            words.extend(pairs_of_run(run))
        else:
            words.append(run.lower())
    return words
