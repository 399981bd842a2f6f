"""The index job: scan, read and parse in workers, write, publish. The same path for first builds, updates and recovery.

    scan -> changes -> batches --1 per worker--> pool --4--> writer thread -> publish

Whoever knows which directories have changed since an earlier job says so, and hands over what that job remembered: then
only these are scanned, and the whole run costs by them. Where there is no usable index the text is published first, so that
it can be searched after a fraction of the time, and the symbols follow in slices; such a job, interrupted, is taken up again
where it last published. Every other run publishes once. The job owns the writer lock and the writer from beginning to end;
cancelling it drops what was not published.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Literal, TypeVar

import msgspec
import structlog
import trio
from msgspec import Struct

from codecompass.actors.background import ungrouped
from codecompass.actors.blocking_calls import BlockingCalls, Call
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_model import JobReport
from codecompass.actors.worker_pool import BatchResult, WorkerPool
from codecompass.errors import IndexDamaged, IndexInProgress, StoreNewer
from codecompass.jobs import Progress, Stage
from codecompass.scan.files import Stamp
from codecompass.scan.git_repository import Head, read_head
from codecompass.scan.partial import PartialScan, scan_directories
from codecompass.scan.roots import RootIdentity, identify_root, require_same_root
from codecompass.scan.rules import ScanMemory
from codecompass.scan.walk import ScanResult, is_below_any, scan_and_remember
from codecompass.store.epochs import compatibility, require_compatible
from codecompass.store.index import IndexMeta
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import LockHeld, writer_lock
from codecompass.store.manifest import Changes, find_changes, find_partial_changes
from codecompass.store.publication import Step, write_guard
from codecompass.store.writer import IndexWriter
from codecompass.units import KIB, SECONDS
from codecompass.worker.messages import Batch, FileSymbols, FileTask, FileText

BATCH_BYTES: Final = 400 * KIB
BATCH_FILES: Final = 100
"""Size of a batch: about 100 ms of parsing, so that progress moves and a cancellation is quick."""

WRITE_QUEUE: Final = 4
"""Batches that wait for the writer; beyond that the workers wait."""


SCAN_PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long a scan may be at one directory: 50,000 entries of a network file system take ten seconds."""

T = TypeVar("T")


class JobMemory(Struct, frozen=True, kw_only=True):
    """What a job leaves for the next one on the same workspace, in the same process: valid while its publication stands."""

    scan: ScanMemory
    directories: frozenset[str]
    repositories: tuple[str, ...]
    generation: int
    published_at: float
    root: RootIdentity
    linked: Mapping[str, Stamp] = {}


