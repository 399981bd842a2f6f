"""Which n-grams the words of an index have, groups of four adjacent characters: a Bloom filter that says of a piece of a word
whether some word can have it.

    words      run, runner_up, größe
    n-grams    <run run> <run runn unne nner ner> <up> <gr> ..    of each run of ASCII letters and digits; < and > are its ends

Letters are lower-case. A run ends where its word ends, or where a letter outside ASCII adjoins, which is an end only to patterns
that count ASCII alone. Trigrams were tried: in an index of 20,000 words nearly all of them are there. There is one hash function,
because a piece has several n-grams, and one that is lacking decides.
"""

import sys
from collections import deque
from collections.abc import Iterable
from itertools import repeat
from typing import Final

LENGTH: Final = 4
"""Characters of an n-gram, of one byte each: so all n-grams of a text are the numbers of 32 bits in it."""

BITS_PER_CHARACTER: Final = 3
"""Of the text, before folding: with fewer, a filter of words that are all different would be too full."""

MAX_SHARE: Final = 0.25
"""How many of the bits may be set after folding: more is smaller, and rules out less."""

MIN_BITS: Final = 3**8
"""820 bytes, in which an index of a few files rules out nearly all that it does not have."""

MAX_BITS: Final = 3**14
"""Of one filter: 600 KB. An index with more different words has a fuller one, which rules out less."""

_END: Final = ord("\n")
_LETTERS: Final = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789")
_NAME_LETTERS: Final = _LETTERS | {ord("_")}
_FOLD: Final = 3
"""Sizes are powers of it, so that a filter is folded to a third until it is full enough. Of a power of two the rest of a division
would be that of one letter."""

_SIZE_BYTES: Final = 4


class NgramFilter:
    """The n-grams of some words. Immutable."""

    def __init__(self, content: memoryview) -> None:
        """`content` is what `words_filter` or `names_filter` has returned, empty if there were no words. Raises ValueError if it
        is cut."""
        self._bits = content[_SIZE_BYTES:]
        self._size = int.from_bytes(content[:_SIZE_BYTES], sys.byteorder)
        if len(self._bits) != -(-self._size // 8):
            raise ValueError("it is cut")

    def may_have(self, ngrams: Iterable[int]) -> bool:
        """Whether words can have all of these n-grams of a piece: never False if they have."""
        bits, size = self._bits, self._size
        if not size:
            return False
        for ngram in ngrams:
            at = ngram % size
            if not bits[at >> 3] >> (at & 7) & 1:
                return False
        return True


def piece_ngrams(piece: str, *, is_start_open: bool = True, is_end_open: bool = True) -> tuple[int, ...]:
    """Returns the n-grams of every word that has `piece`, which is lower-case and of ASCII letters and digits, or underscores
    for a filter of names. At an end that is not open, the word ends with the piece. None of a piece that is too short."""
    data = (b"" if is_start_open else b"\n") + piece.encode() + (b"" if is_end_open else b"\n")
    found = (int.from_bytes(data[at : at + LENGTH], sys.byteorder) for at in range(len(data) - LENGTH + 1))
    return tuple(dict.fromkeys(found))


def words_filter(words: Iterable[str]) -> bytes:
    """Returns the filter of lower-case words: of their runs of ASCII letters and digits."""
    return _filter_of(words, _LETTERS)


def names_filter(texts: Iterable[str]) -> bytes:
    """Returns the filter of lower-case texts, in which underscores count as letters."""
    return _filter_of(texts, _NAME_LETTERS)


def _filter_of(words: Iterable[str], letters: frozenset[int]) -> bytes:
    table = bytes(byte if byte in letters else _END for byte in range(256))
    text = b"\n" + "\n".join(words).encode("utf-8", "surrogatepass").translate(table) + b"\n"
    if not text.strip():
        return b""
    size = MIN_BITS
    while size < min(BITS_PER_CHARACTER * len(text), MAX_BITS):
        size *= _FOLD
    flags = bytearray(b"0") * size
    for start in range(LENGTH):
        ngrams = memoryview(text)[start : start + (len(text) - start) // LENGTH * LENGTH].cast("I")
        # All of them, most several times: finding the different ones first takes twice as long. No statement of Python runs for
        # each: .6 s instead of 1.6 for the words of 29 repositories.
        deque(map(flags.__setitem__, map(size.__rmod__, ngrams), repeat(ord("1"))), 0)
    n_set = flags.count(b"1")
    flags.reverse()
    bits = int(flags, 2)
    while size > MIN_BITS and _FOLD * n_set <= MAX_SHARE * size:
        size //= _FOLD
        bits = (bits | bits >> size | bits >> 2 * size) & (1 << size) - 1
        n_set = bits.bit_count()
    return size.to_bytes(_SIZE_BYTES, sys.byteorder) + bits.to_bytes(-(-size // 8), "little")
