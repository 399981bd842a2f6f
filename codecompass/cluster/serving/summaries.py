"""The word summaries of published generations, from which repositories are selected: those of all heads are fetched beside the
questions when heads change, and kept in memory, and on disk by digest.

    Libraries lists repositories -> heads_are() -> wanted -> threads: store --fetch, compare digest--> disk --read--> memory
    a question                   -> known()     waits a moment for those that are wanted, and takes what is there then

What is not there is not known, so the index itself has to be asked. The files are kept across restarts, so that a server of
thousands of repositories need not fetch as many objects again before it can answer. Nothing here is state: all of it can be
deleted at any moment and is fetched again.
"""

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import trio
from blake3 import blake3

from codecompass.cluster.indexing.publishing import WORDS
from codecompass.cluster.repositories.manifests import Manifest, SegmentFile, damaged
from codecompass.cluster.stores.segment_store import ObjectMissing, SegmentStore
from codecompass.errors import CodeCompassError
from codecompass.nurseries import open_nursery
from codecompass.store.facts_record import DIGEST_BYTES
from codecompass.store.layout import make_private_directory
from codecompass.store.word_summary import WordSummary
from codecompass.units import GIB, SECONDS

MEMORY_BYTES: Final = 1 * GIB
"""Summaries in memory: of 4,000 repositories with 1,200 files on average (.26 MB each, 2026-11-28)."""

DISK_BYTES: Final = 4 * GIB

UNFINISHED: Final = ".new"

AT_ONCE: Final = 8
"""Threads that fetch summaries. They are not those that fetch indexes, which take longer."""

IN_ONE_TURN: Final = 32
"""Summaries that a thread fetches in a turn: their manifests are read with one request."""

MAX_WANTED: Final = 100_000

TURN_SECONDS: Final = 60 * SECONDS
"""A turn that takes longer is given up: the store hangs."""

RETRY_SECONDS: Final = 30 * SECONDS
"""When a summary that could not be fetched is tried again, if it is still wanted."""


class Summaries:
    """Fetches summaries. `serve` must run beside it; without it, `known` returns what is in memory when its time is over."""

    def __init__(self, cache: "SummaryCache", fetch: Callable[[Sequence[str]], Sequence[str]]) -> None:
        """`fetch` blocks until it has put the summaries of generations into `cache`, and returns those of which that failed."""
        self._cache = cache
        self._fetch = fetch
        self._wanted: OrderedDict[str, None] = OrderedDict()
        self._in_work: set[str] = set()
        self._failed: OrderedDict[str, float] = OrderedDict()
        """When, in trio time, a summary could not be fetched."""
        self._has_wanted = trio.Event()
        self._has_more = trio.Event()
        self._limiter = trio.CapacityLimiter(AT_ONCE)

    def heads_are(self, generations: Collection[str]) -> None:
        """Wants the summaries of these generations, and forgets all others."""
        self._cache.keep_only(generations)
        self._want(self._cache.missing(generations))

    async def known(self, generations: Mapping[str, str], seconds: float) -> Mapping[str, WordSummary]:
        """Returns the summaries of generations, by the keys of `generations`, of those that are here or come within `seconds`."""
        missing = self._cache.missing(generations.values())
        if missing:
            self._want(missing)
            with trio.move_on_after(seconds):
                while missing := [each for each in missing if each in self._wanted or each in self._in_work]:
                    await self._has_more.wait()
        return self._cache.known(generations)

    async def serve(self) -> None:
        """Fetches what is wanted. Runs until cancelled."""
        async with open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch_in_turns)

    async def _fetch_in_turns(self) -> None:
        while True:
            await self._has_wanted.wait()
            turn = [self._wanted.popitem(last=False)[0] for _ in range(min(IN_ONE_TURN, len(self._wanted)))]
            if not self._wanted:
                self._has_wanted = trio.Event()
            self._in_work.update(turn)
            failed: Sequence[str] = turn
            try:
                with trio.move_on_after(TURN_SECONDS):
                    failed = await trio.to_thread.run_sync(self._fetch, turn, limiter=self._limiter, abandon_on_cancel=True)
            finally:
                self._in_work.difference_update(turn)
                self._note_failed(failed)
                self._has_more.set()
                self._has_more = trio.Event()

    def _want(self, generations: Iterable[str]) -> None:
        now = trio.current_time()
        for each in generations:
            is_due = now - self._failed.get(each, -RETRY_SECONDS) >= RETRY_SECONDS
            if is_due and each not in self._in_work and len(self._wanted) < MAX_WANTED:
                self._wanted[each] = None
        if self._wanted:
            self._has_wanted.set()

    def _note_failed(self, generations: Iterable[str]) -> None:
        now = trio.current_time()
        for each in generations:
            self._failed.pop(each, None)
            self._failed[each] = now
        while len(self._failed) > MAX_WANTED:
            self._failed.popitem(last=False)


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
