"""Turns files into rows and documents: batches of files go through the worker processes, and one thread writes the results.

    tasks -> batches --1 per worker--> pool --WRITE_QUEUE--> writer thread

Both queues are bounded, so the slowest part sets the pace.
"""

import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import trio

from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_state import JobReport, ProgressMeter
from codecompass.actors.worker_pool import BatchResult, WorkerPool
from codecompass.identity import ObjectFormat
from codecompass.jobs import JobMode, Stage
from codecompass.nurseries import open_nursery
from codecompass.scan.git_index import GitBlobs
from codecompass.scan.walk import ScannedFile
from codecompass.store.forks import ForkSource
from codecompass.store.known_content import KnownContent
from codecompass.store.layout import ProjectLayout
from codecompass.store.manifest import ChangeSet
from codecompass.store.publication import Step, write_guard
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import IndexWriter, WriteCounts
from codecompass.units import KIB
from codecompass.worker.messages import Batch, FileSymbols, FileTask, FileText

BATCH_BYTES: Final = 400 * KIB
BATCH_FILES: Final = 100
"""Bounds of a batch: about 100 ms of parsing, so that progress is visible and cancellation quick."""

WRITE_QUEUE: Final = 4
"""Parsed batches that wait for the writer; beyond that the workers wait."""

Fill = Callable[[Sequence[FileTask]], Awaitable[Sequence[FileTask]]]
"""Returns tasks with their contents, for contents that are not in the working tree."""


@asynccontextmanager
async def in_threads(manager: AbstractContextManager[None]) -> AsyncIterator[None]:
    """Enters and leaves a context manager that blocks, such as a file lock, in threads. It is not told of exceptions."""
    stack = ExitStack()
    try:
        await trio.to_thread.run_sync(stack.enter_context, manager)
        yield
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(stack.close)


@asynccontextmanager
async def open_writer(
    layout: ProjectLayout,
    *,
    fresh: bool,
    source: ForkSource | None = None,
    parks: bool = False,
    on_step: Callable[[Step], None] | None = None,
) -> AsyncIterator[IndexWriter]:
    """Yields the writer of the index in `layout`, and drops what it has not published afterwards.

    Raises NotForkable if `source` was removed or replaced after it was found, and the errors of `write_guard`.
    """

    def make() -> IndexWriter:
        with write_guard(layout):
            return IndexWriter(
                layout, fresh=fresh, source=source, parks=parks, on_step=on_step, checkpoint=trio.from_thread.check_cancelled
            )

    writer = await trio.to_thread.run_sync(make)
    try:
        yield writer
    finally:
        # tantivy's lock outlives a writer that is merely dropped. Rolling back is short; a commit has finished by now.
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(writer.abandon)


