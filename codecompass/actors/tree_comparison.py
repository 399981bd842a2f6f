"""Compares the working tree of a live workspace with its index, file by file, when no watcher proves that nothing changed."""

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TypeVar

from msgspec import Struct

from codecompass.actors.blocking_calls import PATIENCE_SECONDS, BlockingCall, BlockingCalls
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.tree_scan import SCAN_PATIENCE_SECONDS
from codecompass.errors import CodeCompassError, FileSystemUnresponsive
from codecompass.scan.files import Stamp, is_unchanged
from codecompass.scan.walk import ScanCancelled
from codecompass.store.drift import Drift, find_drift
from codecompass.store.index import WorkspaceIndex
from codecompass.store.snapshot import Snapshot
from codecompass.units import SECONDS

COMPARISON_SECONDS: Final = 2 * SECONDS
"""How long an answer that did not become fresh in time may search for changed files: about 130,000 files are compared."""

T = TypeVar("T")


class Comparison(Struct, frozen=True, kw_only=True):
    """How the tree differed from one generation of the index, a moment ago. `published_at` is in seconds since 1970."""

    generation: int
    published_at: float
    drift: Drift

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether the comparison was with the generation of `snapshot`."""
        return (self.generation, self.published_at) == (snapshot.generation, snapshot.meta.published_at)


class TreeComparison:
    """Compares one workspace's tree with the newest generation of its index. `limits` may change from job to job."""

    def __init__(self, root: Path, index: WorkspaceIndex, limits: IndexLimits, blocking: BlockingCalls) -> None:
        self.limits = limits
        self._root = root
        self._index = index
        self._blocking = blocking

    async def compare(self, seconds: float = COMPARISON_SECONDS) -> Comparison | None:
        """Returns how the tree differs; None if that fails or takes longer than `seconds`, at most COMPARISON_SECONDS."""
        ends = time.monotonic() + min(seconds, COMPARISON_SECONDS)

        def compare(call: BlockingCall) -> Comparison | None:
            with self._index.snapshot() as snapshot:
                try:
                    drift = self._drift(snapshot, lambda: call.is_over() or time.monotonic() > ends)
                except (ScanCancelled, OSError):
                    return None
                return Comparison(generation=snapshot.generation, published_at=snapshot.meta.published_at, drift=drift)

        try:
            return await self.run_on_tree(panics_as_errors(compare))
        except FileSystemUnresponsive:
            return None

    async def differs(self) -> bool:
        """Whether tree and index differ: about 15 us a file. True also if the comparison fails."""

        def check(call: BlockingCall) -> bool:
            try:
                with self._index.snapshot() as snapshot:
                    drift = self._drift(snapshot, call.is_over)
                    return not (drift.is_fresh and drift.names_head_of(snapshot))
            except (CodeCompassError, OSError, ScanCancelled):
                return True

        try:
            return await self.run_on_tree(panics_as_errors(check), patience=SCAN_PATIENCE_SECONDS)
        except FileSystemUnresponsive:
            return True

    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]:
        """Returns which of these files, by path relative to the root, have another stamp now: about 2 us each."""

        def check(_call: BlockingCall) -> frozenset[str]:
            return frozenset(path for path, stamp in linked.items() if not is_unchanged(f"{self._root}/{path}", stamp))

        return await self.run_on_tree(check)

    async def run_on_tree(self, work: Callable[[BlockingCall], T], *, patience: float = PATIENCE_SECONDS) -> T:
        """Runs work on the workspace's file system, which may not answer, outside of the shared threads.

        Raises the errors of `work`, and FileSystemUnresponsive.
        """
        return await self._blocking.run(work, self._root, patience=patience)

    def _drift(self, snapshot: Snapshot, is_cancelled: Callable[[], bool]) -> Drift:
        limits = self.limits
        return find_drift(snapshot, str(self._root), limits.rules, limits.fingerprint, is_cancelled=is_cancelled)
