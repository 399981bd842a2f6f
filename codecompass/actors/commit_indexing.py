"""The job that indexes a commit without a checkout: its files from git's object database, through the same workers and writer.

    commit_tree.py: which files -> CommitContents: their contents -> file_pipeline.py: workers, writer -> publish, once

A commit never changes, so its index is published once, complete, and never updated. The job holds the writer lock of the
commit's own directory; cancelled or killed, it leaves nothing that a reader sees.
"""

import os
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import Final

import trio
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.commits import NO_REPOSITORY, built_index, unreadable
from codecompass.actors.file_pipeline import FilePipeline, Fill, grouped, in_threads, open_writer, unparsed
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport, ProgressMeter
from codecompass.errors import IndexInProgress, RefNotIndexed
from codecompass.identity import ObjectFormat
from codecompass.scan.commit_tree import CommitFile, CommitTree, incomplete, read_commit_tree
from codecompass.scan.git_objects import GROUP_BYTES, Blob, read_blobs
from codecompass.scan.git_repository import (
    DETACHED_REF_LENGTH,
    GIT_DEADLINE_SECONDS,
    GitError,
    GitRepository,
    find_repository,
    object_format,
)
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.walk import ScannedFile
from codecompass.store.epochs import require_replaceable
from codecompass.store.forks import ForkSource, NotForkable
from codecompass.store.known_content import KnownContent
from codecompass.store.layout import HomeLayout, commit_layouts
from codecompass.store.lock import LockHeld, lock_for_reading, writer_lock
from codecompass.store.manifest import STAT_REASONS, ChangeSet, ManifestEntry
from codecompass.store.nearest import Bases, nearest_source, sources_of
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import IndexWriter, WriteCounts
from codecompass.worker.messages import FileTask

MAX_GROUP_FILES: Final = 20_000
"""Files of a group: bounds a group of empty files, which GROUP_BYTES does not."""


