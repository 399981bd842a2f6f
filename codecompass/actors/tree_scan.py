"""How a job sees the working tree: the scan of all of it or of changed directories, and the comparison with the manifest.

    an earlier job's JobMemory + the directories that changed since -> partial scan
    neither, or something that one directory cannot decide alone    -> whole scan

Everything here that touches the tree goes through BlockingCalls, because its file system may not answer.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

import trio
from msgspec import Struct

from codecompass.actors.blocking_calls import BlockingCalls, Call
from codecompass.actors.index_limits import IndexLimits
from codecompass.identity import ObjectFormat
from codecompass.scan.checkout import LOCK_PATIENCE_SECONDS, Checkout, read_checkout
from codecompass.scan.files import Stamp
from codecompass.scan.git_index import GitBlobs, read_git_blobs
from codecompass.scan.git_repository import find_repository, object_format
from codecompass.scan.partial import PartialScan, scan_directories
from codecompass.scan.roots import RootIdentity, identify_root, require_same_root
from codecompass.scan.rules import ScanMemory
from codecompass.scan.walk import ScanResult, is_below_any, scan_and_remember
from codecompass.store.manifest import Changes, StoredManifest, find_changes, find_partial_changes
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import IndexWriter
from codecompass.units import MILLISECONDS, SECONDS

SCAN_PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long a scan may be at one directory: 50,000 entries of a network file system take ten seconds."""

CHECKOUT_POLL_SECONDS: Final = 5 * MILLISECONDS
"""How often a job checks whether git has ended what it does; two stat() calls."""

MAX_INDEX_WRITES: Final = 20
"""How often git may write its index, within as many fiftieths of a second, until a job begins again."""

T = TypeVar("T")


class WatchList(Struct, frozen=True, kw_only=True):
    """What a watcher has to watch after a scan; see JobReport."""

    directories: frozenset[str]
    repositories: tuple[str, ...]
    linked: Mapping[str, Stamp]


class JobMemory(Struct, frozen=True, kw_only=True):
    """What a job leaves for the next one on the same workspace, in the same process: valid while its publication stands."""

    scan: ScanMemory
    watch_list: WatchList
    generation: int
    published_at: float
    root: RootIdentity


class ScannedTree(Struct, frozen=True):
    """What a scan found, and what a later partial scan needs of it: None where only a whole scan will do."""

    found: ScanResult | PartialScan
    memory: ScanMemory | None


