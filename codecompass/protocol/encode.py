"""Replies -> JSON bytes. The same reply gives the same bytes: fields in the order of their Struct, no clock in them."""

from typing import Final

import msgspec
from msgspec import Struct

from codecompass.protocol.decode import well_formed

_ENCODER: Final = msgspec.json.Encoder()


def encode(reply: Struct) -> bytes:
    """Returns `reply` as compact JSON in UTF-8. Text that UTF-8 cannot carry (lone surrogates) becomes U+FFFD."""
    return _encode(reply)


def encoded_size(value: Struct | tuple[Struct, ...]) -> int:
    """Returns how many bytes `value` takes within an answer."""
    return len(_encode(value))


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
