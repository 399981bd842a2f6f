"""Finds the files that a git configuration file names and git would read: included files and the attributes file.

Reads more than git does: every `path` counts if anything in the file looks like an include. Naming too many is harmless, because
callers only check where they lie; naming too few is not.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy

MAX_CONFIG_BYTES: Final = 1024 * 1024
"""Git never writes a larger `config`."""

MAX_CONFIG_FILES: Final = 20
"""Configuration files in all, with those that they include directly or indirectly."""

_INCLUDE: Final = lazy.pattern(r"\[\s*include", re.IGNORECASE)
_PATH: Final = lazy.pattern(r"\bpath[ \t]*=", re.IGNORECASE)
_ATTRIBUTES_FILE: Final = lazy.pattern(r"\battributesfile[ \t]*=", re.IGNORECASE)
_REF_STORAGE_ELSEWHERE: Final = lazy.pattern(r"\brefstorage[ \t]*=[^\n]*://", re.IGNORECASE)
_ESCAPED: Final = {"n": "\n", "t": "\t", "b": "\b", "\\": "\\", '"': '"'}


def included_files(text: str, path: str) -> list[str]:
    """Returns the files that the configuration file at `path` with this text includes, conditionally or not."""
    directory = os.path.dirname(path)
    return [_located(written, directory) for written in _values(text, _PATH)] if _INCLUDE.search(text) else []


def named_files(text: str, top: str) -> list[str]:
    """Returns the other files that git reads because a configuration with this text names them.

    Relative ones are relative to where git runs, which is the `top` of the work tree, not to the configuration.
    """
    return [_located(written, top) for written in _values(text, _ATTRIBUTES_FILE)]


def keeps_refs_elsewhere(text: str) -> bool:
    """Whether the configuration has the refs in a place of its own (`extensions.refStorage` with an address)."""
    return _REF_STORAGE_ELSEWHERE.search(text) is not None


def _values(text: str, key: re.Pattern[str]) -> Iterator[str]:
    for match in key.finditer(text):
        written = _value(text[match.end() :])
        if written:
            yield written


def _value(text: str) -> str:
    """Returns the value at the beginning of `text`, as git reads it: quotes, escapes, continued lines, comments."""
    characters: list[str] = []
    n_kept = 0
    is_quoted = False
    at = 0
    text = text.replace("\r\n", "\n")
    while at < len(text) and text[at] != "\n":
        character = text[at]
        at += 1
        if character == '"':
            is_quoted = not is_quoted
            n_kept = len(characters)
        elif character == "\\":
            following = text[at : at + 1]
            at += 1
            if following != "\n":
                characters.append(_ESCAPED.get(following, following))
                n_kept = len(characters)
        elif character in ";#" and not is_quoted:
            break
        elif is_quoted or not character.isspace():
            characters.append(character)
            n_kept = len(characters)
        elif characters:
            characters.append(character)
    return "".join(characters[:n_kept])


def _located(written: str, directory: str) -> str:
    if written.startswith("%(prefix)/"):
        # Git replaces this by the place where it is installed, and `..` may follow: the path can be anywhere.
        return "/"
    return os.path.join(directory, os.path.expanduser(written))
