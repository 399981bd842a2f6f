"""The `charset` that `.editorconfig` files declare for a file (https://spec.editorconfig.org).

Read only for files that are not UTF-8, so they are read anew for each: there are few such files, and nothing can be outdated.
"""

import os
import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.scan.files import open_below, read_descriptor
from codecompass.scan.wildmatch import translate
from codecompass.units import KIB

NAME: Final = ".editorconfig"

MAX_BYTES: Final = 64 * KIB
"""A longer file is read this far."""

MAX_ALTERNATIVES: Final = 100
"""Patterns that the braces of a section may stand for; further ones are ignored."""

MAX_PATTERN: Final = 1_000
"""Characters of a section. A longer one matches nothing."""

_RANGE: Final = lazy.pattern(r"(-?\d{1,9})\.\.(-?\d{1,9})")


def charset_of(root: bytes, path: str) -> str:
    """Returns the charset, in lower case, of the file at `path` below `root`; empty if none is declared. Never raises OSError.

    The file nearest to `path` decides, and in it the last section. No file above `root` is read.
    """
    directory = path
    while directory:
        directory = directory.rpartition("/")[0]
        text = _read(root, f"{directory}/{NAME}" if directory else NAME)
        if text is None:
            continue
        charset, is_root = _charset_in(text, path[len(directory) + 1 :] if directory else path)
        if charset or is_root:
            return charset
    return ""


def _read(root: bytes, path: str) -> str | None:
    try:
        descriptor = open_below(root, path)
    except OSError:
        return None
    try:
        return read_descriptor(descriptor, MAX_BYTES).decode("utf-8-sig", "replace")
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _charset_in(text: str, path: str) -> tuple[str, bool]:
    """Returns the charset of a path relative to an `.editorconfig`, and whether the files above do not count."""
    charset, is_root = "", False
    section: str | None = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            section = line[1:-1]
            continue
        key, _, value = line.partition("=")
        key, value = key.strip().lower(), value.strip().lower()
        if section is None:
            is_root = is_root or (key == "root" and value == "true")
        elif key == "charset" and matches(section, path):
            charset = "" if value == "unset" else value
    return charset, is_root


def matches(pattern: str, path: str) -> bool:
    """Whether a section's pattern matches a path relative to its file: without a slash it matches the name in any directory."""
    if len(pattern) > MAX_PATTERN:
        return False
    for _, alternative in zip(range(MAX_ALTERNATIVES), _alternatives(pattern), strict=False):
        anchored = alternative[1:] if alternative.startswith("/") else alternative if "/" in alternative else f"**/{alternative}"
        source = translate(os.fsencode(anchored))
        if source is not None and re.fullmatch(source, os.fsencode(path), re.DOTALL):
            return True
    return False


def _alternatives(pattern: str) -> Iterator[str]:
    """Yields the patterns that one with braces stands for: `*.{c,h}` for `*.c` and `*.h`, `{1..3}` for the numbers."""
    start = pattern.find("{")
    end = _closing(pattern, start) if start >= 0 else -1
    if end < 0:
        yield pattern
        return
    before, inner = pattern[:start], pattern[start + 1 : end]
    numbers = _RANGE.fullmatch(inner)
    if numbers is not None:
        low, high = sorted((int(numbers[1]), int(numbers[2])))
        choices = [str(number) for number in range(low, min(high, low + MAX_ALTERNATIVES) + 1)]
    else:
        choices = list(_choices(inner))
    for rest in _alternatives(pattern[end + 1 :]):
        if len(choices) == 1:
            yield f"{before}{{{inner}}}{rest}"
            continue
        for choice in choices:
            for each in _alternatives(choice):
                yield before + each + rest


def _closing(pattern: str, start: int) -> int:
    depth = 0
    for position in range(start, len(pattern)):
        depth += (pattern[position] == "{") - (pattern[position] == "}")
        if not depth:
            return position
    return -1


def _choices(inner: str) -> Iterator[str]:
    """Yields the parts between the commas that are in no inner braces."""
    depth = start = 0
    for position, character in enumerate(inner):
        depth += (character == "{") - (character == "}")
        if character == "," and not depth:
            yield inner[start:position]
            start = position + 1
    yield inner[start:]
