"""The word summaries of published generations, from which repositories are selected: in memory, and on disk by digest.

    store --fetch, compare digest--> <directory>/<digest> --read--> memory

The files are kept across restarts, so that a server of thousands of repositories need not fetch as many objects again before it
can answer. Nothing here is state: all of it can be deleted at any moment and is fetched again.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from blake3 import blake3

from codecompass.cluster.indexing.publishing import WORDS
from codecompass.cluster.repositories.manifests import Manifest, SegmentFile, damaged
from codecompass.cluster.stores.segment_store import ObjectMissing, SegmentStore
from codecompass.errors import CodeCompassError
from codecompass.store.facts_record import DIGEST_BYTES
from codecompass.store.layout import make_private_directory
from codecompass.store.word_summary import WordSummary
from codecompass.units import GIB

MEMORY_BYTES: Final = 1 * GIB
"""Summaries in memory: of 4,000 repositories with 1,200 files on average (.26 MB each, 2026-11-28)."""

DISK_BYTES: Final = 4 * GIB

UNFINISHED: Final = ".new"


class SummaryCache:
    """The summaries of one server. Thread-safe."""

    def __init__(
        self, store: SegmentStore, directory: Path, memory_bytes: int = MEMORY_BYTES, disk_bytes: int = DISK_BYTES
    ) -> None:
        """`directory` is for this server alone; what an earlier run has left there is used."""
        self._store = store
        self._directory = directory
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, WordSummary] = OrderedDict()
        """By generation, the least recently used first."""
        self._n_bytes = 0
        make_private_directory(directory)
        _shrink(directory, disk_bytes)

    def known(self, generations: Mapping[str, str]) -> dict[str, WordSummary]:
        """Returns the summaries that are in memory, by the keys of `generations`."""
        found: dict[str, WordSummary] = {}
        with self._lock:
            for key, generation in generations.items():
                if (summary := self._kept.get(generation)) is not None:
                    self._kept.move_to_end(generation)
                    found[key] = summary
        return found

    def missing(self, generations: Iterable[str]) -> list[str]:
        """Returns those of the generations whose summaries are not in memory."""
        with self._lock:
            return [each for each in generations if each not in self._kept]

    def keep_only(self, generations: Collection[str]) -> None:
        """Forgets the summaries of all other generations: no head names them any more. Their files stay."""
        wanted = frozenset(generations)
        with self._lock:
            for each in [each for each in self._kept if each not in wanted]:
                self._n_bytes -= self._kept.pop(each).n_bytes

    def fetch(self, manifests: Sequence[Manifest]) -> list[str]:
        """Reads the summaries of generations, from the store if they are not on disk, and returns the generations of which that
        failed. A store that is away fails all."""
        failed = []
        for manifest in manifests:
            try:
                self._add(manifest.generation, self._read(manifest))
            except (CodeCompassError, OSError):
                failed.append(manifest.generation)
        return failed

    def _add(self, generation: str, summary: WordSummary) -> None:
        with self._lock:
            before = self._kept.pop(generation, None)
            self._n_bytes += summary.n_bytes - (0 if before is None else before.n_bytes)
            self._kept[generation] = summary
            while self._n_bytes > self._memory_bytes and len(self._kept) > 1:
                self._n_bytes -= self._kept.popitem(last=False)[1].n_bytes

    def _read(self, manifest: Manifest) -> WordSummary:
        file = next((each for each in manifest.segments if each.name == WORDS), None)
        if file is None:
            raise damaged(manifest.generation, "it has no summary")
        path = self._directory / file.digest.hex()
        content = _content_of(path)
        if content is None or not _is_whole(content, file):
            content = self._fetched(manifest, file)
            # A disk that is full costs the copy.
            with suppress(OSError):
                _write(path, content)
        try:
            return WordSummary(content)
        except ValueError as error:
            raise damaged(manifest.generation, error) from error

    def _fetched(self, manifest: Manifest, file: SegmentFile) -> bytes:
        content = bytearray()
        try:
            for block in self._store.blocks(file.key):
                content += block
                if len(content) > file.size:
                    break
        except ObjectMissing as error:
            raise damaged(manifest.generation, f"{file.name} is gone from the store of segments") from error
        if not _is_whole(content, file):
            raise damaged(manifest.generation, f"{file.name} in the store of segments is not what was written")
        return bytes(content)


def _is_whole(content: bytes | bytearray, file: SegmentFile) -> bool:
    return len(content) == file.size and blake3(content).digest(DIGEST_BYTES) == file.digest


def _content_of(path: Path) -> bytes | None:
    try:
        content = path.read_bytes()
        # The files that were used last are kept.
        os.utime(path)
    except OSError:
        return None
    return content


def _write(path: Path, content: bytes) -> None:
    begun = path.with_name(f"{path.name}{threading.get_ident()}{UNFINISHED}")
    try:
        begun.write_bytes(content)
        begun.replace(path)
    finally:
        begun.unlink(missing_ok=True)


def _shrink(directory: Path, most: int) -> None:
    """Deletes what a killed server has left unfinished, and the least recently used files beyond `most` bytes."""
    found = []
    for each in os.scandir(directory):
        with suppress(OSError):
            if each.name.endswith(UNFINISHED):
                os.unlink(each.path)
                continue
            status = each.stat(follow_symlinks=False)
            found.append((status.st_mtime_ns, status.st_size, each.path))
    total = 0
    for _, size, path in sorted(found, reverse=True):
        total += size
        if total > most:
            with suppress(OSError):
                os.unlink(path)