class IndexJob:
    """One run over one workspace. Make it, `await run()` once.

    `changed_directories` and `memory` go together: paths relative to the root ('' for itself) of every directory in which
    anything has changed since the job that left `memory` began (see `scan_directories`). They make the job cheap, never
    different: where they cannot be trusted, everything is scanned. `memory` afterwards is what this job left, None before it
    has ended well and where there is nothing to go by. `changed_files` are read even where their times are as they were.

    `text_first` publishes the text of a first build apart however small it is. `on_published` is called after each
    publication. `blocking` runs what looks at the tree; `turns` is what the caller holds a token of while the job runs, and
    lends to others while the file system does not answer.
    """

    def __init__(
        self,
        *,
        root: Path,
        layout: ProjectLayout,
        pool: WorkerPool,
        limits: IndexLimits,
        job_id: str,
        force: bool = False,
        changed_directories: frozenset[str] | None = None,
        changed_files: frozenset[str] = frozenset(),
        memory: JobMemory | None = None,
        text_first: bool = False,
        blocking: BlockingCalls | None = None,
        turns: trio.CapacityLimiter | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_published: Callable[[], None] | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> None:
        self._root = root
        self._layout = layout
        self._pool = pool
        self._limits = limits
        self._job_id = job_id
        self._force = force
        self._changed_directories = changed_directories
        self._changed_files = changed_files
        self._text_first = text_first
        self._blocking = blocking or BlockingCalls()
        self._turns = () if turns is None else (turns,)
        self._previous = memory
        self.memory: JobMemory | None = None
        self._on_progress = on_progress or (lambda _progress: None)
        self._on_published = on_published or (lambda: None)
        self._on_step = on_step
        self._progress = Progress(stage="discovery")
        self._quarantined: list[str] = []
        self._changed: set[str] = set()
        self._scan_memory: ScanMemory | None = None
        self._head = Head(ref="live", commit=None)
        self._identity: RootIdentity | None = None
        self._log = structlog.get_logger(__name__).bind(job_id=job_id, root=str(root))

    async def run(self) -> JobReport:
        """Brings the index up to the working tree.

        Raises IndexInProgress where another job holds the lock, PermissionDenied where the store cannot be written,
        StoreNewer where a newer program wrote it, ProjectNotFound where the root is gone or another directory than it was,
        FileSystemUnresponsive where its file system does not answer.
        Safe to cancel: what is not published is dropped.
        """
        started = time.monotonic()
        before = None if self._previous is None else self._previous.root
        self._identity = await self._look_at_tree(lambda _call: identify_root(self._root, before))
        try:
            with writer_lock(self._layout, f"job {self._job_id} pid {os.getpid()}"):
                return await self._run_locked(started)
        except LockHeld as error:
            raise IndexInProgress(
                f"another process is writing this index ({error.owner or 'unknown owner'}). Wait for it to end, then run again.",
                owner=error.owner,
            ) from error

    async def _run_locked(self, started: float) -> JobReport:
        found = await trio.to_thread.run_sync(compatibility, self._layout)
        if found.is_newer:
            require_compatible(self._layout)
            raise StoreNewer("the index was written by a newer codecompass. Upgrade this program.")
        is_fresh = self._force or found.status != "compatible"
        # The branch is read before the files: a switch that happens meanwhile shows as a change next time.
        self._head = await self._look_at_tree(lambda _call: read_head(str(self._root)))
        can_be_partial = not is_fresh and self._changed_directories is not None and self._previous is not None
        scanned = None if can_be_partial else await self._scan(is_fresh=is_fresh)
        try:
            return await self._build(scanned, is_fresh=is_fresh, is_first=found.status == "not_indexed", started=started)
        except IndexDamaged as error:
            if is_fresh:
                raise
            self._log.warning("index_damaged_rebuilding", cause=error.message)
            scanned = scanned or await self._scan()
            return await self._build(scanned, is_fresh=True, is_first=False, started=started)

    async def _build(self, scanned: ScanResult | None, *, is_fresh: bool, is_first: bool, started: float) -> JobReport:
        async with self._writing(is_fresh) as writer:
            found: ScanResult | PartialScan | None = scanned or await self._partial_scan(writer)
            if found is None:
                found = await self._scan()
            changes = await trio.to_thread.run_sync(self._compare, writer, found)
            self._changed.update(changes.removed)
            self._report(stage="parsing", files_scanned=len(found.files), files_total=len(changes.tasks))
            await trio.to_thread.run_sync(self._apply_scan, writer, changes)
            is_resumed = not is_fresh and writer.meta.completeness == "partial"
            if is_first and (self._text_first or changes.bytes_to_read >= self._limits.text_first_bytes):
                await self._process(writer, changes.tasks, parse=False, slices=False)
                await self._publish(writer, "partial")
                await self._process(writer, _unparsed(writer), parse=True, slices=True)
            else:
                await self._process(writer, changes.tasks, parse=True, slices=is_resumed)
            self._report(stage="finalizing")
            meta = await self._publish(writer, "complete")
            directories, repositories, linked = self._directories(found), self._repositories(found), self._linked(found)
            if self._scan_memory is not None and self._identity is not None:
                self.memory = JobMemory(
                    scan=self._scan_memory,
                    directories=directories,
                    repositories=repositories,
                    generation=meta.generation,
                    published_at=meta.published_at,
                    root=self._identity,
                    linked=linked,
                )
            return JobReport(
                mode="full" if is_fresh else "incremental",
                generation=meta.generation,
                ref=meta.ref,
                commit=meta.commit,
                file_count=meta.file_count,
                symbol_count=meta.symbol_count,
                source_bytes=meta.source_bytes,
                files_scanned=len(found.files),
                files_changed=len(self._changed),
                counts=writer.counts,
                quarantined=tuple(self._quarantined),
                duration_seconds=time.monotonic() - started,
                directories=directories,
                repositories=repositories,
                linked=linked,
                is_partial_scan=isinstance(found, PartialScan),
                warnings=found.warnings,
            )

    @asynccontextmanager
    async def _writing(self, is_fresh: bool) -> AsyncIterator[IndexWriter]:
        def make() -> IndexWriter:
            with write_guard(self._layout):
                return IndexWriter(self._layout, fresh=is_fresh, on_step=self._on_step)

        writer = await trio.to_thread.run_sync(make)
        try:
            yield writer
        finally:
            # tantivy's lock outlives a writer that is only dropped. Rolling back is short; a commit is waited for by now.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(writer.abandon)

    async def _scan(self, *, is_fresh: bool = False) -> ScanResult:
        token = trio.lowlevel.current_trio_token()

        def report(count: int) -> None:
            # A scan that was left behind goes on for a while, and its job has ended.
            if is_waited_for:
                self._report(stage="discovery", files_scanned=count)

        def discovered(count: int) -> None:
            token.run_sync_soon(report, count)
            if is_fresh:
                # All these files will be read: the workers come up while the scan goes on.
                token.run_sync_soon(many_found.set)

        async def warm_up() -> None:
            await many_found.wait()
            await self._pool.warm_up()

        many_found = trio.Event()
        is_waited_for = True
        self._report(stage="discovery")
        try:
            with ungrouped():
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(warm_up)
                    scanned, self._scan_memory = await self._look_at_tree(
                        lambda call: scan_and_remember(
                            str(self._root), self._limits.rules, on_progress=discovered, is_cancelled=call.is_over
                        )
                    )
                    nursery.cancel_scope.cancel()
        finally:
            is_waited_for = False
        for warning in scanned.warnings:
            self._log.warning("scan_warning", warning=warning)
        return scanned

    async def _look_at_tree(self, work: Callable[[Call], T]) -> T:
        return await self._blocking.run(work, self._root, patience=SCAN_PATIENCE_SECONDS, lend=self._turns)

    async def _partial_scan(self, writer: IndexWriter) -> PartialScan | None:
        """Looks at the changed directories alone; None where the rest may not be what the index holds."""
        previous, changed, meta = self._previous, self._changed_directories, writer.meta
        if (
            previous is None
            or changed is None
            or (previous.generation, previous.published_at) != (meta.generation, meta.published_at)
            or meta.completeness != "complete"
            or meta.rules_fingerprint != self._limits.fingerprint
        ):
            return None
        self._report(stage="discovery")
        found = await self._look_at_tree(
            lambda call: scan_directories(
                str(self._root),
                self._limits.rules,
                previous.scan,
                changed,
                writer.manifest,
                is_cancelled=call.is_over,
            )
        )
        if found is None:
            return None
        self._scan_memory = found[1]
        return found[0]

    def _directories(self, found: ScanResult | PartialScan) -> frozenset[str]:
        if isinstance(found, ScanResult):
            return frozenset(found.directories)
        assert self._previous is not None
        kept = self._previous.directories
        if found.gone:
            gone = frozenset(found.gone)
            kept = frozenset(path for path in kept if path not in gone and not is_below_any(path, gone))
        return kept | found.listed

    def _linked(self, found: ScanResult | PartialScan) -> Mapping[str, Stamp]:
        linked = {file.path: file.stamp for file in found.linked}
        if isinstance(found, ScanResult):
            return linked
        assert self._previous is not None
        gone = frozenset(found.gone)
        kept = {
            path: stamp
            for path, stamp in self._previous.linked.items()
            if path.rpartition("/")[0] not in found.listed and not is_below_any(path, gone)
        }
        return {**kept, **linked}

    def _repositories(self, found: ScanResult | PartialScan) -> tuple[str, ...]:
        if isinstance(found, ScanResult):
            return found.repositories
        # A repository that comes or goes makes the scan a whole one.
        assert self._previous is not None
        return self._previous.repositories

    def _compare(self, writer: IndexWriter, found: ScanResult | PartialScan) -> Changes:
        if isinstance(found, PartialScan):
            return find_partial_changes(writer.manifest, found, suspects=self._changed_files)
        rules_changed = self._limits.fingerprint != writer.meta.rules_fingerprint
        return find_changes(writer.manifest.whole(), found, rules_changed=rules_changed, suspects=self._changed_files)

    def _apply_scan(self, writer: IndexWriter, changes: Changes) -> None:
        with write_guard(self._layout):
            for path in changes.removed:
                writer.remove(path)
            for item in changes.skipped:
                self._note_change(writer, FileText(item.path, "skipped", item.reason))
                writer.skip(item)

    async def _process(self, writer: IndexWriter, tasks: Sequence[FileTask], *, parse: bool, slices: bool) -> None:
        """Sends `tasks` through the pool and writes what comes back."""
        if not tasks:
            return
        self._progress = msgspec.structs.replace(self._progress, files_total=len(tasks), files_parsed=0, files_indexed=0)
        batches = iter(_batches(tasks))
        send, receive = trio.open_memory_channel[BatchResult](WRITE_QUEUE)

        async def work(results: trio.MemorySendChannel[BatchResult]) -> None:
            with results:
                for batch in batches:
                    await results.send(await self._pool.run(self._batch(writer, batch, parse)))

        with ungrouped():
            async with trio.open_nursery() as nursery:
                with send:
                    for _ in range(min(self._pool.size, len(tasks))):
                        nursery.start_soon(work, send.clone())
                with receive:
                    await self._write_all(writer, receive, parse=parse, slices=slices)

    async def _write_all(
        self, writer: IndexWriter, results: trio.MemoryReceiveChannel[BatchResult], *, parse: bool, slices: bool
    ) -> None:
        last_publication = time.monotonic()
        is_text_first = not parse
        async for result in results:
            done = sum(isinstance(answer, FileText) for answer in result.answers) + len(result.killed_reading)
            parsed = self._progress.files_parsed + done
            # In one pass files are written as they come back: with the last of them, writing is what remains.
            is_last = not is_text_first and parsed >= self._progress.files_total
            stage: Stage = "indexing" if slices or is_last else "parsing"
            self._report(stage=stage, files_parsed=parsed)
            await trio.to_thread.run_sync(self._write, writer, result)
            self._report(stage=stage, files_indexed=parsed, symbols_extracted=writer.counts.symbols_written)
            if slices and time.monotonic() - last_publication > self._limits.slice_seconds:
                await self._publish(writer, "partial")
                last_publication = time.monotonic()

    def _write(self, writer: IndexWriter, result: BatchResult) -> None:
        with write_guard(self._layout):
            for answer in result.answers:
                match answer:
                    case FileText():
                        self._note_change(writer, answer)
                        writer.write_text(answer)
                    case FileSymbols():
                        writer.write_symbols(answer)
            for path in result.killed_parsing:
                writer.quarantine(path, "parser_killed")
                self._quarantined.append(path)
            for path in result.killed_reading:
                writer.write_text(FileText(path, "skipped", "unreadable"))

    def _note_change(self, writer: IndexWriter, file: FileText) -> None:
        """Counts what makes the index another one; called before it is written."""
        entry = writer.manifest.get(file.path)
        match file.status:
            case "unchanged":
                return
            case "vanished":
                is_change = entry is not None
            case "skipped":
                is_change = entry is None or (entry.status, entry.reason) != ("skipped", file.reason)
            case _:
                is_change = entry is None or entry.content_hash != file.content_hash or entry.status != "indexed"
        if is_change:
            self._changed.add(file.path)

    async def _publish(self, writer: IndexWriter, completeness: Literal["partial", "complete"]) -> IndexMeta:
        identity = self._identity
        if identity is not None:
            # Files of a root that is replaced meanwhile are missing, or somebody else's.
            await self._look_at_tree(lambda _call: require_same_root(self._root, identity))

        def publish() -> IndexMeta:
            return writer.publish(
                completeness=completeness,
                ref=self._head.ref,
                commit=self._head.commit or "",
                rules_fingerprint=self._limits.fingerprint,
                checkpoint=trio.from_thread.check_cancelled,
            )

        meta = await trio.to_thread.run_sync(publish)
        self._on_published()
        return meta

    def _batch(self, writer: IndexWriter, tasks: Sequence[FileTask], parse: bool) -> Batch:
        return Batch(
            root=os.fsencode(self._root),
            tasks=tuple(tasks),
            parse=parse,
            max_file_bytes=self._limits.rules.max_file_bytes,
            max_line_characters=self._limits.max_line_characters,
            parse_cpu_seconds=self._limits.parse_cpu_seconds,
            quarantined=tuple(sorted(writer.quarantined)),
        )

    def _report(self, **changes: object) -> None:
        previous = self._progress
        self._progress = msgspec.structs.replace(previous, **changes)
        if self._progress.percentage < previous.percentage:
            # A late report of the scan thread; progress never goes back.
            self._progress = previous
            return
        self._on_progress(self._progress)


def _unparsed(writer: IndexWriter) -> list[FileTask]:
    return [
        FileTask(path, entry.content_hash, needs_symbols=True, size=entry.size)
        for path, entry in writer.manifest.items()
        if entry.status == "indexed" and not entry.is_parsed
    ]


def _batches(tasks: Sequence[FileTask]) -> Iterator[list[FileTask]]:
    batch: list[FileTask] = []
    size = 0
    for task in tasks:
        batch.append(task)
        size += task.size
        if size >= BATCH_BYTES or len(batch) >= BATCH_FILES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
