"""Encodes replies as JSON. The same reply gives the same bytes, with the fields in the order of their Struct.

Each result is on its own line, so that a host that cuts long answers at a line end keeps whole results.
"""

from typing import Final

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from codecompass.protocol.decode import well_formed

_ENCODER: Final = msgspec.json.Encoder()


def encode(reply: Struct) -> bytes:
    """Returns `reply` as JSON in UTF-8: compact, except for line breaks between the items of its top-level lists of objects.

    Text that UTF-8 cannot represent (lone surrogates) becomes U+FFFD; if it is outside these lists, everything is on one line.
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
    """Returns a result of `encode` without its line breaks, for messages that end with a line break."""
    return encoded.replace(b"\n", b"")


def encoded_size(value: Struct | tuple[Struct, ...]) -> int:
    """Returns the number of bytes that `value` takes in an answer."""
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
