"""Local copies of published segments: fetched from the store when they are first needed, mapped, bounded in bytes.

    store --fetch, compare digests--> <directory>/<bundle>/ --open--> OpenSegments, until other bundles need the space

A bundle is all files of a generation but its summary of words (`summaries.py`). Nothing here is state: all of it can be
deleted at any moment and is fetched again. A file that the last generation of the repository has too is a hard link to that, not
fetched.
"""

import os
import shutil
import threading
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from blake3 import blake3
from msgspec import Struct

from codecompass.cluster.indexing.histories import HISTORY, is_of_history
from codecompass.cluster.indexing.publishing import TEXT, WORDS
from codecompass.cluster.repositories.manifests import FACTS_FILE, Manifest, SegmentFile, damaged
from codecompass.cluster.stores.measures import CacheMeasures
from codecompass.cluster.stores.segment_store import ObjectMissing, SegmentStore
from codecompass.store.databases import ReadConnection
from codecompass.store.facts_record import DIGEST_BYTES
from codecompass.store.file_table import TableCache
from codecompass.store.layout import make_private_directory
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.overlay import connect_to_facts
from codecompass.store.text_reader import TextReader
from codecompass.transport.http.exposition import Family

FETCHES: Final = 2
"""How often an object is fetched that is not what its digest says: what was read may be wrong, not what is stored."""

KEPT_OPEN: Final = 256
"""Generations that are kept open between questions, each with some 20 mapped files."""

KEPT_CONNECTIONS: Final = 4
"""Connections to the facts of one of them; a question uses one."""


class OpenSegments(Struct, frozen=True):
    """A generation that is open. The text is thread-safe, a connection is for one question at a time."""

    text: TextReader
    tables: TableCache
    idle: list[ReadConnection]

    def close(self) -> None:
        """Closes the connections that no question uses."""
        while self.idle:
            self.idle.pop().connection.close()


class _Bundle(Struct, frozen=True):
    name: str
    repo_id: str
    files: tuple[SegmentFile, ...]


class _Kept:
    """The bundles on disk, the least recently used first. No operation looks at all of them: there may be thousands."""

    def __init__(self) -> None:
        self.n_bytes = 0
        """What their files take; those that several bundles have count once."""
        self._bundles: OrderedDict[str, _Bundle] = OrderedDict()
        self._of: dict[str, dict[str, _Bundle]] = {}
        """By repository, and then by name. Links are made within a repository only."""

    def __contains__(self, name: str) -> bool:
        return name in self._bundles

    def __iter__(self) -> Iterator[str]:
        return iter(self._bundles)

    def add(self, bundle: _Bundle) -> None:
        """Adds a bundle as the last used one."""
        others = self._of.setdefault(bundle.repo_id, {})
        self.n_bytes += _bytes_beside(bundle, others.values())
        self._bundles[bundle.name] = others[bundle.name] = bundle

    def used(self, name: str) -> None:
        """Notes that a bundle is used, if it is there."""
        if name in self._bundles:
            self._bundles.move_to_end(name)

    def pop(self, name: str) -> _Bundle | None:
        """Removes a bundle, and returns it if it was there."""
        bundle = self._bundles.pop(name, None)
        if bundle is not None:
            others = self._of[bundle.repo_id]
            del others[name]
            self.n_bytes -= _bytes_beside(bundle, others.values())
            if not others:
                del self._of[bundle.repo_id]
        return bundle

    def of(self, repo_id: str) -> Collection[_Bundle]:
        """Returns the bundles of a repository."""
        return self._of.get(repo_id, {}).values()


def _bytes_beside(bundle: _Bundle, others: Iterable[_Bundle]) -> int:
    """Returns the size of the files of a bundle that none of the others has."""
    theirs = {file.digest for other in others for file in other.files}
    return sum({file.digest: file.size for file in bundle.files if file.digest not in theirs}.values())


