"""Passes values between processes so that their Structs are encoded afterwards as they would have been before.

A reply leaves out each field that holds the very object of its default. Pickle makes copies of all objects, after which a field
with such a value would be written down; msgspec's own encoding leaves it out, and its decoder puts the default back.
"""

import io
import pickle
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

import msgspec
from msgspec import Struct

_Reduced: TypeAlias = tuple[Callable[[type[Struct], bytes], Struct], tuple[type[Struct], bytes]]


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: object) -> _Reduced:
        if isinstance(value, Struct) and value.__struct_config__.omit_defaults:
            return _decoded, (type(value), msgspec.msgpack.encode(value))
        return NotImplemented  # type: ignore[no-any-return]


def packed(value: object) -> bytes:
    """Returns the value for `unpacked`. Raises UnicodeEncodeError for text that UTF-8 cannot represent."""
    target = io.BytesIO()
    _Pickler(target, pickle.HIGHEST_PROTOCOL).dump(value)
    return target.getvalue()


def unpacked(data: bytes) -> object:
    """Returns a value that `packed` was given, in a process of this program."""
    return pickle.loads(data)


def _decoded(kind: type[Struct], data: bytes) -> Struct:
    return _decoder(kind)(data)


@cache
def _decoder(kind: type[Struct]) -> Callable[[bytes], Struct]:
    return msgspec.msgpack.Decoder(kind).decode