class CommitJob:
    """One run for one commit of a workspace. Create it, `await run()` once.

    The order's `force` rebuilds an existing index. With `branch` the index is the project's own: that of a bare repository, which
    has no working tree, on this branch.
    """

    def __init__(self, context: JobContext, order: JobOrder, commit: NamedCommit, branch: str | None = None) -> None:
        self._context = context
        self._order = order
        self._root = context.root
        self._project = context.layout
        self._layout = context.layout.commit(commit.commit) if branch is None else context.layout
        self._ref = branch or commit.commit[:DETACHED_REF_LENGTH]
        self._commit = commit
        self._limits = context.limits
        self._blocking = context.blocking
        self._meter = ProgressMeter(context.on_progress)
        self._files = FilePipeline(context.root, self._layout, context.pool, context.limits, self._meter)

    async def run(self) -> JobReport:
        """Builds the index of the commit, unless it exists.

        Raises IndexInProgress if another job holds the lock, RefNotIndexed if the repository lacks parts of the commit or cannot
        be read, PermissionDenied if the store cannot be written, StoreNewer if a newer program wrote it.
        Safe to cancel: nothing is published then.
        """
        started = time.monotonic()
        try:
            lock = writer_lock(self._layout, f"job {self._order.job_id} pid {os.getpid()}")
            async with in_threads(self._kept()), in_threads(lock):
                return await self._run_locked(started)
        except LockHeld as error:
            raise IndexInProgress(
                f"another process is indexing this commit ({error.owner or 'unknown owner'}). Wait for its end, then ask again.",
                owner=error.owner,
            ) from error

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keeps other processes from evicting the project's directory during the block."""
        held = lock_for_reading(self._project)
        try:
            yield
        finally:
            if held is not None:
                os.close(held)

    async def _run_locked(self, started: float) -> JobReport:
        await trio.to_thread.run_sync(partial(require_replaceable, self._layout, is_forced=self._order.force))
        built = (
            None if self._order.force else await trio.to_thread.run_sync(built_index, self._layout, self._commit, self._limits)
        )
        if built is not None:
            return self._files.report(built, WriteCounts(), mode="full", files_scanned=0, started=started)
        self._meter.advance(stage="discovery")
        repository, tree, self._files.object_format = await self._read_tree()
        ids = {file.path: bytes.fromhex(file.object_id) for file in tree.files}
        source = await trio.to_thread.run_sync(self._nearest, ids, await self._context.bases())
        async with self._writing(source) as writer:
            changes = await trio.to_thread.run_sync(_changes, writer.manifest, tree, ids)
            self._meter.advance(stage="parsing", files_scanned=len(tree.files), files_total=len(changes.tasks))
            await trio.to_thread.run_sync(self._take_over, writer, changes, tree)
            try:
                await self._read(writer, changes.tasks, repository, ids, source)
            except GitError as error:
                raise unreadable(self._commit, error) from error
            self._meter.advance(stage="finalizing")
            meta = await trio.to_thread.run_sync(self._publish, writer)
            if self._context.on_published is not None:
                self._context.on_published(None)
            report = self._files.report(meta, writer.counts, mode="full", files_scanned=len(tree.files), started=started)
            return replace(report, warnings=tree.warnings)

    async def _read_tree(self) -> tuple[GitRepository, CommitTree, ObjectFormat]:
        root = str(self._root)

        def read(call: BlockingCall) -> tuple[GitRepository, CommitTree, ObjectFormat]:
            repository = find_repository(os.path.realpath(root), self._limits.rules.git_roots)
            if repository is None:
                raise RefNotIndexed(NO_REPOSITORY, ref=self._commit.name)
            rules = self._limits.rules
            tree = read_commit_tree(repository, root, self._commit.commit, rules, is_cancelled=call.is_over)
            return repository, tree, object_format(repository)

        try:
            return await self._blocking.run(read, root, patience=GIT_DEADLINE_SECONDS)
        except GitError as error:
            raise unreadable(self._commit, error) from error

    def _nearest(self, ids: Mapping[str, bytes], bases: Bases) -> ForkSource | None:
        """Returns the index in the home that is nearest to the commit, preferring the working tree's; None if none is near."""
        if self._order.force or len(ids) < self._limits.fork_from_files:
            return None
        home = HomeLayout(self._project.root.parents[1])
        found = nearest_source(home, ids, own=self._project, rules_fingerprint=self._limits.fingerprint, bases=bases)
        return None if found is None else found.source

    def _take_over(self, writer: IndexWriter, changes: ChangeSet, tree: CommitTree) -> None:
        """Writes what needs no content: files that are gone or skipped, and those that the forked index holds unchanged."""
        self._files.apply(writer, changes)
        asked = {task.path for task in changes.tasks}
        known = [ScannedFile(file.path, file.size, 0, 0, 0) for file in tree.files if file.path not in asked]
        self._files.touch(writer, known)

    async def _read(
        self,
        writer: IndexWriter,
        tasks: Sequence[FileTask],
        repository: GitRepository,
        ids: Mapping[str, bytes],
        source: ForkSource | None,
    ) -> None:
        """Writes the files of `tasks`. Contents that another epoch holds are not parsed again. Raises GitError."""

        def fill(asked: Sequence[FileTask]) -> Fill:
            max_bytes = self._limits.rules.max_file_bytes
            return CommitContents(repository, self._commit.commit, asked, ids, self._blocking, max_bytes).fill

        def open_contents() -> KnownContent:
            wanted = {ids[task.path] for task in tasks}
            own = () if source is None else (source,)
            others = (each for layout in commit_layouts(self._project) for each in sources_of(layout))
            return KnownContent((*own, *sources_of(self._project), *others), wanted)

        rest: Sequence[FileTask] = tasks
        if not self._order.force:
            rest = await self._files.process_known(writer, tasks, ids, open_contents, fill=fill)
        await self._files.process(writer, rest, parse=True, fill=fill(rest))
        left = await trio.to_thread.run_sync(unparsed, writer)
        await self._files.process(writer, left, parse=True, fill=fill(left))

    @asynccontextmanager
    async def _writing(self, source: ForkSource | None) -> AsyncIterator[IndexWriter]:
        async with AsyncExitStack() as stack:
            try:
                writer = await stack.enter_async_context(
                    open_writer(self._layout, fresh=True, source=source, on_step=self._context.on_step)
                )
            except NotForkable:
                # The source was removed or replaced after it was found.
                writer = await stack.enter_async_context(open_writer(self._layout, fresh=True, on_step=self._context.on_step))
            yield writer

    def _publish(self, writer: IndexWriter) -> IndexMeta:
        return writer.publish(
            completeness="complete",
            ref=self._ref,
            commit=self._commit.commit,
            rules_fingerprint=self._limits.fingerprint,
            checkpoint=trio.from_thread.check_cancelled,
        )


