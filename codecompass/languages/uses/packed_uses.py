"""Encodes the uses of names in one file as bytes, which a worker sends and the store keeps.

    zlib( size of the names in bytes | the names, each between line breaks | the length of each part | the parts )

A part holds the uses of one name in one language: that of the file, or the one that follows the name after a tab, for code of
another family in it. Looking up a name decompresses one file (20 us for 100 kB of source) and decodes one part.
"""

import struct
import zlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final

import msgspec

from codecompass.languages.records import NameUses, Use

_LENGTH: Final = struct.Struct("<I")
_LEVEL: Final = 1
"""Higher levels take three times the CPU to save a tenth of the size."""

_encoder: Final = msgspec.msgpack.Encoder()
_decoder: Final = msgspec.msgpack.Decoder(tuple[Use, ...])


class DamagedUses(ValueError):
    """The bytes were not produced by `packed`."""


def packed(names: Sequence[NameUses]) -> bytes:
    """Returns the encoded uses of a file; empty if there are none."""
    if not names:
        return b""
    written = [f"{each.name}\t{each.language}" if each.language else each.name for each in names]
    directory = ("\n" + "\n".join(written) + "\n").encode("utf-8", "surrogatepass")
    parts = [_encoder.encode(each.uses) for each in names]
    lengths = array("I", map(len, parts)).tobytes()
    return zlib.compress(b"".join((_LENGTH.pack(len(directory)), directory, lengths, *parts)), _LEVEL)


def unpacked(content: bytes, name: str) -> list[NameUses]:
    """Returns the uses of one name in the encoded uses of a file, by line: in its language, then in others.

    Raises DamagedUses.
    """
    if not content or "\n" in name or "\t" in name:  # A line break would match two neighbouring names.
        return []
    try:
        return list(_parts(zlib.decompress(content), name))
    except (zlib.error, struct.error, msgspec.DecodeError, IndexError, ValueError) as error:
        raise DamagedUses(str(error)) from error


def _parts(data: bytes, name: str) -> Iterator[NameUses]:
    (size,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size
    end = start + size
    sought = b"\n" + name.encode("utf-8", "surrogatepass")
    for mark in b"\n", b"\t":
        found = data.find(sought + mark, start, end)
        while found >= 0:
            number = data.count(b"\n", start, found)
            n_names = data.count(b"\n", start, end) - 1
            lengths = array("I", data[end : end + 4 * n_names])
            begin = end + 4 * n_names + sum(lengths[:number])
            at = found + len(sought) + 1
            language = data[at : data.index(b"\n", at)].decode() if mark == b"\t" else ""
            yield NameUses(name, _decoder.decode(data[begin : begin + lengths[number]]), language)
            found = data.find(sought + mark, at, end) if mark == b"\t" else -1


def unpacked_all(content: bytes) -> tuple[NameUses, ...]:
    """Returns all of the encoded uses of a file, by name. Raises DamagedUses."""
    if not content:
        return ()
    try:
        data = zlib.decompress(content)
        (size,) = _LENGTH.unpack_from(data)
        names = data[_LENGTH.size + 1 : _LENGTH.size + size - 1].decode("utf-8", "surrogatepass").split("\n")
        lengths = array("I", data[_LENGTH.size + size : _LENGTH.size + size + 4 * len(names)])
        ends = accumulate(lengths, initial=_LENGTH.size + size + 4 * len(names))
        found = []
        for written, (begin, end) in zip(names, pairwise(ends), strict=True):
            name, _, language = written.partition("\t")
            found.append(NameUses(name, _decoder.decode(data[begin:end]), language))
        return tuple(found)
    except (zlib.error, struct.error, msgspec.DecodeError, IndexError, ValueError) as error:
        raise DamagedUses(str(error)) from error