class FilePipeline:
    """The pipeline of one job. `changed` are the paths whose content, presence or reason to be skipped differs from the index,
    `quarantined` those whose parse killed a worker."""

    def __init__(
        self,
        root: Path,
        layout: ProjectLayout,
        pool: WorkerPool,
        limits: IndexLimits,
        meter: ProgressMeter,
        give_way: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """`give_way` is awaited before each batch and before its results are written."""
        self._give_way = give_way
        self._root = root
        self._layout = layout
        self._pool = pool
        self._limits = limits
        self._meter = meter
        self.changed: set[str] = set()
        self.quarantined: list[str] = []
        self.blobs = GitBlobs()
        """Git's ids of the files that are not read whole."""
        self.object_format: ObjectFormat = "sha1"
        self._contents: KnownContent | None = None
        """Symbols of contents that other epochs hold, which need no parsing."""

    def apply(self, writer: IndexWriter, changes: ChangeSet) -> None:
        """Writes what needs no reading: files that are gone, and files skipped because of name or size. Runs in a thread."""
        self.changed.update(changes.removed)
        with write_guard(self._layout):
            for path in changes.removed:
                writer.remove(path)
            for item in changes.skipped:
                self._note_change(writer, FileText(item.path, "skipped", item.reason))
                writer.skip(item)

    def note_changes(self, changes: ChangeSet) -> None:
        """Adds to `changed` what differs from an index other than the one being written."""
        self.changed.update(changes.removed, (task.path for task in changes.tasks))

    def touch(self, writer: IndexWriter, files: Sequence[ScannedFile]) -> None:
        """Writes the stamps of files whose content the index holds. Runs in a thread."""
        with write_guard(self._layout):
            writer.touch(files)

    async def process(
        self,
        writer: IndexWriter,
        tasks: Sequence[FileTask],
        *,
        parse: bool,
        defers_uses: bool = False,
        publish_slice: Callable[[], Awaitable[object]] | None = None,
        fill: Fill | None = None,
        batch_files: int = BATCH_FILES,
    ) -> None:
        """Sends `tasks` through the workers and writes their results: without `parse` the text alone, with `defers_uses` all but
        the uses of names.

        `publish_slice` is called whenever `slice_seconds` have passed. `fill` adds the contents to a batch if they are not in the
        working tree; it is called with consecutive tasks, in their order.
        """
        if not tasks:
            return
        self._meter.begin_pass(len(tasks))
        batches = grouped(tasks, max_files=batch_files)
        send, receive = trio.open_memory_channel[BatchResult](WRITE_QUEUE)

        async def work(results: trio.MemorySendChannel[BatchResult]) -> None:
            with results:
                for batch in batches:
                    filled = batch if fill is None else await fill(batch)
                    if self._give_way is not None:
                        await self._give_way()
                    await results.send(await self._pool.run(self._batch(writer, filled, parse, defers_uses)))

        async with open_nursery() as nursery:
            with send:
                for _ in range(min(self._pool.size, len(tasks))):
                    nursery.start_soon(work, send.clone())
            with receive:
                await self._write_all(writer, receive, parse=parse, publish_slice=publish_slice)

    async def process_known(
        self,
        writer: IndexWriter,
        tasks: Sequence[FileTask],
        ids: Mapping[str, bytes],
        open_contents: Callable[[], KnownContent],
        *,
        fill: Callable[[Sequence[FileTask]], Fill] | None = None,
    ) -> list[FileTask]:
        """Writes, without parsing, those of `tasks` whose contents other epochs hold; returns the others.

        `ids` are git's ids of the contents by path. Files that turn out not to be known have their text written, but their
        symbols are still missing (see `unparsed`). `fill` returns the `fill` of `process` for the given tasks.
        """
        contents = await trio.to_thread.run_sync(open_contents)
        try:
            known = [task for task in tasks if contents.has(task.path, ids.get(task.path, b""))]
            self._contents = contents
            await self.process(writer, known, parse=False, fill=None if fill is None else fill(known))
        finally:
            self._contents = None
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(contents.close)
        paths = {task.path for task in known}
        return [task for task in tasks if task.path not in paths]

    def report(self, meta: IndexMeta, counts: WriteCounts, *, mode: JobMode, files_scanned: int, started: float) -> JobReport:
        """Returns the report of a job that has published `meta`. `started` is by `time.monotonic`."""
        return JobReport(
            mode=mode,
            generation=meta.generation,
            ref=meta.ref,
            commit=meta.commit,
            file_count=meta.file_count,
            symbol_count=meta.symbol_count,
            source_bytes=meta.source_bytes,
            files_scanned=files_scanned,
            files_changed=len(self.changed),
            counts=counts,
            quarantined=tuple(self.quarantined),
            duration_seconds=time.monotonic() - started,
        )

    async def _write_all(
        self,
        writer: IndexWriter,
        results: trio.MemoryReceiveChannel[BatchResult],
        *,
        parse: bool,
        publish_slice: Callable[[], Awaitable[object]] | None,
    ) -> None:
        last_publication = time.monotonic()
        async for result in results:
            done = sum(isinstance(answer, FileText) for answer in result.answers) + len(result.killed_reading)
            parsed = self._meter.progress.files_parsed + done
            # A single pass writes files as they arrive: with the last of them, only writing remains.
            is_last = parse and parsed >= self._meter.progress.files_total
            stage: Stage = "indexing" if publish_slice is not None or is_last else "parsing"
            self._meter.advance(stage=stage, files_parsed=parsed)
            if self._give_way is not None:
                await self._give_way()
            await trio.to_thread.run_sync(self._write, writer, result)
            self._meter.advance(stage=stage, files_indexed=parsed, symbols_extracted=writer.counts.symbols_written)
            if publish_slice is not None and time.monotonic() - last_publication > self._limits.slice_seconds:
                await publish_slice()
                last_publication = time.monotonic()

    def _write(self, writer: IndexWriter, result: BatchResult) -> None:
        with write_guard(self._layout):
            for answer in result.answers:
                match answer:
                    case FileText():
                        answer = self._with_blob(answer)
                        self._note_change(writer, answer)
                        writer.write_text(answer)
                        self._write_known(writer, answer)
                    case FileSymbols():
                        writer.write_symbols(answer)
            for path in result.killed_parsing:
                writer.quarantine(path, "parser_killed")
                self.quarantined.append(path)
            for path in result.killed_reading:
                writer.write_text(FileText(path, "skipped", "unreadable"))

    def _write_known(self, writer: IndexWriter, file: FileText) -> None:
        if self._contents is not None and file.status == "indexed" and file.has_symbols and not file.will_parse:
            symbols = self._contents.symbols(file)
            if symbols is not None:
                writer.write_symbols(symbols)

    def _with_blob(self, file: FileText) -> FileText:
        """Adds git's id to a skipped file, of which the beginning at most was read."""
        if file.blob_id or file.status != "skipped":
            return file
        blob_id = self.blobs.known(file.path, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode)
        return msgspec.structs.replace(file, blob_id=blob_id)

    def _note_change(self, writer: IndexWriter, file: FileText) -> None:
        """Adds the file to `changed` if it differs from the index. To be called before the file is written."""
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
            self.changed.add(file.path)

    def _batch(self, writer: IndexWriter, tasks: Sequence[FileTask], parse: bool, defers_uses: bool) -> Batch:
        return Batch(
            root=os.fsencode(self._root),
            tasks=tuple(tasks),
            parse=parse,
            max_file_bytes=self._limits.rules.max_file_bytes,
            max_line_characters=self._limits.max_line_characters,
            parse_cpu_seconds=self._limits.parse_cpu_seconds,
            quarantined=tuple(sorted(writer.quarantined)),
            object_format=self.object_format,
            defers_uses=defers_uses,
        )


def unparsed(writer: IndexWriter) -> list[FileTask]:
    """Returns the files whose text is in the index, but whose symbols are not."""
    return [
        FileTask(path, entry.content_hash, needs_symbols=True, size=entry.size)
        for path, entry in writer.manifest.items()
        if entry.status == "indexed" and not entry.is_parsed
    ]


def grouped(tasks: Iterable[FileTask], *, max_bytes: int = BATCH_BYTES, max_files: int = BATCH_FILES) -> Iterator[list[FileTask]]:
    """Yields the tasks in groups, in their order; each group ends with the task that reaches one of the bounds."""
    group: list[FileTask] = []
    size = 0
    for task in tasks:
        group.append(task)
        size += task.size
        if size >= max_bytes or len(group) >= max_files:
            yield group
            group, size = [], 0
    if group:
        yield group
