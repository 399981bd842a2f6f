"""`file:` URIs as editors and models write them where a path is expected."""

import os
import re
from typing import Final
from urllib.parse import unquote_to_bytes, urlsplit

from codecompass import lazy

_LOCAL_HOSTS: Final = frozenset({"", "localhost"})
_URI: Final = lazy.pattern(r"file://[^\s,]*", re.IGNORECASE)


def path_of_uri(uri: str) -> str | None:
    """Returns the absolute path of a local `file:` URI, percent-decoded, without its fragment; None for anything else."""
    try:
        parts = urlsplit(uri)
    except ValueError:
        return None
    if parts.scheme != "file" or parts.netloc not in _LOCAL_HOSTS:
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path))
    return path if path.startswith("/") and "\0" not in path else None


def without_uris(text: str) -> str:
    """Returns a text with every local `file:` URI in it replaced by its path; a fragment (`#L10`) stays behind the path."""
    if "file://" not in text[:7].lower() and ",file://" not in text.lower().replace(" ", ""):
        return text
    return _URI.sub(_plain, text)


def _plain(match: re.Match[str]) -> str:
    uri = match[0]
    path = path_of_uri(uri)
    if path is None:
        return uri
    fragment = urlsplit(uri).fragment
    return path + (f"#{fragment}" if fragment else "")
