"""Lines of indexed files, read from the index and not from disk, so that an answer shows the generation that was searched."""

from collections.abc import Sequence
from typing import Final

from codecompass.languages import described
from codecompass.languages.words import word_set
from codecompass.store.snapshot import Snapshot

PREVIEW_LINES: Final = 30
PREVIEW_CHARACTERS: Final = 1600
"""Limit for a result's text at level `context`: 300 to 500 tokens per result."""

CONTENT_LINES: Final = 60
CONTENT_CHARACTERS: Final = 4000

MAX_NAMED: Final = 3
MAX_SHOWN_CHARACTERS: Final = 100
"""Missing words that a warning names, and characters of each."""

_HASH_COMMENT: Final = word_set("yaml toml make dockerfile terraform r perl text cmake powershell nix")
_DASH_COMMENT: Final = word_set("elm ada")
"""Languages and formats without definitions whose comments begin with `#` and `--`."""


def lines_of(snapshot: Snapshot, file_id: int, first: int, last: int) -> list[str]:
    """Returns the lines `first`..`last` of a file without their line breaks; fewer if the file is shorter."""
    lines: list[str] = []
    chunks = snapshot.text.file_chunks(file_id, first, last)
    for chunk in chunks:
        lines += chunk_lines(chunk.text)
    return lines[first - chunks[0].line_start : last - chunks[0].line_start + 1] if chunks else []


def chunk_lines(text: str) -> list[str]:
    """Returns the lines of a chunk's text. Only `\\n` ends a line; a carriage return before it is removed."""
    lines = text.split("\n")
    if lines and lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def excerpt(lines: Sequence[str], language: str, max_lines: int, max_characters: int) -> str:
    """Returns the lines as one text, cut at a line boundary; a comment in the file's language marks the cut."""
    kept = fitting_lines(lines, max_lines, max_characters)
    text = "\n".join(kept)
    return text if len(kept) == len(lines) else f"{text}\n{_comment(language)} ... truncated ..."


def fitting_lines(lines: Sequence[str], max_lines: int, max_characters: int) -> list[str]:
    """Returns as many of the first lines as fit; always the first one, shortened if it is too long."""
    kept: list[str] = []
    size = 0
    for line in lines[:max_lines]:
        if kept and size + len(line) > max_characters:
            break
        kept.append(cut(line, max_characters))
        size += len(line) + 1
    return kept


def cut(text: str, max_characters: int) -> str:
    """Returns the text, cut to `max_characters` with `…` as the last one if it is longer."""
    return text if len(text) <= max_characters else text[: max_characters - 1] + "…"


def listed(words: tuple[str, ...]) -> str:
    """Returns words as a warning lists them."""
    shown = [cut(word, MAX_SHOWN_CHARACTERS) for word in words]
    return ", ".join(shown[:MAX_NAMED]) + (", …" if len(shown) > MAX_NAMED else "")


def comment_marks(language: str) -> tuple[str, ...]:
    """Returns the prefixes that lines of a comment may have, including lines inside a block comment."""
    mark = _comment(language)
    return (mark, "/*", "*") if mark == "//" else (mark,)


def _comment(language: str) -> str:
    if language in _HASH_COMMENT:
        return "#"
    return "--" if language in _DASH_COMMENT else described(language).display.line_comment