class SegmentCache:
    """The copies of one server, in a directory of its own. Thread-safe."""

    def __init__(self, store: SegmentStore, directory: Path, max_bytes: int, mapped_files: MappedFiles | None = None) -> None:
        """Empties the directory, because files of a killed process may be incomplete. `max_bytes` may be exceeded by what running
        questions read. `mapped_files` counts the faults in it."""
        self._store = store
        self._directory = directory
        self._max_bytes = max_bytes
        self._mapped_files = mapped_files
        self._measures = CacheMeasures()
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._held: Counter[str] = Counter()
        self._kept = _Kept()
        self._open: OrderedDict[str, OpenSegments] = OrderedDict()
        shutil.rmtree(directory, ignore_errors=True)
        make_private_directory(directory)

    @property
    def n_bytes(self) -> int:
        """How much the copies take on disk; files that generations share count once."""
        with self._lock:
            return self._kept.n_bytes

    def metrics(self) -> tuple[Family, ...]:
        """Returns what the copies take and how they were used, for `/metrics`."""
        return self._measures.metrics(self.n_bytes, self._max_bytes)

    def is_here(self, manifest: Manifest) -> bool:
        """Whether all files of a generation are on this machine."""
        with self._lock:
            return manifest.generation in self._kept

    def fetch(self, manifest: Manifest) -> None:
        """Fetches the files of a generation that are not here. Raises what `opened` raises."""
        with self._files_of(_whole(manifest)):
            pass

    @contextmanager
    def opened(self, manifest: Manifest) -> Iterator[tuple[OpenSegments, ReadConnection]]:
        """Yields a generation and a connection to its facts; its files are fetched if necessary, and not evicted meanwhile.

        Raises StoreUnavailable, IndexDamaged if an object is missing or wrong in the store or a copy was damaged, OSError if the
        disk is full.
        """
        bundle = _whole(manifest)
        with self._files_of(bundle) as directory:
            segments = self._opened(bundle, directory)
            with self._lock:
                connection = segments.idle.pop() if segments.idle else None
            connection = connection or connect_to_facts(directory / FACTS_FILE)
            n_faults = self._n_faults(directory)
            try:
                yield segments, connection
            except BaseException:
                connection.connection.close()
                raise
            self._give_back(bundle, segments, connection)
            if self._n_faults(directory) > n_faults:
                raise damaged(manifest.generation, "a local copy was cut short")

    @contextmanager
    def history(self, manifest: Manifest) -> Iterator[Path | None]:
        """Yields the repository with the history of a generation, fetched if necessary; None if none was published. Raises the
        same errors as `opened`."""
        files = tuple(each for each in manifest.segments if is_of_history(each.name))
        if not files:
            yield None
            return
        with self._files_of(_Bundle(f"{manifest.generation}-{HISTORY}", manifest.repo_id, files)) as directory:
            yield directory / HISTORY

    def discard(self, generation: str) -> bool:
        """Forgets the copy of a generation in which damage was found, so that it is fetched again. Returns whether there was
        one."""
        with self._lock:
            bundle = self._kept.pop(generation)
            segments = self._open.pop(generation, None)
            if segments is not None:
                segments.close()
            if bundle is not None:
                self._measures.damaged()
                # Questions that read it have its files open.
                shutil.rmtree(self._directory / bundle.name, ignore_errors=True)
        return bundle is not None

    def close(self) -> None:
        """Closes what no question uses, and deletes the directory."""
        with self._lock:
            for each in self._open.values():
                each.close()
            self._open.clear()
        shutil.rmtree(self._directory, ignore_errors=True)

    @contextmanager
    def _files_of(self, bundle: _Bundle) -> Iterator[Path]:
        with self._lock:
            making = self._making.setdefault(bundle.name, threading.Lock())
            self._held[bundle.name] += 1
        try:
            with making:
                with self._lock:
                    is_here = bundle.name in self._kept
                if is_here:
                    self._measures.found()
                else:
                    with self._measures.fetching():
                        self._make(bundle)
            with self._lock:
                self._kept.used(bundle.name)
            yield self._directory / bundle.name
        finally:
            with self._lock:
                self._held[bundle.name] -= 1
                if not self._held[bundle.name]:
                    del self._held[bundle.name]
                    self._making.pop(bundle.name, None)

    def _make(self, bundle: _Bundle) -> None:
        begun = self._directory / f"{bundle.name}.new"
        shutil.rmtree(begun, ignore_errors=True)
        here = self._files_here(bundle.repo_id)
        self._shrink(sum(file.size for file in bundle.files if file.digest not in here))
        try:
            for file in bundle.files:
                target = begun / file.name
                make_private_directory(target.parent)
                if not _linked(here.get(file.digest), target):
                    self._fetch(bundle, file, target)
            begun.rename(self._directory / bundle.name)
        except BaseException:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        with self._lock:
            self._kept.add(bundle)

    def _files_here(self, repo_id: str) -> dict[bytes, Path]:
        """Returns the copies of files of a repository by digest."""
        with self._lock:
            return {
                file.digest: self._directory / bundle.name / file.name
                for bundle in self._kept.of(repo_id)
                for file in bundle.files
            }

    def _fetch(self, bundle: _Bundle, file: SegmentFile, target: Path) -> None:
        for _ in range(FETCHES):
            digest, size = blake3(), 0
            try:
                with target.open("wb") as out:
                    for block in self._store.blocks(file.key):
                        digest.update(block)
                        size += len(block)
                        if size > file.size:
                            break
                        out.write(block)
            except ObjectMissing as error:
                raise damaged(bundle.name, f"{file.name} is gone from the store of segments") from error
            if (size, digest.digest(DIGEST_BYTES)) == (file.size, file.digest):
                return
            self._measures.damaged()
        raise damaged(bundle.name, f"{file.name} in the store of segments is not what was written")

    def _opened(self, bundle: _Bundle, directory: Path) -> OpenSegments:
        with self._lock:
            known = self._open.get(bundle.name)
            if known is not None:
                self._open.move_to_end(bundle.name)
                return known
        made = OpenSegments(_reader(bundle, directory), TableCache(), [])
        with self._lock:
            segments = self._open.setdefault(bundle.name, made)
            while len(self._open) > KEPT_OPEN:
                self._open.popitem(last=False)[1].close()
        return segments

    def _give_back(self, bundle: _Bundle, segments: OpenSegments, connection: ReadConnection) -> None:
        with self._lock:
            if len(segments.idle) < KEPT_CONNECTIONS and self._open.get(bundle.name) is segments:
                segments.idle.append(connection)
                return
        connection.connection.close()

    def _n_faults(self, directory: Path) -> int:
        return 0 if self._mapped_files is None else self._mapped_files.n_faults(directory)

    def _shrink(self, more: int) -> None:
        """Evicts the least recently used bundles that nobody reads, until `more` bytes fit as well."""
        with self._lock:
            if self._kept.n_bytes + more <= self._max_bytes:
                return
            for name in tuple(self._kept):
                if self._kept.n_bytes + more <= self._max_bytes:
                    return
                if name not in self._held:
                    self._kept.pop(name)
                    if (segments := self._open.pop(name, None)) is not None:
                        segments.close()
                    # Under the lock, or another thread would use the directory while it is deleted.
                    shutil.rmtree(self._directory / name, ignore_errors=True)
                    self._measures.evicted()


def _whole(manifest: Manifest) -> _Bundle:
    files = tuple(each for each in manifest.segments if each.name != WORDS and not is_of_history(each.name))
    return _Bundle(manifest.generation, manifest.repo_id, files)


def _reader(bundle: _Bundle, directory: Path) -> TextReader:
    try:
        return TextReader(directory / TEXT)
    except FileNotFoundError as error:
        raise damaged(bundle.name, "its text is missing") from error


def _linked(known: Path | None, target: Path) -> bool:
    if known is None:
        return False
    try:
        os.link(known, target)
    except OSError:
        return False  # it was evicted meanwhile, or there are no links here
    return True
