"""The job that indexes a commit without a checkout: its files from git's object database, through the same workers and writer.

    commit_tree.py: which files -> commit_contents.py: their contents -> file_pipeline.py: workers, writer -> publish, once

A commit never changes: what is published is complete, stays as it is, and nothing is published before. The job owns the writer
lock of the commit's own directory; cancelled or killed, it leaves nothing that a reader sees.
"""

import os
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio

from codecompass.actors.blocking_calls import BlockingCalls, Call
from codecompass.actors.commit_contents import CommitContents
from codecompass.actors.commits import NO_REPOSITORY, built_index, unreadable
from codecompass.actors.file_pipeline import FilePipeline
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_model import ProgressMeter
from codecompass.actors.job_report import JobReport
from codecompass.actors.worker_pool import WorkerPool
from codecompass.errors import IndexInProgress, RefNotIndexed, StoreNewer
from codecompass.jobs import Progress
from codecompass.scan.commit_names import NamedCommit
from codecompass.scan.commit_tree import CommitTree, read_commit_tree
from codecompass.scan.git_repository import (
    DETACHED_REF_LENGTH,
    GIT_DEADLINE_SECONDS,
    GitError,
    Repository,
    find_repository,
)
from codecompass.store.epochs import compatibility, require_compatible
from codecompass.store.index import IndexMeta
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import LockHeld, lock_for_reading, writer_lock
from codecompass.store.manifest import Changes, ManifestEntry
from codecompass.store.publication import Step, write_guard
from codecompass.store.writer import IndexWriter, WriteCounts
from codecompass.worker.messages import FileTask


