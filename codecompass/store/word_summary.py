"""Which words an index has, in a small file beside it that is read without opening the index.

A question about hundreds of projects needs the few that can have an answer; opening an index takes a hundred times as long as
looking a word up here. The file is derived from the text index and may be missing, old or damaged: then nothing is known.

    header   magic, version, number of entries, number of chunks, checksum of the rest (32 bits each); stamp (3 * 64 bits)
    hashes   CRC-32 of field and word, ascending (32 bits each): two words in 100,000,000 share one
    counts   how many documents have it (16 bits each, at most MAX_COUNT)

Numbers are in the byte order of the machine: a home is not moved between machines.
"""

import os
import stat
import struct
import zlib
from array import array
from bisect import bisect_left
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from codecompass.errors import CodeCompassError
from codecompass.languages.words import NAME_MARK, ODD_WORD_MARK
from codecompass.store.index import WorkspaceIndex, files_stamp
from codecompass.store.layout import FILE_MODE, ProjectLayout
from codecompass.store.schema import CHUNK_RECORD
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_reader import TextReader

MAGIC: Final = 0x434C4D57
VERSION: Final = 2
MAX_COUNT: Final = 0xFFFF

FIELDS: Final = ("body", "parts", "pairs", "path_words", "name", "name_words", "names")
"""The fields that are summarized: text, its parts and pairs of letters, paths, names of definitions and their words, and of
identifiers in text those with an underscore."""

_HEADER: Final = struct.Struct("=5I3Q")


class WordSummary:
    """The words of one index, with the number of documents that have each. Immutable."""

    def __init__(self, content: bytes) -> None:
        """Raises ValueError unless `content` is a whole summary of this version."""
        if len(content) < _HEADER.size:
            raise ValueError("it is too short")
        magic, version, size, self.n_chunks, checksum, *stamp = _HEADER.unpack_from(content)
        self.stamp = tuple(stamp)
        """`index.files_stamp` of the files that it was made from."""
        self.n_bytes = len(content)
        body = memoryview(content)[_HEADER.size :]
        if (magic, version, len(body)) != (MAGIC, VERSION, 6 * size) or zlib.crc32(body) != checksum:
            raise ValueError("it is damaged, or of another version")
        self._hashes = body[: 4 * size].cast("I")
        self._counts = body[4 * size :].cast("H")

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents have `word`, as the index has it, in one of FIELDS: never too few below MAX_COUNT, and very
        rarely too many. Raises ValueError for another field."""
        if field not in FIELDS:
            raise ValueError(f"{field} is not summarized")
        wanted = _hash(field, word)
        at = bisect_left(self._hashes, wanted)
        return self._counts[at] if at < len(self._hashes) and self._hashes[at] == wanted else 0


def summary_path(layout: ProjectLayout) -> Path:
    """Returns the path of a project's summary."""
    return layout.root / "words"


def read_summary(layout: ProjectLayout) -> WordSummary | None:
    """Returns the summary of the index in `layout`; None if there is none, or the index has changed since. Never raises."""
    stamp = files_stamp(layout)
    if stamp is None:
        return None
    with suppress(OSError, ValueError):
        path = summary_path(layout)
        if stat.S_ISREG(path.lstat().st_mode):
            found = WordSummary(path.read_bytes())
            return found if found.stamp == stamp else None
    return None


def write_summary(layout: ProjectLayout) -> bool:
    """Summarizes the index in `layout`. Returns whether it could: False if there is no index that can be read, if it changed
    meanwhile, or if the file cannot be written."""
    stamp = files_stamp(layout)
    if stamp is None:
        return False
    index = WorkspaceIndex(layout, layout.project_id)
    try:
        with index.snapshot() as snapshot:
            content = summary_of(snapshot, stamp)
        if files_stamp(layout) != stamp:
            return False
        _replace(summary_path(layout), content)
    except (CodeCompassError, OSError):
        return False
    finally:
        index.close()
    return True


def summary_of(snapshot: Snapshot, stamp: tuple[int, int, int]) -> bytes:
    """Returns the content of the file for an index whose files have `stamp`. Raises IndexDamaged."""
    text = snapshot.text
    assert isinstance(text, TextReader), "an organisation's engine is not summarized"
    counts: dict[int, int] = {}
    for field in FIELDS:
        for word, count in text.words_of(field):
            if field != "names" or word.startswith((NAME_MARK, ODD_WORD_MARK)):
                key = _hash(field, word)
                counts[key] = max(count, counts.get(key, 0))
    hashes = sorted(counts)
    body = array("I", hashes).tobytes() + array("H", (min(counts[key], MAX_COUNT) for key in hashes)).tobytes()
    n_chunks = text.document_frequency("record", CHUNK_RECORD)
    return _HEADER.pack(MAGIC, VERSION, len(hashes), n_chunks, zlib.crc32(body), *stamp) + body


def _hash(field: str, word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "surrogatepass"), zlib.crc32(field.encode()))


def _replace(path: Path, content: bytes) -> None:
    """Writes a file that readers see whole or not at all. It is not made durable: it has a checksum."""
    temporary = path.with_name(path.name + ".new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    with open(temporary, "xb", opener=partial(os.open, mode=FILE_MODE)) as file:
        file.write(content)
    temporary.replace(path)
