"""Related words: which words of code go with a word of a question (`delete` with remove, drop, purge).

The relations are in `lexicon.bin` beside this module, trained on public repositories by `python -m bench.lexicon`;
`lexicon.md` describes how, on which, and how good they are. Nothing here ranks: a related word is a guess at the code's wording.
The file, integers little-endian:

    magic     8 bytes
    counts    3 unsigned 32-bit integers: words, relations, bytes of text
    checksum  CRC-32 of everything behind it
    places    32-bit offsets into the text, two a word: of its stem, of the word itself; and the end of the text
    firsts    32-bit numbers of each word's first relation, and the number of all
    others    16-bit numbers of the related words, a word's strongest first
    degrees   a byte a relation, 1..255: strength * 255
    text      UTF-8, the words in the order of their stems

Words are looked up by stem and returned in the form that is most frequent in code.
"""

import struct
import zlib
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.query.words.query_words import stem

MAGIC: Final = b"CCWORDS1"
HEADER: Final = struct.Struct("<8s4I")
"""Magic, numbers of words and relations, bytes of text, checksum."""

MAX_WORDS: Final = 1 << 16
MAX_DEGREE: Final = 255

DATA_FILE: Final = Path(__file__).with_name("lexicon.bin")

_TWO_INTEGERS: Final = struct.Struct("<2I")
_NUMBER: Final = struct.Struct("<H")


class DamagedLexicon(ValueError):
    """The bytes are not a lexicon, or not a complete one."""


class RelatedWord(Struct, frozen=True, gc=False):
    """A lower-case word of code, and how strongly it is related to the queried word, in (0, 1].

    The strength compares how often code uses it with how often code uses the word itself, for the same words of people.
    """

    word: str
    strength: float


def related_words(word: str) -> tuple[RelatedWord, ...]:
    """Returns the words of code related to a word, the strongest first; empty for an unknown word.

    `word` is one lower-case word; words with the same stem have the same relations. No returned word has this stem. The first
    call reads the file.

    Raises:
        DamagedLexicon: the file beside this module is damaged.
        OSError: it cannot be read.
    """
    return _installed().related(word)


@cache
def _installed() -> "Lexicon":
    return Lexicon(DATA_FILE.read_bytes())


class Lexicon:
    """The relations of one file. Keeps its bytes undecoded and looks words up by bisection."""

    def __init__(self, data: bytes) -> None:
        """Checks the bytes. Raises DamagedLexicon."""
        if len(data) < HEADER.size:
            raise DamagedLexicon(f"a lexicon has at least {HEADER.size} bytes, this one {len(data)}")
        magic, n_words, n_relations, n_text, checksum = HEADER.unpack_from(data)
        if magic != MAGIC:
            raise DamagedLexicon(f"a lexicon begins with {MAGIC!r}, this one with {magic!r}")
        self._n_words: int = n_words
        self._places: int = HEADER.size
        self._firsts = self._places + 4 * (2 * n_words + 1)
        self._others = self._firsts + 4 * (n_words + 1)
        self._degrees = self._others + 2 * n_relations
        self._text = self._degrees + n_relations
        if len(data) != self._text + n_text:
            raise DamagedLexicon(f"this lexicon should have {self._text + n_text} bytes, it has {len(data)}")
        if zlib.crc32(memoryview(data)[HEADER.size :]) != checksum:
            raise DamagedLexicon("the checksum of the lexicon is wrong")
        self._data = data

    def __len__(self) -> int:
        """The number of words."""
        return self._n_words

    def related(self, word: str) -> tuple[RelatedWord, ...]:
        """Returns the same as `related_words`, from this lexicon."""
        number = self._number(stem(word).encode("utf-8", "surrogatepass"))
        if number is None:
            return ()
        first, end = self._two_integers(self._firsts + 4 * number)
        others = self._data[self._others + 2 * first : self._others + 2 * end]
        degrees = self._data[self._degrees + first : self._degrees + end]
        return tuple(
            RelatedWord(self._word(other), degree / MAX_DEGREE)
            for (other,), degree in zip(_NUMBER.iter_unpack(others), degrees, strict=True)
        )

    def _number(self, wanted: bytes) -> int | None:
        low, high = 0, self._n_words
        while low < high:
            middle = (low + high) // 2
            found = self._slice(2 * middle)
            if found == wanted:
                return middle
            if found < wanted:
                low = middle + 1
            else:
                high = middle
        return None

    def _word(self, number: int) -> str:
        return self._slice(2 * number + 1).decode()

    def _slice(self, place: int) -> bytes:
        start, end = self._two_integers(self._places + 4 * place)
        return self._data[self._text + start : self._text + end]

    def _two_integers(self, offset: int) -> tuple[int, int]:
        first, second = _TWO_INTEGERS.unpack_from(self._data, offset)
        return first, second
