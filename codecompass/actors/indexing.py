"""The index job: scan, compare, read and parse, write, publish. One path for first builds, updates and recovery.

    tree_scan.py: scan, comparison with the manifest -> file_pipeline.py: workers, writer -> publish

Without a usable index the text is published first, so that it can be searched after a fraction of the time, and the symbols
follow in slices; an interrupted job of this kind is resumed from its last publication. Every other run publishes once. The job
holds the writer lock and the writer from beginning to end; cancelling it drops what was not published.
"""

import os
import time
from functools import partial
from typing import Final, Literal

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.file_pipeline import FilePipeline, in_threads, open_writer, unparsed
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport, ProgressMeter, WatchList
from codecompass.actors.starting_point import KnownTree, StartingPoint
from codecompass.actors.tree_scan import BareHead, JobMemory, ScannedTree, TreeScan
from codecompass.errors import IndexDamaged, IndexInProgress, WorkspaceBusy
from codecompass.nurseries import open_nursery
from codecompass.scan.checkout import Checkout
from codecompass.scan.git_repository import Head
from codecompass.scan.partial import PartialScan
from codecompass.scan.walk import ScanResult
from codecompass.store.epochs import require_replaceable
from codecompass.store.forks import ForkSource, NotForkable
from codecompass.store.known_content import KnownContent
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import LockHeld, writer_lock
from codecompass.store.manifest import ChangeSet, without_known
from codecompass.store.nearest import sources_of
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import IndexWriter
from codecompass.units import SECONDS

SWITCHING_SECONDS: Final = 60 * SECONDS
"""How long a job restarts whenever another commit was checked out while it read the files."""


class _Switched(Exception):
    """Files of two checkouts may have been read, so nothing was published."""


class _Beginning(Struct, frozen=True, kw_only=True):
    """What a writer begins with: a fresh epoch or the current one (`is_fresh`), possibly a fork of `source`.

    `is_first`: there is no index yet. `parks`: the replaced epoch is kept. `may_switch`: another beginning may still be chosen.
    `is_rebuild`: nothing is taken from any index, because the existing one may be damaged or is not wanted.
    """

    is_fresh: bool
    is_first: bool = False
    source: ForkSource | None = None
    parks: bool = False
    may_switch: bool = True
    is_rebuild: bool = False


