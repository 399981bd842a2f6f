"""Input of the training: the repositories of the list, and the words of definitions and changes extracted from them.

The extracted rows are intermediate files of one machine. They hold words in lower case without their sentences, and are never
part of the product.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct


class Repository(Struct, frozen=True, kw_only=True):
    """A line of the list. `repo` is `owner/name`, `commit` 40 hexadecimal digits, `licence` an SPDX expression."""

    repo: str
    url: str
    commit: str
    licence: str

    @property
    def file_stem(self) -> str:
        """The repository's name as a part of file names."""
        return self.repo.replace("/", "+")


class DefinitionWords(Struct, frozen=True, array_like=True):
    """The words of a definition: of its comment, of its name, and of the identifiers in its lines, the most frequent first.

    Repeated words are listed once, except in `name`. `body` is empty for types, whose lines are those of their members.
    """

    path: str
    symbol: str
    name: tuple[str, ...]
    doc: tuple[str, ...]
    body: tuple[str, ...]


class ChangeWords(Struct, frozen=True, array_like=True):
    """The words of a commit: of its subject line, and of the identifiers in the lines it changed, the most frequent first.

    `functions` are (path, name) of the definitions that git names in the hunk headings.
    """

    subject: tuple[str, ...]
    functions: tuple[tuple[str, str], ...]
    changed: tuple[str, ...]


Row = TypeVar("Row", bound=Struct)


def read_rows(path: Path, kind: type[Row]) -> Iterator[Row]:
    """Yields the rows of a file of JSON lines in order. Raises OSError, or msgspec.DecodeError for a malformed line."""
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as file:
        for line in file:
            yield decoder.decode(line)


def write_rows(path: Path, rows: Iterable[Struct]) -> int:
    """Writes one row per line and returns their number. The file is replaced atomically."""
    unfinished = path.with_suffix(".unfinished")
    n_rows = 0
    with unfinished.open("wb") as file:
        for row in rows:
            file.write(msgspec.json.encode(row) + b"\n")
            n_rows += 1
    unfinished.replace(path)
    return n_rows
