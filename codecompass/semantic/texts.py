"""Extracts the texts of a file that get vectors: its definitions, and the chunks that are mostly outside of definitions.

A text consists of the path, the qualified name, the doc comment and the lines, truncated. It has no line numbers, so code that
only moves is not sent again. Vectors are comparable if model, length and text extraction are the same (`vector_space`).
"""

from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.identity import content_hash
from codecompass.languages.records import SymbolKind
from codecompass.scan.path_roles import role_of
from codecompass.settings import SemanticSettings
from codecompass.store.rows import FileRow, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.vectors import VectorSpace

READING: Final = 1
"""Version of this module: to be raised when it makes other texts from the same file."""

DEFINITION_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "macro", "test", "class", "struct", "enum", "trait", "interface", "type"}
)
"""Kinds that get vectors. Fields, constants and the like say little alone and are part of one of these or of a chunk."""

MAX_TEXTS_OF_FILE: Final = 2_000

MAX_COVERED: Final = 0.5
"""A chunk gets a vector if at most this share of its lines is inside definitions."""

MAX_DOC_CHARACTERS: Final = 400


class EmbeddedText(Struct, frozen=True):
    """A text that gets a vector, and its place in the file."""

    hash: bytes
    """Hash of `text`, 16 bytes."""
    text: str
    line_start: int
    """Lines are 1-based and inclusive."""
    line_end: int
    kind: str
    """Kind of the symbol; empty for a chunk."""


def vector_space(settings: SemanticSettings) -> VectorSpace:
    """Returns the space of the vectors that are made with these settings."""
    return VectorSpace(
        model=settings.model.strip(),
        dimensions=settings.dimensions,
        reading=f"{READING} {settings.max_text_characters} {settings.document_prefix!r}",
    )


def is_embedded(path: str) -> bool:
    """Returns whether a file's texts get vectors: False for generated, vendored and data files."""
    role = role_of(path)
    return not (role.is_generated or role.is_vendored or role.is_data)


def texts_of(snapshot: Snapshot, file: FileRow, max_characters: int, prefix: str = "") -> list[EmbeddedText]:
    """Returns the texts of an indexed file by line, each of at most `max_characters` plus the `prefix` before it."""
    chunks = snapshot.text.file_chunks(file.id)
    lines = [line for chunk in chunks for line in _lines(chunk.text)]
    rows = [row for row in snapshot.facts.symbols_in_file(file.id) if row.kind in DEFINITION_KINDS]
    covered = bytearray(len(lines) + 2)
    for row in rows:
        covered[row.line_start : row.line_end + 1] = b"\1" * len(covered[row.line_start : row.line_end + 1])
    found = [_definition(row, lines, max_characters, prefix) for row in rows]
    for chunk in chunks:
        its_lines = _lines(chunk.text)
        numbered = [number for number, line in enumerate(its_lines, chunk.line_start) if line.strip()]
        n_covered = sum(covered[number] for number in numbered if number < len(covered))
        if numbered and n_covered <= MAX_COVERED * len(numbered):
            text = prefix + f"{file.path}\n{chunk.text}"[:max_characters]
            found.append(EmbeddedText(_hash(text), text, chunk.line_start, chunk.line_end, ""))
    found.sort(key=lambda each: (each.line_start, -each.line_end, each.kind))
    return found[:MAX_TEXTS_OF_FILE]


def _definition(row: SymbolRow, lines: Sequence[str], max_characters: int, prefix: str) -> EmbeddedText:
    text = prefix + "\n".join(_parts(row, lines))[:max_characters]
    return EmbeddedText(_hash(text), text, row.line_start, row.line_end, row.kind)


def _parts(row: SymbolRow, lines: Sequence[str]) -> Iterator[str]:
    body = "\n".join(lines[row.line_start - 1 : row.line_end])
    yield row.path
    yield row.qualified_name
    doc = row.doc[:MAX_DOC_CHARACTERS]
    if doc and doc.split("\n", 1)[0] not in body:
        yield doc
    yield body


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return lines


def _hash(text: str) -> bytes:
    return content_hash(text.encode("utf-8", "replace"))
