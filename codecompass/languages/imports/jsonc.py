"""Decodes JSONC: JSON with comments and with a comma after the last member, as configuration files are written."""

import re
from typing import Any, Final

import msgspec

from codecompass import lazy

# Both patterns match strings first, which are kept unchanged. An unterminated string extends to the end of the text: trying again
# at each escaped quote in it would take quadratic time.
_STRING: Final = r'("(?:[^"\\]|\\.)*+(?:"|\\?\Z))'
_COMMENTS: Final = lazy.pattern(_STRING + r"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_LAST_COMMAS: Final = lazy.pattern(_STRING + r"|,(?=\s*+[}\]])", re.DOTALL)


def decode_jsonc(source: bytes) -> dict[str, Any]:
    """Returns the JSONC object in `source`.

    Raises:
        ValueError: it is not UTF-8, not JSONC, or not an object.
    """
    text = source.decode("utf-8-sig")
    try:
        decoded = msgspec.json.decode(text)
    except msgspec.DecodeError:
        bare = _COMMENTS.sub(_keep_string, text)
        decoded = msgspec.json.decode(_LAST_COMMAS.sub(_keep_string, bare))
    if not isinstance(decoded, dict):
        raise ValueError("not an object")  # noqa: TRY004 - a wrong value of the input, not of the caller
    return decoded


def _keep_string(match: re.Match[str]) -> str:
    return match[1] or ""
