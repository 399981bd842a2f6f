"""A job's access to the working tree: scans all of it or its changed directories, and compares it with the manifest.

    an earlier job's JobMemory + the directories that changed since     -> partial scan
    either is missing, or a change concerns more than its own directory -> whole scan

Everything here that touches the tree goes through BlockingCalls, because its file system may not answer.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final, TypeVar

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_state import WatchList
from codecompass.errors import RefNotIndexed
from codecompass.identity import ObjectFormat
from codecompass.scan.checkout import LOCK_PATIENCE_SECONDS, Checkout, read_checkout
from codecompass.scan.git_failures import explained
from codecompass.scan.git_index import GitBlobs, read_git_blobs
from codecompass.scan.git_repository import GitError, bare_repository_at, find_repository, object_format, read_head
from codecompass.scan.git_revisions import NamedCommit, resolve_commit
from codecompass.scan.git_roots import GitRoots
from codecompass.scan.partial import PartialScan, scan_directories
from codecompass.scan.roots import RootIdentity, identify_root, require_same_root
from codecompass.scan.rules import ScanMemory
from codecompass.scan.walk import ScannedFile, ScanResult, is_below_any, scan_and_remember
from codecompass.store.manifest import ChangeSet, StoredManifest, find_changes, find_partial_changes
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import IndexWriter
from codecompass.units import MILLISECONDS, SECONDS

SCAN_PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long a scan may take for one directory: 50,000 entries of a network file system take ten seconds."""

CHECKOUT_POLL_SECONDS: Final = 5 * MILLISECONDS
"""Interval at which a job checks whether git has finished a checkout; two stat() calls."""

MAX_INDEX_WRITES: Final = 20
"""How often git may write its index, each time within a fiftieth of a second, before a job starts over."""

T = TypeVar("T")


class JobMemory(Struct, frozen=True, kw_only=True):
    """What a job leaves for the next one on its workspace, in the same process: valid while its publication is the newest. The
    files of the watch list are left out."""

    scan: ScanMemory
    watch_list: WatchList
    generation: int
    published_at: float
    root: RootIdentity


class ScannedTree(Struct, frozen=True):
    """What a scan found, and `memory` for a later partial scan, None if that has to be a whole one."""

    found: ScanResult | PartialScan
    memory: ScanMemory | None


class BareHead(Struct, frozen=True):
    """The commit that HEAD of a bare repository names, and its branch."""

    commit: NamedCommit
    branch: str


def _bare_head(root: str, roots: GitRoots) -> BareHead | None:
    repository = bare_repository_at(os.path.realpath(root), roots)
    if repository is None:
        return None
    try:
        return BareHead(resolve_commit(repository, "HEAD"), read_head(root, roots).ref)
    except GitError as error:
        raise RefNotIndexed(f"HEAD of this bare repository cannot be read: {explained(error)}") from error