class CommitJob:
    """One run for one commit of the workspace at `root`. Make it, `await run()` once.

    `layout` is the project's, `limits` those of its working tree. `force` builds an index that is there anew.
    """

    def __init__(
        self,
        *,
        root: Path,
        layout: ProjectLayout,
        commit: NamedCommit,
        pool: WorkerPool,
        limits: IndexLimits,
        job_id: str,
        force: bool = False,
        blocking: BlockingCalls | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        on_published: Callable[[], None] | None = None,
        on_step: Callable[[Step], None] | None = None,
    ) -> None:
        self._root = root
        self._project = layout
        self._layout = layout.commit(commit.commit)
        self._commit = commit
        self._limits = limits
        self._job_id = job_id
        self._force = force
        self._blocking = blocking or BlockingCalls()
        self._on_published = on_published
        self._on_step = on_step
        self._meter = ProgressMeter(on_progress)
        self._files = FilePipeline(root, self._layout, pool, limits, self._meter)

    async def run(self) -> JobReport:
        """Builds the index of the commit, unless it is there.

        Raises IndexInProgress where another job holds the lock, RefNotIndexed where the repository does not have all of the
        commit or cannot be read, PermissionDenied where the store cannot be written, StoreNewer where a newer program wrote it.
        Safe to cancel: nothing is published then.
        """
        started = time.monotonic()
        try:
            with self._kept(), writer_lock(self._layout, f"job {self._job_id} pid {os.getpid()}"):
                return await self._run_locked(started)
        except LockHeld as error:
            raise IndexInProgress(
                f"another process is indexing this commit ({error.owner or 'unknown owner'}). Wait for its end, then ask again.",
                owner=error.owner,
            ) from error

    @contextmanager
    def _kept(self) -> Iterator[None]:
        """Keeps the project's directory from being evicted by another process meanwhile."""
        held = lock_for_reading(self._project)
        try:
            yield
        finally:
            if held is not None:
                os.close(held)

    async def _run_locked(self, started: float) -> JobReport:
        if compatibility(self._layout).is_newer:
            require_compatible(self._layout)
            raise StoreNewer("the index was written by a newer codecompass. Upgrade this program.")
        built = None if self._force else await trio.to_thread.run_sync(built_index, self._layout, self._commit, self._limits)
        if built is not None:
            return self._report(built, WriteCounts(), n_files=0, started=started)
        self._meter.advance(stage="discovery")
        repository, tree = await self._read_tree()
        async with self._writing() as writer:
            changes = await trio.to_thread.run_sync(_changes, writer.manifest, tree)
            self._meter.advance(stage="parsing", files_scanned=len(tree.files), files_total=len(changes.tasks))
            await trio.to_thread.run_sync(self._files.apply, writer, changes)
            ids = {file.path: file.object_id for file in tree.files}
            contents = CommitContents(
                repository, self._commit.commit, changes.tasks, ids, self._blocking, self._limits.rules.max_file_bytes
            )
            try:
                await self._files.process(writer, changes.tasks, parse=True, fill=contents.fill)
            except GitError as error:
                raise unreadable(self._commit, error) from error
            self._meter.advance(stage="finalizing")
            meta = await trio.to_thread.run_sync(self._publish, writer)
            if self._on_published is not None:
                self._on_published()
            return self._report(meta, writer.counts, n_files=len(tree.files), started=started, warnings=tree.warnings)

    async def _read_tree(self) -> tuple[Repository, CommitTree]:
        root = str(self._root)

        def read(call: Call) -> tuple[Repository, CommitTree]:
            repository = find_repository(os.path.realpath(root))
            if repository is None:
                raise RefNotIndexed(NO_REPOSITORY, ref=self._commit.name)
            rules = self._limits.rules
            return repository, read_commit_tree(repository, root, self._commit.commit, rules, is_cancelled=call.is_over)

        try:
            return await self._blocking.run(read, root, patience=GIT_DEADLINE_SECONDS)
        except GitError as error:
            raise unreadable(self._commit, error) from error

    @asynccontextmanager
    async def _writing(self) -> AsyncIterator[IndexWriter]:
        writer = await trio.to_thread.run_sync(self._open_writer)
        try:
            yield writer
        finally:
            # tantivy's lock outlives a writer that is only dropped.
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(writer.abandon)

    def _open_writer(self) -> IndexWriter:
        """Opens the writer of the commit's index, a new one: the one place that decides what it begins with."""
        with write_guard(self._layout):
            return IndexWriter(self._layout, fresh=True, on_step=self._on_step)

    def _publish(self, writer: IndexWriter) -> IndexMeta:
        return writer.publish(
            completeness="complete",
            ref=self._commit.commit[:DETACHED_REF_LENGTH],
            commit=self._commit.commit,
            rules_fingerprint=self._limits.fingerprint,
            checkpoint=trio.from_thread.check_cancelled,
        )

    def _report(
        self, meta: IndexMeta, counts: WriteCounts, *, n_files: int, started: float, warnings: tuple[str, ...] = ()
    ) -> JobReport:
        return JobReport(
            mode="full",
            generation=meta.generation,
            ref=meta.ref,
            commit=meta.commit,
            file_count=meta.file_count,
            symbol_count=meta.symbol_count,
            source_bytes=meta.source_bytes,
            files_scanned=n_files,
            files_changed=len(self._files.changed),
            counts=counts,
            quarantined=tuple(self._files.quarantined),
            duration_seconds=time.monotonic() - started,
            warnings=warnings,
        )


def _changes(manifest: Mapping[str, ManifestEntry], tree: CommitTree) -> Changes:
    """Returns what to read, skip and remove so that an index with this manifest becomes that of the commit."""
    tasks = []
    for file in tree.files:
        entry = manifest.get(file.path)
        known = b"" if entry is None or entry.status != "indexed" else entry.content_hash
        needs_symbols = entry is not None and not entry.is_parsed
        tasks.append(FileTask(file.path, known, needs_symbols=needs_symbols, size=file.size))
    present = {file.path for file in tree.files} | {item.path for item in tree.skipped}
    return Changes(
        tasks=tuple(tasks),
        skipped=tree.skipped,
        removed=tuple(path for path in manifest if path not in present),
        bytes_to_read=sum(task.size for task in tasks),
    )
