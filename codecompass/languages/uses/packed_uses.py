"""Encodes the uses of names in one file as bytes, which a worker sends and the store keeps.

    zlib( size of the names in bytes | the names, each between line breaks | the length of each part | the parts )

A part holds the uses of one name. Looking up a name decompresses one file (20 us for 100 kB of source) and decodes one part.
"""

import struct
import zlib
from array import array
from collections.abc import Sequence
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
    directory = ("\n" + "\n".join(each.name for each in names) + "\n").encode("utf-8", "surrogatepass")
    parts = [_encoder.encode(each.uses) for each in names]
    lengths = array("I", map(len, parts)).tobytes()
    return zlib.compress(b"".join((_LENGTH.pack(len(directory)), directory, lengths, *parts)), _LEVEL)


def unpacked(content: bytes, name: str) -> tuple[Use, ...]:
    """Returns the uses of one name in the encoded uses of a file, by line. Raises DamagedUses."""
    if not content or "\n" in name:  # A line break would match two neighbouring names.
        return ()
    try:
        return _part(zlib.decompress(content), name)
    except (zlib.error, struct.error, msgspec.DecodeError, IndexError, ValueError) as error:
        raise DamagedUses(str(error)) from error


def _part(data: bytes, name: str) -> tuple[Use, ...]:
    (size,) = _LENGTH.unpack_from(data)
    start = _LENGTH.size
    found = data.find(b"\n" + name.encode("utf-8", "surrogatepass") + b"\n", start, start + size)
    if found < 0:
        return ()
    number = data.count(b"\n", start, found)
    n_names = data.count(b"\n", start, start + size) - 1
    lengths = array("I", data[start + size : start + size + 4 * n_names])
    begin = start + size + 4 * n_names + sum(lengths[:number])
    return _decoder.decode(data[begin : begin + lengths[number]])


def unpacked_all(content: bytes) -> tuple[NameUses, ...]:
    """Returns all of the encoded uses of a file, by name. Raises DamagedUses."""
    if not content:
        return ()
    try:
        data = zlib.decompress(content)
        (size,) = _LENGTH.unpack_from(data)
        names = data[_LENGTH.size + 1 : _LENGTH.size + size - 1].decode("utf-8", "surrogatepass").split("\n")
        return tuple(NameUses(name, _part(data, name)) for name in names)
    except (zlib.error, struct.error, msgspec.DecodeError, IndexError, ValueError) as error:
        raise DamagedUses(str(error)) from error
