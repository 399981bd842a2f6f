"""Reads JSON as people write it in configuration files: with comments and with a comma after the last member."""

import re
from typing import Any, Final

import msgspec

# A string comes first in both, and is kept as it is, whatever it holds. One without an end goes to the end of the text: looked
# for again from each escaped quote in it, it would cost the square of its length.
_STRING: Final = r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))'
_COMMENTS: Final = re.compile(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMAS: Final = re.compile(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)


def decode(source: bytes) -> dict[str, Any]:
    """Returns the object in `source`.

    Raises:
        ValueError: it is no UTF-8, no JSON even in this wide sense, or no object.
    """
    text = source.decode("utf-8-sig")
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        bare = _COMMENTS.sub(_kept, text)
        decoded = msgspec.json.decode(_LAST_COMMAS.sub(_kept, bare))
    if not isinstance(decoded, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a wrong value of the input, not of the caller
    return decoded


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""