class TreeScan:
    """The working tree of one job. Call `identify` first.

    `previous` and `changed_directories` go together: the memory of an earlier job, and every directory in which anything has
    changed since that job began (relative to the root, '' for itself). `changed_files` count as changed whatever their times
    are. `lend` are limiters of which the caller holds a token and lends it while the file system does not answer.
    """

    def __init__(
        self,
        root: Path,
        limits: IndexLimits,
        blocking: BlockingCalls,
        *,
        previous: JobMemory | None,
        changed_directories: frozenset[str] | None,
        changed_files: frozenset[str],
        lend: Sequence[trio.CapacityLimiter],
    ) -> None:
        self._root = root
        self._limits = limits
        self._blocking = blocking
        self._previous = previous
        self._changed_directories = changed_directories
        self._changed_files = changed_files
        self._lend = lend
        self._identity: RootIdentity | None = None

    @property
    def knows_changes(self) -> bool:
        """Whether a partial scan may do."""
        return self._changed_directories is not None and self._previous is not None

    async def identify(self) -> None:
        """Notes which directory the root is. Raises ProjectNotFound where it is gone or not the one of the earlier job."""
        before = None if self._previous is None else self._previous.root
        self._identity = await self._run(lambda _call: identify_root(self._root, before))

    async def require_same_root(self) -> None:
        """Raises ProjectNotFound where the root is not the directory that it was at `identify`."""
        identity = self._identity
        assert identity is not None
        await self._run(lambda _call: require_same_root(self._root, identity))

    async def checkout(self) -> Checkout:
        """Returns what is checked out, once no checkout is under way; afterwards what has changed is known to nobody.

        Waits up to LOCK_PATIENCE_SECONDS for git.
        """
        # By the event loop's clock as well: by one that was set back a lock would be new for ever.
        gives_up_at = trio.current_time() + LOCK_PATIENCE_SECONDS
        while True:
            seen = await self._look()
            if seen.lock_age is not None:
                self.scan_everything()
            if not seen.may_be_under_way or trio.current_time() > gives_up_at:
                return seen
            await trio.sleep(CHECKOUT_POLL_SECONDS)

    async def checkout_of(self, before: Checkout, tree: ScannedTree) -> Checkout | None:
        """Returns the one checkout that all files are of which were read since `before`, as `tree` has them.

        None where they may be of two: then none of them may be published.
        """
        after = await self._look()
        for _ in range(MAX_INDEX_WRITES):
            index, waits = after.index, after.head_may_follow
            if waits <= 0:
                break
            await trio.sleep(waits)
            after = await self._look()
            if after.index == index:
                break  # HEAD has had its time, whatever the clock says
        else:
            return None
        if after.is_same(before):
            return after
        # Somebody has committed, written the index as `git add` does, or holds its lock. Files that nobody has written since the
        # scan are those of what is checked out now.
        if not isinstance(tree.found, ScanResult):
            return None
        again = await self.scan(lambda _count: None)
        is_at_rest = isinstance(again.found, ScanResult) and again.found.files == tree.found.files
        return after if is_at_rest else None

    async def _look(self) -> Checkout:
        return await self._run(lambda _call: read_checkout(str(self._root)))

    def scan_everything(self) -> None:
        """From now on only a whole scan will do: what has changed is not what the caller said."""
        self._changed_directories = None

    async def object_format(self) -> ObjectFormat:
        """Returns the hash of the ids of the repository that holds the root."""
        return await self._run(lambda _call: object_format(find_repository(str(self._root))))

    async def git_blobs(self, found: ScanResult) -> GitBlobs:
        """Returns what git's indexes say of the files of a scan."""
        return await self._run(lambda call: read_git_blobs(str(self._root), found.repositories, is_cancelled=call.is_over))

    async def scan(self, on_found: Callable[[int], None]) -> ScannedTree:
        """Scans the whole tree. `on_found` is called in the event loop with the number of files found so far."""
        token = trio.lowlevel.current_trio_token()
        is_waited_for = True

        def tell(count: int) -> None:
            # The thread of a scan that was given up goes on for a while, and the job has ended by then.
            if is_waited_for:
                on_found(count)

        try:
            found, memory = await self._run(
                lambda call: scan_and_remember(
                    str(self._root),
                    self._limits.rules,
                    on_progress=lambda count: token.run_sync_soon(tell, count),
                    is_cancelled=call.is_over,
                )
            )
        finally:
            is_waited_for = False
        return ScannedTree(found, memory)

    def can_be_partial(self, meta: IndexMeta) -> bool:
        """Whether the index of `meta` is what the earlier job published, complete and by the rules of today."""
        previous = self._previous
        return (
            previous is not None
            and self._changed_directories is not None
            and (previous.generation, previous.published_at) == (meta.generation, meta.published_at)
            and meta.completeness == "complete"
            and meta.rules_fingerprint == self._limits.fingerprint
        )

    async def scan_changed(self, manifest: StoredManifest) -> ScannedTree | None:
        """Scans the changed directories alone; None where the changes can have moved what belongs elsewhere."""
        previous, changed = self._previous, self._changed_directories
        assert previous is not None
        assert changed is not None
        scanned = await self._run(
            lambda call: scan_directories(
                str(self._root),
                self._limits.rules,
                previous.scan,
                changed,
                manifest,
                scanned=previous.watch_list.directories,
                is_cancelled=call.is_over,
            )
        )
        return None if scanned is None else ScannedTree(*scanned)

    def compare(self, writer: IndexWriter, tree: ScannedTree) -> Changes:
        """Returns what to read, skip and remove. Runs in a thread."""
        if isinstance(tree.found, PartialScan):
            return find_partial_changes(writer.manifest, tree.found, suspects=self._changed_files)
        rules_changed = self._limits.fingerprint != writer.meta.rules_fingerprint
        return find_changes(writer.manifest.whole(), tree.found, rules_changed=rules_changed, suspects=self._changed_files)

    def watch_list(self, tree: ScannedTree) -> WatchList:
        """Returns what is to be watched now: that of the earlier job, with what a partial scan has found instead."""
        found = tree.found
        linked = {file.path: file.stamp for file in found.linked}
        if isinstance(found, ScanResult):
            return WatchList(directories=frozenset(found.directories), repositories=found.repositories, linked=linked)
        assert self._previous is not None
        previous, gone = self._previous.watch_list, frozenset(found.gone)
        directories = previous.directories
        if gone:
            directories = frozenset(path for path in directories if path not in gone and not is_below_any(path, gone))
        kept = {
            path: stamp
            for path, stamp in previous.linked.items()
            if path.rpartition("/")[0] not in found.listed and not is_below_any(path, gone)
        }
        # A repository that comes or goes makes the scan a whole one.
        return WatchList(directories=directories | found.listed, repositories=previous.repositories, linked={**kept, **linked})

    def remember(self, tree: ScannedTree, watch_list: WatchList, meta: IndexMeta) -> JobMemory | None:
        """Returns what the next job may go by, after this one has published `meta`."""
        if tree.memory is None or self._identity is None:
            return None
        return JobMemory(
            scan=tree.memory,
            watch_list=watch_list,
            generation=meta.generation,
            published_at=meta.published_at,
            root=self._identity,
        )

    async def _run(self, work: Callable[[Call], T]) -> T:
        return await self._blocking.run(work, self._root, patience=SCAN_PATIENCE_SECONDS, lend=self._lend)
