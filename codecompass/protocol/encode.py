"""Replies -> JSON bytes. The same reply gives the same bytes: fields in the order of their Struct, no clock in them.

Each result stands on a line of its own, so that a host which cuts long answers at lines keeps whole results.
"""

from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from codecompass.protocol.decode import well_formed

_ENCODER: Final = msgspec.json.Encoder()


def encode(reply: Struct) -> bytes:
    """Returns `reply` as JSON in UTF-8: compact, but for line breaks around the items of its outermost lists of objects.

    Text that UTF-8 cannot carry (lone surrogates) becomes U+FFFD; where it stands outside these lists, all is on one line.
    """
    lists = {
        name: Raw(b"[\n" + b",\n".join(map(_encode, items)) + b"\n]")
        for name in reply.__struct_fields__
        if _is_list_of_objects(items := getattr(reply, name))
    }
    try:
        return _ENCODER.encode(replace(reply, **lists))
    except UnicodeEncodeError:
        return _encode(reply)


def one_line(encoded: bytes) -> bytes:
    """Returns what `encode` gave without line breaks, as messages need it that end with one."""
    return encoded.replace(b"\n", b"")


def encoded_size(value: Struct | tuple[Struct, ...]) -> int:
    """Returns how many bytes `value` takes within an answer."""
    return len(_encode(value))


def _is_list_of_objects(value: object) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Struct)


def _encode(value: object) -> bytes:
    try:
        return _ENCODER.encode(value)
    except UnicodeEncodeError:
        return _ENCODER.encode(_well_formed(msgspec.to_builtins(value)))


def _well_formed(value: object) -> object:
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, dict):
        return {_well_formed(key): _well_formed(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_well_formed(item) for item in value]
    return value
