"""What a worker or server counts of the store of segments, and a server of its copies: for `/metrics`.

MeasuredStore(store, measures)      every use of the store is counted, whoever uses it
watch_store                         looks at the store every LOOK_SECONDS, so that its loss is known before it is needed
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import trio

from codecompass.cluster.stores.segment_store import SegmentStore, StoreUnavailable
from codecompass.transport.http.exposition import Family, Kind, gauge
from codecompass.units import SECONDS

LOOK_SECONDS: Final = 30 * SECONDS
"""Between two looks at the store."""

PATIENCE_SECONDS: Final = 10 * SECONDS
"""How long a look may take: a file server that is away makes calls hang."""

Operation = Literal["write", "read", "list", "remove", "look"]

OPERATIONS: Final[tuple[Operation, ...]] = ("write", "read", "list", "remove", "look")

Use = Literal["here", "fetched", "failed"]
"""How a question got the files that it needs: from this machine, from the store, not."""

USES: Final[tuple[Use, ...]] = ("here", "fetched", "failed")

_NO_OBJECT: Final = "look/look/look"
"""A key that no object has."""


class StoreMeasures:
    """The counters of one process. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._failures: Counter[Operation] = Counter()
        self._n_written = self._n_read = 0
        self._disk: tuple[int, int] | None = None
        self._is_available: bool | None = None

    def wrote(self, n_bytes: int) -> None:
        """Counts bytes of an object that was written."""
        with self._lock:
            self._n_written += n_bytes

    def read(self, n_bytes: int) -> None:
        """Counts bytes that were read."""
        with self._lock:
            self._n_read += n_bytes

    def failed(self, operation: Operation) -> None:
        """Counts a use that the store did not answer."""
        with self._lock:
            self._failures[operation] += 1

    def looked(self, disk: tuple[int, int] | None) -> None:
        """Notes that the store answers, and the free bytes and the size of its disk if it has one."""
        with self._lock:
            self._is_available, self._disk = True, disk

    def not_answered(self) -> None:
        """Notes that a look at the store failed."""
        with self._lock:
            self._is_available = False

    def metrics(self) -> tuple[Family, ...]:
        """Returns what was counted, and the store as of the last look at it."""
        with self._lock:
            failures = tuple(({"operation": each}, float(self._failures[each])) for each in OPERATIONS)
            families = [
                Family("codecompass_store_errors_total", "counter", "Uses of the store of segments that failed.", failures),
                _single("codecompass_store_written_bytes_total", "counter", "Bytes written to it.", self._n_written),
                _single("codecompass_store_read_bytes_total", "counter", "Bytes read from it.", self._n_read),
            ]
            if self._is_available is not None:
                families.append(gauge("codecompass_store_available", "1 if it has answered the last look.", self._is_available))
            if self._disk is not None:
                n_free, n_bytes = self._disk
                families.append(gauge("codecompass_store_free_bytes", "Free bytes of the disk of a shared directory.", n_free))
                families.append(gauge("codecompass_store_bytes", "Size of that disk.", n_bytes))
        return tuple(families)


class MeasuredStore:
    """A `SegmentStore` that counts the uses of another one."""

    def __init__(self, store: SegmentStore, measures: StoreMeasures) -> None:
        self._store = store
        self._measures = measures

    @property
    def address(self) -> str:
        """See `SegmentStore`."""
        return self._store.address

    def put(self, key: str, path: Path) -> None:
        """See `SegmentStore`."""
        with self._counted("write"):
            self._store.put(key, path)
        self._measures.wrote(path.stat().st_size)

    def blocks(self, key: str) -> Iterator[bytes]:
        """See `SegmentStore`."""
        with self._counted("read"):
            for block in self._store.blocks(key):
                self._measures.read(len(block))
                yield block

    def size(self, key: str) -> int | None:
        """See `SegmentStore`."""
        with self._counted("look"):
            return self._store.size(key)

    def written_at(self, key: str) -> float | None:
        """See `SegmentStore`."""
        with self._counted("look"):
            return self._store.written_at(key)

    def keys(self, repo_id: str) -> list[str]:
        """See `SegmentStore`."""
        with self._counted("list"):
            return self._store.keys(repo_id)

    def remove(self, key: str) -> None:
        """See `SegmentStore`."""
        with self._counted("remove"):
            self._store.remove(key)

    def repositories(self) -> list[str]:
        """See `SegmentStore`."""
        with self._counted("list"):
            return self._store.repositories()

    def free(self) -> tuple[int, int] | None:
        """See `SegmentStore`."""
        with self._counted("look"):
            return self._store.free()

    def look(self) -> tuple[int, int] | None:
        """Returns the free bytes and the size of the disk of a shared directory; None for a store that has none. Raises
        StoreUnavailable."""
        with self._counted("look"):
            found = self._store.free()
            if found is None:
                self._store.size(_NO_OBJECT)
            return found

    @contextmanager
    def _counted(self, operation: Operation) -> Iterator[None]:
        try:
            yield
        except StoreUnavailable:
            self._measures.failed(operation)
            raise


async def watch_store(store: MeasuredStore, measures: StoreMeasures) -> None:
    """Looks at the store until cancelled."""
    # A look that hangs keeps its thread; the next one then waits for it in vain, which is what there is to know.
    limiter = trio.CapacityLimiter(1)
    while True:
        disk, has_answered = None, False
        with trio.move_on_after(PATIENCE_SECONDS):
            try:
                disk = await trio.to_thread.run_sync(store.look, limiter=limiter, abandon_on_cancel=True)
                has_answered = True
            except StoreUnavailable:
                pass
        if has_answered:
            measures.looked(disk)
        else:
            measures.not_answered()
        await trio.sleep(LOOK_SECONDS)


class CacheMeasures:
    """The counters of the copies of a server. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: Counter[Use] = Counter()
        self._seconds = 0.0
        self._n_evicted = self._n_damaged = 0

    def found(self) -> None:
        """Counts a use of files that were here."""
        with self._lock:
            self._uses["here"] += 1

    @contextmanager
    def fetching(self) -> Iterator[None]:
        """Counts the block as a fetch, and how long it takes."""
        began = time.monotonic()
        use: Use = "failed"
        try:
            yield
            use = "fetched"
        finally:
            with self._lock:
                self._uses[use] += 1
                self._seconds += time.monotonic() - began

    def evicted(self) -> None:
        """Counts a copy that was removed for others."""
        with self._lock:
            self._n_evicted += 1

    def damaged(self) -> None:
        """Counts a copy, or an object as it was read, that was not what it should be."""
        with self._lock:
            self._n_damaged += 1

    def metrics(self, n_bytes: int, max_bytes: int) -> tuple[Family, ...]:
        """Returns what was counted, with the size of the copies and its bound."""
        with self._lock:
            uses = tuple(({"files": each}, float(self._uses[each])) for each in USES)
            return (
                gauge("codecompass_cache_bytes", "Bytes of the copies of indexes.", n_bytes),
                gauge("codecompass_cache_limit_bytes", "How many there may be.", max_bytes),
                Family("codecompass_cache_uses_total", "counter", "Uses of an index, by where its files were.", uses),
                _single("codecompass_cache_fetch_seconds_total", "counter", "How long fetches took.", self._seconds),
                _single("codecompass_cache_evictions_total", "counter", "Copies removed for others.", self._n_evicted),
                _single("codecompass_cache_damaged_total", "counter", "Copies and objects that were damaged.", self._n_damaged),
            )


def _single(name: str, kind: Kind, text: str, value: float) -> Family:
    return Family(name, kind, text, (({}, value),))