class TreeScan:
    """The working tree of one job. Call `identify` first.

    `previous` and `changed_directories` belong together: the memory of an earlier job, and every directory in which anything has
    changed since that job began (relative to the root, '' for the root itself). `changed_files` count as changed whatever their
    times are. `lend` are limiters of which the caller holds a token; see BlockingCalls.run.
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
        self._git_roots = limits.rules.git_roots
        self._blocking = blocking
        self._previous = previous
        self._changed_directories = changed_directories
        self._changed_files = changed_files
        self._lend = lend
        self._identity: RootIdentity | None = None

    @property
    def knows_changes(self) -> bool:
        """Whether a partial scan may suffice."""
        return self._changed_directories is not None and self._previous is not None

    async def identify(self) -> None:
        """Notes the identity of the root. Raises ProjectNotFound if it is gone or is not the directory of the earlier job."""
        before = None if self._previous is None else self._previous.root
        self._identity = await self._run(lambda _call: identify_root(self._root, before))

    async def require_same_root(self) -> None:
        """Raises ProjectNotFound if the root is no longer the directory that `identify` noted."""
        identity = self._identity
        assert identity is not None
        await self._run(lambda _call: require_same_root(self._root, identity))

    async def checkout(self) -> Checkout:
        """Waits up to LOCK_PATIENCE_SECONDS until no checkout is under way, and returns what is checked out.

        If git was at work, everything is scanned: the changes that the caller named may not be all.
        """
        # Bounded by the event loop's clock as well: if the system clock was set back, a lock would never grow old.
        gives_up_at = trio.current_time() + LOCK_PATIENCE_SECONDS
        while True:
            seen = await self._look()
            if seen.lock_age is not None:
                self.scan_everything()
            if not seen.may_be_under_way or trio.current_time() > gives_up_at:
                return seen
            await trio.sleep(CHECKOUT_POLL_SECONDS)

    async def checkout_of(self, before: Checkout, tree: ScannedTree) -> Checkout | None:
        """Returns the one checkout to which all files of `tree`, read since `before`, belong.

        None if they may belong to two: then none of them may be published.
        """
        after = await self._look()
        for _ in range(MAX_INDEX_WRITES):
            index, waits = after.index, after.head_may_follow
            if waits <= 0:
                break
            await trio.sleep(waits)
            after = await self._look()
            if after.index == index:
                break  # HEAD would have followed by now, whatever the clock says
        else:
            return None
        if after.is_same(before):
            return after
        # Somebody has committed, written the index as `git add` does, or holds its lock. Files that are unchanged since the scan
        # belong to what is checked out now.
        if not isinstance(tree.found, ScanResult):
            return None
        again = await self.scan(lambda _count: None)
        is_at_rest = isinstance(again.found, ScanResult) and again.found.files == tree.found.files
        return after if is_at_rest else None

    async def _look(self) -> Checkout:
        return await self._run(lambda _call: read_checkout(str(self._root), self._git_roots))

    def scan_everything(self) -> None:
        """Makes all further scans whole ones: the changes that the caller named may not be all."""
        self._changed_directories = None

    async def bare_head(self) -> BareHead | None:
        """Returns what a bare repository has as its HEAD, None for any other root. Raises RefNotIndexed if that is no commit."""
        return await self._run(lambda _call: _bare_head(str(self._root), self._git_roots))

    async def object_format(self) -> ObjectFormat:
        """Returns the object format (hash function) of the repository that holds the root."""
        return await self._run(lambda _call: object_format(find_repository(str(self._root), self._git_roots)))

    async def git_blobs(self, found: ScanResult) -> GitBlobs:
        """Reads git's indexes of the repositories that a scan found."""
        root, tops = str(self._root), found.repositories
        return await self._run(lambda call: read_git_blobs(root, tops, self._git_roots, is_cancelled=call.is_over))

    async def scan(self, on_found: Callable[[int], None]) -> ScannedTree:
        """Scans the whole tree. `on_found` is called in the event loop with the number of files found so far."""
        token = trio.lowlevel.current_trio_token()
        is_waited_for = True

        def tell(count: int) -> None:
            # The thread of an abandoned scan continues for a while, when the job has already ended.
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
        """Whether the index with metadata `meta` is what the earlier job published, complete and by the current rules."""
        previous = self._previous
        return (
            previous is not None
            and self._changed_directories is not None
            and (previous.generation, previous.published_at) == (meta.generation, meta.published_at)
            and meta.completeness == "complete"
            and meta.rules_fingerprint == self._limits.fingerprint
        )

    async def scan_changed(self, manifest: StoredManifest) -> ScannedTree | None:
        """Scans the changed directories, and those with other names of a file that has got a name in them.

        Returns None if the changes may concern files elsewhere.
        """
        previous, changed = self._previous, self._changed_directories
        assert previous is not None
        assert changed is not None

        def scan(call: BlockingCall) -> ScannedTree | None:
            wanted = changed
            while True:
                scanned = scan_directories(
                    str(self._root),
                    self._limits.rules,
                    previous.scan,
                    wanted,
                    manifest,
                    scanned=previous.watch_list.directories,
                    is_cancelled=call.is_over,
                )
                if scanned is None:
                    return None
                found, memory = scanned
                # The new name may have been written through since; the directory of the older one has had no event.
                elsewhere = frozenset(map(directory_of, manifest.paths_of(_newly_linked(found, previous.watch_list))))
                if elsewhere <= found.listed | wanted:
                    return ScannedTree(found, memory)
                wanted |= elsewhere

        return await self._run(scan)

    def compare(self, writer: IndexWriter, tree: ScannedTree) -> ChangeSet:
        """Returns what to read, skip and remove. Runs in a thread."""
        if isinstance(tree.found, PartialScan):
            return find_partial_changes(writer.manifest, tree.found, suspects=self._changed_files)
        rules_changed = self._limits.fingerprint != writer.meta.rules_fingerprint
        return find_changes(
            writer.manifest.whole(),
            tree.found,
            rules_changed=rules_changed,
            suspects=self._changed_files,
            tries_grammars=True,
        )

    def watch_list(self, tree: ScannedTree) -> WatchList:
        """Returns what is to be watched now: after a partial scan, the earlier job's list with the scan's findings merged in.

        Takes 0.5 us a file after a whole scan, so it runs in a thread.
        """
        found = tree.found
        linked = {file.path: file.stamp for file in found.linked}
        files = _by_directory(found.files)
        if isinstance(found, ScanResult):
            return WatchList(
                directories=frozenset(found.directories),
                repositories=found.repositories,
                files=files,
                has_all_files=True,
                linked=linked,
            )
        assert self._previous is not None
        previous, gone = self._previous.watch_list, frozenset(found.gone)
        directories = previous.directories
        if gone:
            directories = frozenset(path for path in directories if path not in gone and not is_below_any(path, gone))
        kept = {
            path: stamp
            for path, stamp in previous.linked.items()
            if directory_of(path) not in found.listed and not is_below_any(path, gone)
        }
        return WatchList(
            directories=directories if found.listed <= directories else directories | found.listed,
            # If a repository appears or vanishes, the scan is a whole one.
            repositories=previous.repositories,
            files={**dict.fromkeys(found.listed, ()), **files},
            linked={**kept, **linked},
        )

    def remember(self, tree: ScannedTree, watch_list: WatchList, meta: IndexMeta) -> JobMemory | None:
        """Returns the memory for the next job, after this one has published `meta`."""
        if tree.memory is None or self._identity is None:
            return None
        return JobMemory(
            scan=tree.memory,
            watch_list=replace(watch_list, files={}, has_all_files=False),
            generation=meta.generation,
            published_at=meta.published_at,
            root=self._identity,
        )

    async def _run(self, work: Callable[[BlockingCall], T]) -> T:
        return await self._blocking.run(work, self._root, patience=SCAN_PATIENCE_SECONDS, lend=self._lend)


def directory_of(path: str) -> str:
    """Returns the directory of a file, both relative to the root."""
    return path.rpartition("/")[0]


def _by_directory(files: Iterable[ScannedFile]) -> dict[str, tuple[ScannedFile, ...]]:
    """Groups files, sorted by path, by their directories; each group is sorted."""
    grouped: dict[str, tuple[ScannedFile, ...]] = {}
    for directory, group in groupby(files, lambda file: directory_of(file.path)):
        # The files of a directory are not in one run if a directory in it sorts among them.
        grouped[directory] = grouped.get(directory, ()) + tuple(group)
    return grouped


def _newly_linked(found: PartialScan, before: WatchList) -> frozenset[int]:
    """Returns the inodes of files that have several names now, and one of them since `before`."""
    known = before.linked
    return frozenset(
        file.stamp.inode for file in found.linked if (stamp := known.get(file.path)) is None or stamp.inode != file.stamp.inode
    )
