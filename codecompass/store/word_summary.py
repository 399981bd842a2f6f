"""Which words an index has, in a small file beside it that is read without opening the index.

A question about hundreds of projects needs the few that can have an answer; opening an index takes a hundred times as long as
looking a word up here. The file is derived from the text index and may be missing, old or damaged: then nothing is known.

    header   magic, version, number of entries, number of chunks, checksum of the rest (32 bits each); stamp (3 * 64 bits);
             sizes of the two filters in bytes (32 bits each; OLDEST_VERSION has neither sizes nor filters)
    hashes   CRC-32 of field and word, ascending (32 bits each): two words in 100,000,000 share one
    counts   how many documents have it (16 bits each, at most MAX_COUNT)
    filters  `ngram_filter.py`: of the words of the text, and of the words that cannot be found by their letters

The filters say whether a piece of a word is in some word. They are a fifth of the file, half a percent of the index.

Numbers are in the byte order of the machine: a home is not moved between machines.
"""

import os
import stat
import struct
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from codecompass.errors import CodeCompassError
from codecompass.languages.words import NAME_MARK, ODD_WORD_MARK
from codecompass.store.index import WorkspaceIndex, files_stamp
from codecompass.store.layout import FILE_MODE, ProjectLayout
from codecompass.store.ngram_filter import NgramFilter, names_filter, words_filter
from codecompass.store.schema import CHUNK_RECORD
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_reader import TextReader

MAGIC: Final = 0x434C4D57
VERSION: Final = 3
OLDEST_VERSION: Final = 2
"""Read as well: of pieces of words it says nothing."""

MAX_COUNT: Final = 0xFFFF

FIELDS: Final = ("body", "parts", "pairs", "path_words", "name", "name_words", "names")
"""The fields that are summarized: text, its parts and pairs of letters, paths, names of definitions and their words, and of
identifiers in text those with an underscore."""

_HEADER: Final = struct.Struct("=5I3Q")
_FILTER_SIZES: Final = struct.Struct("=2I")
_NOT_KNOWN: Final = 0xFFFFFFFF
"""In place of the size of a filter that could not be made."""


class WordSummary:
    """The words of one index, with the number of documents that have each. Immutable."""

    def __init__(self, content: bytes) -> None:
        """Raises ValueError unless `content` is a whole summary of this version."""
        if len(content) < _HEADER.size:
            raise ValueError("it is too short")
        magic, version, n_entries, self.n_chunks, checksum, *stamp = _HEADER.unpack_from(content)
        self.stamp = tuple(stamp)
        """`index.files_stamp` of the files that it was made from."""
        self.n_bytes = len(content)
        body = memoryview(content)[_HEADER.size :]
        if magic != MAGIC or not OLDEST_VERSION <= version <= VERSION or zlib.crc32(body) != checksum:
            raise ValueError("it is damaged, or of another version")
        filters = memoryview(b"")
        self.is_newest = version == VERSION
        """Whether it has all that a summary has that is made now."""
        if self.is_newest:
            sizes, body = _FILTER_SIZES.unpack_from(body), body[_FILTER_SIZES.size :]
            body, filters = body[: 6 * n_entries], body[6 * n_entries :]
            self._in_words, filters = _filter_at(filters, sizes[0])
            self._in_odd_words, filters = _filter_at(filters, sizes[1])
        else:
            self._in_words = self._in_odd_words = None
        if len(body) != 6 * n_entries or len(filters):
            raise ValueError("it has another size")
        self._hashes = body[: 4 * n_entries].cast("I")
        self._counts = body[4 * n_entries :].cast("H")

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents have `word`, as the index has it, in one of FIELDS: never too few below MAX_COUNT, and very
        rarely too many. Raises ValueError for another field."""
        return self.frequency_of(word_key(field, word))

    def frequency_of(self, key: int) -> int:
        """Returns what `document_frequency` does for the `word_key` of a word, which one question makes once for all indexes."""
        at = bisect_left(self._hashes, key)
        return self._counts[at] if at < len(self._hashes) and self._hashes[at] == key else 0

    def may_have_piece(self, ngrams: Iterable[int]) -> bool:
        """Whether a word of the text can have a piece with these n-grams (`ngram_filter.piece_ngrams`), apart from words that
        cannot be found by their letters: never False if one has it."""
        return self._in_words is None or self._in_words.may_have(ngrams)

    def may_have_odd_piece(self, ngrams: Iterable[int]) -> bool:
        """As `may_have_piece`, for words that cannot be found by their letters, in which underscores are letters and which have
        no ends."""
        if self._in_odd_words is None:
            return bool(self.document_frequency("names", ODD_WORD_MARK))
        return self._in_odd_words.may_have(ngrams)


def word_key(field: str, word: str) -> int:
    """Returns the hash of a word, as the index has it, in one of FIELDS. Raises ValueError for another field."""
    if field not in FIELDS:
        raise ValueError(f"{field} is not summarized")
    return zlib.crc32(word.encode("utf-8", "surrogatepass"), zlib.crc32(field.encode()))


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
    in_words = b""
    for field in FIELDS:
        words = text.words_of(field)
        if field == "body":
            in_words = words_filter(word for word, _ in words)
        elif field == "names":
            words = [(word, count) for word, count in words if word.startswith((NAME_MARK, ODD_WORD_MARK))]
        start = zlib.crc32(field.encode())
        for word, count in words:
            key = zlib.crc32(word.encode(), start)
            if count > counts.get(key, 0):
                counts[key] = count
    hashes = sorted(counts)
    odd_words = text.odd_words()
    in_odd_words = None if odd_words is None else names_filter((odd_words.text,))
    sizes = _FILTER_SIZES.pack(len(in_words), _NOT_KNOWN if in_odd_words is None else len(in_odd_words))
    words_and_counts = (array("I", hashes), array("H", (min(counts[key], MAX_COUNT) for key in hashes)))
    body = b"".join((sizes, *(each.tobytes() for each in words_and_counts), in_words, in_odd_words or b""))
    n_chunks = text.document_frequency("record", CHUNK_RECORD)
    return _HEADER.pack(MAGIC, VERSION, len(hashes), n_chunks, zlib.crc32(body), *stamp) + body


def _filter_at(content: memoryview, size: int) -> tuple[NgramFilter | None, memoryview]:
    """Returns the filter at the beginning of `content`, None if it could not be made, and what follows it."""
    return (None, content) if size == _NOT_KNOWN else (NgramFilter(content[:size]), content[size:])


def _replace(path: Path, content: bytes) -> None:
    """Writes a file that readers see whole or not at all. It is not made durable: it has a checksum."""
    temporary = path.with_name(path.name + ".new")
    with suppress(FileNotFoundError):
        temporary.unlink()
    with open(temporary, "xb", opener=partial(os.open, mode=FILE_MODE)) as file:
        file.write(content)
    temporary.replace(path)
