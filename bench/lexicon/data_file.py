"""Writes relations as the file that `codecompass.query.words.lexicon` reads; the format is described there."""

import zlib
from collections.abc import Mapping, Sequence
from itertools import accumulate

from msgspec import Struct

from codecompass.query.words.lexicon import HEADER, MAGIC, MAX_DEGREE, MAX_WORDS


class Relation(Struct, frozen=True):
    """A stem related to another one, and how strongly: (0, 1]."""

    stem: str
    strength: float


def encoded(relations: Mapping[str, Sequence[Relation]], words: Mapping[str, str]) -> bytes:
    """Returns the file for the relations of each stem, in the given order.

    `words` has the word to return for each stem that another is related to; stems that only people use need none. The same
    relations give the same bytes.

    Raises:
        ValueError: more words than the format can number.
    """
    stems = sorted({*relations, *(each.stem for row in relations.values() for each in row)})
    if len(stems) > MAX_WORDS:
        raise ValueError(f"{len(stems)} words are more than the format can number")
    numbers = {each: number for number, each in enumerate(stems)}
    pieces = [piece for each in stems for piece in (each.encode(), words.get(each, each).encode())]
    rows = [relations.get(each, ()) for each in stems]
    text = b"".join(pieces)
    body = b"".join(
        (
            _integers([0, *accumulate(len(piece) for piece in pieces)]),
            _integers([0, *accumulate(len(row) for row in rows)]),
            b"".join(numbers[relation.stem].to_bytes(2, "little") for row in rows for relation in row),
            bytes(degree(relation.strength) for row in rows for relation in row),
            text,
        )
    )
    return HEADER.pack(MAGIC, len(stems), sum(map(len, rows)), len(text), zlib.crc32(body)) + body


def degree(strength: float) -> int:
    """Returns the strength as stored in the file, 1..MAX_DEGREE."""
    return min(MAX_DEGREE, max(1, round(strength * MAX_DEGREE)))


def _integers(values: Sequence[int]) -> bytes:
    return b"".join(value.to_bytes(4, "little") for value in values)
