"""A cache of the chunk texts that searches of one generation returned, kept while a question is answered.

The chunks of a file are contiguous and share no line, so a range of lines can be read from the cache if all chunks of the range
are in it. Most lines that an answer shows came with the search that found them.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass.languages.chunk import MAX_LINES as LONGEST_CHUNK
from codecompass.languages.records import Chunk
from codecompass.store.snapshot import FILE_SHIFT, LENGTH_BITS, MAX_LINE, unpack_chunk_key

_BEHIND_ALL: Final = (1 << LENGTH_BITS) - 1


class ChunkTexts:
    """Chunk texts by the keys of their chunks (`store.snapshot.pack_chunk_key`)."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._keys: dict[int, list[int]] = {}
        """Sorted keys of the known chunks, by file."""

    def keep(self, key: int, text: str) -> None:
        """Adds a text. The text of a key never changes."""
        if key not in self._texts:
            insort(self._keys.setdefault(key >> FILE_SHIFT, []), key)
        self._texts[key] = text

    def __getitem__(self, key: int) -> str:
        """Returns a text. Raises KeyError if it is not cached."""
        return self._texts[key]

    def missing(self, keys: Iterable[int]) -> list[int]:
        """Returns the keys whose texts are not cached, without duplicates, in their order."""
        return [key for key in dict.fromkeys(keys) if key not in self._texts]

    def between(self, file_id: int, line_start: int, line_end: int) -> tuple[Chunk, ...] | None:
        """Returns the chunks that contain the lines, in order, or None if one of them is not cached."""
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
        """Iterates over the keys of a file's cached chunks, from the last that begins at `line` or before it."""
        keys = self._keys.get(file_id, [])
        at = bisect_right(keys, _first_key(file_id, line) | _BEHIND_ALL)
        return iter(keys[max(0, at - 1) :])


def keys_with_lines(file_id: int, line_start: int, line_end: int) -> tuple[int, int]:
    """Returns the range of keys, the end excluded, that chunks with these lines of a file can have. Chunks that end before the
    lines can be in it too."""
    first = max(1, line_start - LONGEST_CHUNK + 1)
    behind = _first_key(file_id, line_end + 1) if line_end < MAX_LINE else _first_key(file_id + 1, 0)
    return _first_key(file_id, first), behind


def _first_key(file_id: int, line: int) -> int:
    return (file_id << FILE_SHIFT) | (line << LENGTH_BITS)


def _chunk(key: int, text: str) -> Chunk:
    hit = unpack_chunk_key(key, 0.0)
    return Chunk(hit.line_start, hit.line_end, text)