class CommitContents:
    """Fills the `tasks` of one job with their contents. They are requested in their order, in batches.

    Holds GROUP_BYTES of content at most, plus the batches that wait for their turn. `object_ids` are git's ids of the contents
    by path.
    """

    def __init__(
        self,
        repository: GitRepository,
        commit: str,
        tasks: Sequence[FileTask],
        object_ids: Mapping[str, bytes],
        blocking: BlockingCalls,
        max_file_bytes: int,
    ) -> None:
        self._repository = repository
        self._commit = commit
        self._groups: Iterator[list[FileTask]] = grouped(tasks, max_bytes=GROUP_BYTES, max_files=MAX_GROUP_FILES)
        self._object_ids = object_ids
        self._blocking = blocking
        self._max_file_bytes = max_file_bytes
        self._held: dict[str, bytes] = {}
        self._turn = trio.Lock()

    async def fill(self, batch: Sequence[FileTask]) -> Sequence[FileTask]:
        """Returns the tasks of `batch` with their contents.

        Raises RefNotIndexed if the repository lacks one of them, GitError, FileSystemUnresponsive.
        """
        async with self._turn:
            while any(task.path not in self._held for task in batch):
                await self._read(next(self._groups))
            return [replace(task, content=self._held.pop(task.path)) for task in batch]

    async def _read(self, group: Sequence[FileTask]) -> None:
        ids = [self._object_ids[task.path].hex() for task in group]

        def read(call: BlockingCall) -> list[Blob]:
            return list(read_blobs(self._repository, ids, self._max_file_bytes, is_cancelled=call.is_over))

        blobs = await self._blocking.run(read, self._repository.top, patience=GIT_DEADLINE_SECONDS)
        missing = sum(blob.content is None for blob in blobs)
        if missing:
            raise incomplete(self._commit, f"{missing:,} of its files are not here")
        for task, blob in zip(group, blobs, strict=True):
            self._held[task.path] = blob.content or b""


def _holds(entry: ManifestEntry, file: CommitFile, blob_id: bytes) -> bool:
    is_content = entry.is_final and entry.blob_id == blob_id and entry.size == file.size
    return is_content and not (entry.status == "skipped" and entry.reason in STAT_REASONS)


def _changes(manifest: Mapping[str, ManifestEntry], tree: CommitTree, ids: Mapping[str, bytes]) -> ChangeSet:
    """Returns what to read, skip and remove so that an index with this manifest becomes that of the commit.

    `ids` are git's ids of the contents by path: an entry with the same id stays as it is.
    """
    tasks = []
    for file in tree.files:
        entry = manifest.get(file.path)
        if entry is not None and _holds(entry, file, ids[file.path]):
            continue
        known = b"" if entry is None or entry.status != "indexed" else entry.content_hash
        needs_symbols = entry is not None and not entry.is_final
        tasks.append(FileTask(file.path, known, needs_symbols=needs_symbols, size=file.size))
    present = {file.path for file in tree.files} | {item.path for item in tree.skipped}
    return ChangeSet(
        tasks=tuple(tasks),
        skipped=tree.skipped,
        removed=tuple(path for path in manifest if path not in present),
        bytes_to_read=sum(task.size for task in tasks),
    )
