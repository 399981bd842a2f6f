"""Places in a configuration: paths of names into nested mappings, whatever the format of the text."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

BOM: Final = "\ufeff"


class NotEditable(Exception):
    """The text is invalid, or has a layout that cannot be edited here. The message says where, if that is known."""


def value_at(data: object, path: Sequence[str]) -> object:
    """Returns the value at `path`, None if there is none."""
    for name in path:
        data = data.get(name) if isinstance(data, Mapping) else None
    return data


def without(data: object, path: Sequence[str]) -> object:
    """Returns the data without the value at `path`, and without sections that this leaves empty."""
    if not isinstance(data, Mapping) or path[0] not in data:
        return data
    rest = {name: value for name, value in data.items() if name != path[0]}
    inner = without(data[path[0]], path[1:]) if len(path) > 1 else {}
    return rest if inner == {} else {**rest, path[0]: inner}


def canonical(value: object) -> str:
    """Returns a value as JSON; equal values give equal texts."""
    return msgspec.json.encode(value, order="sorted", enc_hook=str).decode()


def newline_of(text: str) -> str:
    """Returns the line ending of a text."""
    return "\r\n" if "\r\n" in text else "\n"
