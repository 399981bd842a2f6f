"""Texts of chunks that came with searches of one generation, kept while a question is answered.

The chunks of a file follow each other without a gap and without sharing a line, so lines can be read here when all chunks between
the first and the last of them are known. Most lines that an answer shows came with the search that found them.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass.languages.chunk import MAX_LINES as LONGEST_CHUNK
from codecompass.languages.records import Chunk
from codecompass.store.snapshot import FILE_SHIFT, LENGTH_BITS, MAX_LINE, unpack_chunk_key

_BEHIND_ALL: Final = (1 << LENGTH_BITS) - 1


class ChunkTexts:
    """Texts by the keys of their chunks (`store.snapshot.pack_chunk_key`)."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._keys: dict[int, list[int]] = {}
        """Of each file, in order."""

    def keep(self, key: int, text: str) -> None:
        """Keeps a text, which is that of the key for ever."""
        if key not in self._texts:
            insort(self._keys.setdefault(key >> FILE_SHIFT, []), key)
        self._texts[key] = text

    def __getitem__(self, key: int) -> str:
        """Returns a text. Raises KeyError where it is not known."""
        return self._texts[key]

    def missing(self, keys: Iterable[int]) -> list[int]:
        """Returns those of the keys whose texts are not known, each once, in their order."""
        return [key for key in dict.fromkeys(keys) if key not in self._texts]

    def between(self, file_id: int, line_start: int, line_end: int) -> tuple[Chunk, ...] | None:
        """Returns the chunks that have the lines, in order; None where one of them is not known."""
        found = []
        line = line_start
        for key in self._from(file_id, line_start):
            chunk = _chunk(key, self._texts[key])
            if not chunk.line_start <= line <= chunk.line_end:
                return None
            found.append(chunk)
            if chunk.line_end >= line_end:
                return tuple(found)
            line = chunk.line_end + 1
        return None

    def _from(self, file_id: int, line: int) -> Iterator[int]:
        """The known chunks of a file, from the one that has `line` or begins before it."""
        keys = self._keys.get(file_id, [])
        at = bisect_right(keys, _first_key(file_id, line) | _BEHIND_ALL)
        return iter(keys[max(0, at - 1) :])


def keys_with_lines(file_id: int, line_start: int, line_end: int) -> tuple[int, int]:
    """Returns the least key, and the one behind the greatest, that chunks with these lines of a file can have. Chunks that end
    before the lines may have such a key too."""
    first = max(1, line_start - LONGEST_CHUNK + 1)
    behind = _first_key(file_id, line_end + 1) if line_end < MAX_LINE else _first_key(file_id + 1, 0)
    return _first_key(file_id, first), behind


def _first_key(file_id: int, line: int) -> int:
    return (file_id << FILE_SHIFT) | (line << LENGTH_BITS)


def _chunk(key: int, text: str) -> Chunk:
    hit = unpack_chunk_key(key, 0.0)
    return Chunk(hit.line_start, hit.line_end, text)