class IndexJob:
    """One run over one workspace. Create it, `await run()` once.

    The order's directories and `memory`, what the last job left, make the job cheaper without changing its result: see TreeScan.
    If they cannot be trusted, everything is scanned. Afterwards the attribute `memory` is what this job left for the next, None
    unless it succeeded.
    """

    def __init__(self, context: JobContext, order: JobOrder, memory: JobMemory | None = None) -> None:
        self._context = context
        self._order = order
        self._root = context.root
        self._layout = context.layout
        self._pool = context.pool
        self._limits = limits = context.limits
        self._tree = TreeScan(
            context.root,
            limits,
            context.blocking,
            previous=memory,
            changed_directories=order.directories,
            changed_files=order.files,
            lend=() if context.turns is None else (context.turns,),
        )
        self._meter = ProgressMeter(context.on_progress)
        self._files = FilePipeline(context.root, context.layout, context.pool, limits, self._meter, context.give_way)
        self._checkout = Checkout(head=Head(ref="live", commit=None))
        self._scanned: ScannedTree | None = None
        home = HomeLayout(context.layout.root.parents[1])
        self._starting_point = StartingPoint(context.layout, home, self._tree, limits, context.bases)
        self._known = KnownTree()
        self._log = structlog.get_logger(__name__).bind(job_id=order.job_id, root=str(context.root))
        self.memory: JobMemory | None = None

    async def run(self) -> JobReport:
        """Brings the index up to the working tree.

        Raises IndexInProgress if another job holds the lock, PermissionDenied if the store cannot be written, StoreNewer if a
        newer program wrote it, ProjectNotFound if the root is gone or is another directory than before, FileSystemUnresponsive if
        its file system does not answer, WorkspaceBusy if the tree is switched to other commits for SWITCHING_SECONDS.
        Safe to cancel: what is not published is dropped.
        """
        started = time.monotonic()
        await self._tree.identify()
        bare = await self._tree.bare_head()
        if bare is not None:
            return await self._run_of_commit(bare)
        try:
            async with in_threads(writer_lock(self._layout, f"job {self._order.job_id} pid {os.getpid()}")):
                return await self._run_locked(started)
        except LockHeld as error:
            raise IndexInProgress(
                f"another process is writing this index ({error.owner or 'unknown owner'}). Wait for it to end, then run again.",
                owner=error.owner,
            ) from error

    async def _run_of_commit(self, head: BareHead) -> JobReport:
        """Brings the index of a bare repository up to its HEAD. Raises the errors of `CommitJob.run`."""
        return await CommitJob(self._context, self._order, head.commit, branch=head.branch).run()

    async def _run_locked(self, started: float) -> JobReport:
        standing = partial(require_replaceable, self._layout, is_forced=self._order.force)
        found = await trio.to_thread.run_sync(standing)
        gives_up_at = time.monotonic() + SWITCHING_SECONDS
        while True:
            is_fresh = self._order.force or found.status != "compatible"
            try:
                return await self._run_on_checkout(is_fresh=is_fresh, is_first=found.status == "not_indexed", started=started)
            except _Switched:
                self._log.info("checkout_during_job", ref=self._checkout.head.ref)
            if time.monotonic() > gives_up_at:
                raise WorkspaceBusy(
                    "the working tree is being switched to other commits again and again, and no index of one of them could be "
                    "made. Call again; questions with ref are answered whatever is checked out.",
                    retry_after_ms=1000,
                )
            self._tree.scan_everything()
            self._files.changed.clear()
            # A first index whose text was published is continued.
            found = await trio.to_thread.run_sync(standing)

    async def _run_on_checkout(self, *, is_fresh: bool, is_first: bool, started: float) -> JobReport:
        """Runs the job on what is checked out now. Raises _Switched if another commit was checked out meanwhile."""
        self._checkout = await self._tree.checkout()
        self._known = KnownTree()
        self._files.object_format = await self._tree.object_format()
        may_fork = is_fresh and not self._order.force and await self._starting_point.can_be_fork()
        tree = None if self._tree.knows_changes and not is_fresh else await self._scan(warms_up=is_fresh and not may_fork)
        begin = _Beginning(is_fresh=is_fresh, is_first=is_first, is_rebuild=self._order.force)
        if tree is not None and is_fresh:
            self._known = await self._starting_point.read_known(tree)
            if may_fork:
                begin = replace(begin, source=await self._starting_point.nearest(tree, self._known))
        try:
            return await self._build(tree, begin, started=started)
        except IndexDamaged as error:
            if is_fresh:
                raise
            self._log.warning("index_damaged_rebuilding", cause=error.message)
            tree = tree or await self._scan()
            return await self._build(tree, _Beginning(is_fresh=True, is_rebuild=True), started=started)

    async def _build(self, tree: ScannedTree | None, begin: "_Beginning", *, started: float) -> JobReport:
        try:
            async with open_writer(
                self._layout, fresh=begin.is_fresh, source=begin.source, parks=begin.parks, on_step=self._context.on_step
            ) as writer:
                self._scanned = tree = tree or await self._scan_changed(writer) or await self._scan()
                changes = await trio.to_thread.run_sync(self._tree.compare, writer, tree)
                if isinstance(tree.found, PartialScan) and len(changes.tasks) >= self._limits.known_from_files:
                    # A switch of branches changes this much; only a whole scan can be compared with git's index and other epochs.
                    tree = await self._scan()
                    changes = await trio.to_thread.run_sync(self._tree.compare, writer, tree)
                changes = await self._take_in_known(writer, tree, changes, begin)
                if begin.is_fresh or not begin.may_switch or not self._starting_point.is_large(writer, tree, changes):
                    return await self._bring_up(writer, tree, changes, begin, started=started)
                self._files.note_changes(changes)
                self._known = self._known or await self._starting_point.read_known(tree)
            begin = _Beginning(is_fresh=True, source=await self._starting_point.nearest(tree, self._known), parks=True)
        except NotForkable as error:
            # The source was removed or replaced after it was found: continue an existing index, or take the next source.
            self._log.info("index_not_forked", cause=str(error))
            begin = await self._other_beginning(tree, begin)
        return await self._build(tree, begin, started=started)

    async def _other_beginning(self, tree: ScannedTree | None, begin: "_Beginning") -> "_Beginning":
        if begin.parks:
            return _Beginning(is_fresh=False, may_switch=False)
        source = None
        if tree is not None and begin.may_switch:
            source = await self._starting_point.nearest(tree, self._known)
        return replace(begin, is_fresh=True, source=source, may_switch=False)

    async def _take_in_known(self, writer: IndexWriter, tree: ScannedTree, changes: ChangeSet, begin: "_Beginning") -> ChangeSet:
        """Writes the stamps of files whose content, according to git, the index already holds; returns the other changes."""
        is_worth = begin.source is not None or len(changes.tasks) >= self._limits.known_from_files
        if not self._known and is_worth and isinstance(tree.found, ScanResult):
            self._known = await self._starting_point.read_known(tree)
        self._files.blobs = self._known.blobs
        if not self._known:
            return changes
        left = await trio.to_thread.run_sync(without_known, writer.manifest, changes, tree.found.files, self._known.ids)
        await trio.to_thread.run_sync(self._files.touch, writer, left.known)
        return left.changes

    async def _bring_up(
        self, writer: IndexWriter, tree: ScannedTree, changes: ChangeSet, begin: "_Beginning", *, started: float
    ) -> JobReport:
        self._meter.advance(stage="parsing", files_scanned=len(tree.found.files), files_total=len(changes.tasks))
        await trio.to_thread.run_sync(self._files.apply, writer, changes)
        is_resumed = not begin.is_fresh and writer.meta.completeness == "partial"
        is_first = begin.is_first and begin.source is None
        if self._known and not is_first and not is_resumed and not begin.is_rebuild:
            changes = await self._write_known(writer, changes, begin)
        await self._write_content(writer, changes, is_first=is_first, is_resumed=is_resumed)
        self._meter.advance(stage="finalizing")
        watch_list = await trio.to_thread.run_sync(self._tree.watch_list, tree)
        meta = await self._publish(writer, "complete", watch_list)
        self.memory = self._tree.remember(tree, watch_list, meta)
        report = self._files.report(
            meta,
            writer.counts,
            mode="full" if begin.is_fresh and begin.source is None else "incremental",
            files_scanned=len(tree.found.files),
            started=started,
        )
        return replace(
            report,
            is_partial_scan=isinstance(tree.found, PartialScan),
            warnings=tree.found.warnings,
        )

    async def _write_known(self, writer: IndexWriter, changes: ChangeSet, begin: "_Beginning") -> ChangeSet:
        """Writes the files whose contents another epoch holds; returns the other changes, and files whose symbols are missing."""
        known = self._known.ids
        wanted = {known[task.path] for task in changes.tasks if known.get(task.path)}
        sources = () if begin.source is None else (begin.source,)
        rest = await self._files.process_known(
            writer, changes.tasks, known, lambda: KnownContent((*sources, *sources_of(self._layout)) if wanted else (), wanted)
        )
        left = await trio.to_thread.run_sync(unparsed, writer) if len(rest) < len(changes.tasks) else []
        return replace(changes, tasks=(*rest, *left))

    async def _write_content(self, writer: IndexWriter, changes: ChangeSet, *, is_first: bool, is_resumed: bool) -> None:
        async def publish_slice() -> None:
            await self._publish(writer, "partial")

        if is_first and (self._order.text_first or changes.bytes_to_read >= self._limits.text_first_bytes):
            await self._files.process(writer, changes.tasks, parse=False)
            await self._publish(writer, "partial")
            left = await trio.to_thread.run_sync(unparsed, writer)
            await self._files.process(writer, left, parse=True, defers_uses=self._order.defers_uses, publish_slice=publish_slice)
        elif is_resumed:
            await self._files.process(
                writer, changes.tasks, parse=True, defers_uses=self._order.defers_uses, publish_slice=publish_slice
            )
        else:
            await self._files.process(writer, changes.tasks, parse=True)

    async def _scan(self, *, warms_up: bool = False) -> ScannedTree:
        async def warm_up() -> None:
            await many_found.wait()
            await self._pool.warm_up()

        def on_found(count: int) -> None:
            self._meter.advance(stage="discovery", files_scanned=count)
            if warms_up:
                # All these files will be read: start the workers while the scan continues.
                many_found.set()

        many_found = trio.Event()
        self._meter.advance(stage="discovery")
        async with open_nursery() as nursery:
            nursery.start_soon(warm_up)
            tree = await self._tree.scan(on_found)
            nursery.cancel_scope.cancel()
        for warning in tree.found.warnings:
            self._log.warning("scan_warning", warning=warning)
        if self._context.on_scanned is not None and isinstance(tree.found, ScanResult):
            self._context.on_scanned(tree.found)
        return tree

    async def _scan_changed(self, writer: IndexWriter) -> ScannedTree | None:
        if not self._tree.can_be_partial(writer.meta):
            return None
        self._meter.advance(stage="discovery")
        return await self._tree.scan_changed(writer.manifest)

    async def _publish(
        self, writer: IndexWriter, completeness: Literal["partial", "complete"], watch_list: WatchList | None = None
    ) -> IndexMeta:
        # If the root was replaced meanwhile, its files are missing or belong to another project.
        await self._tree.require_same_root()
        assert self._scanned is not None
        checkout = await self._tree.checkout_of(self._checkout, self._scanned)
        if checkout is None:
            raise _Switched
        self._checkout, head = checkout, checkout.head

        def tell() -> None:
            if self._context.on_published is not None:
                trio.from_thread.run_sync(self._context.on_published, watch_list)

        def publish() -> IndexMeta:
            return writer.publish(
                completeness=completeness,
                ref=head.ref,
                commit=head.commit or "",
                rules_fingerprint=self._limits.fingerprint,
                checkpoint=trio.from_thread.check_cancelled,
                on_published=tell,
            )

        return await trio.to_thread.run_sync(publish)
