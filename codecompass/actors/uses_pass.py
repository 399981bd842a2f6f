"""Reads the uses of names that a first index left out, in the background, once its text and symbols are published; after them,
which files changed together (`change_upkeep.py`).

    files whose uses are unread --batches--> worker processes --WRITE_BYTES--> writer, under the writer lock

Nothing waits for it: a question reads the uses that it needs from the text of its generation (`query/uses/named_uses.py`), and
gets the same. So what is read here is written to the generation that lacks it and makes no new one. A file that changes meanwhile
is left to the job that indexes the change. The lock is held only while results are written, never while files are read.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import structlog
import trio

from codecompass.actors.file_pipeline import grouped, in_threads, open_writer
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_context import JobContext
from codecompass.errors import CodeCompassError
from codecompass.nurseries import open_nursery
from codecompass.scan.path_roles import role_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import LockHeld, is_locked, writer_lock
from codecompass.store.publication import write_guard
from codecompass.store.writer import IndexWriter
from codecompass.units import MIB, SECONDS
from codecompass.worker.messages import Batch, FileSymbols, FileTask

if TYPE_CHECKING:
    # The command line reads uses without a workspace.
    from codecompass.actors.known_index import KnownIndex
    from codecompass.actors.workbench import TreeWork

WRITE_BYTES: Final = 16 * MIB
"""Packed uses, of about 150 MB of source, that are kept in memory until they are written."""

LOCK_POLL_SECONDS: Final = 0.05 * SECONDS

PAUSE_SECONDS: Final = 0.02 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 0.5 * SECONDS
"""A batch waits for questions and jobs, but at most this long: until uses are read, questions about them take longer."""

RETRY_SECONDS: Final = 30 * SECONDS
"""Pause after a failure."""


class UsesPass:
    """One run over one index. Create it, `await run()` once."""

    def __init__(self, context: JobContext) -> None:
        """Of `context` the root, the layout, the pool, the limits, the turns and `give_way` are used."""
        self._context = context
        self._layout: ProjectLayout = context.layout
        self._index = WorkspaceIndex(context.layout, context.layout.project_id)
        self._read: list[tuple[str, bytes, bytes]] = []
        """Path, content hash and packed uses of the files read, in no order."""
        self._n_bytes = 0

    async def run(self) -> int:
        """Reads and writes the uses that are unread. Returns how many files were read; 0 while an index is incomplete.

        Raises the errors of `WorkspaceIndex.snapshot`, `WorkerPool.run` and `open_writer`. Safe to cancel: what is not written is
        dropped.
        """
        try:
            files = await trio.to_thread.run_sync(self._unread)
            batches = grouped(files)
            async with open_nursery() as nursery:
                for _ in range(min(self._context.pool.size, len(files))):
                    nursery.start_soon(self._work, batches)
            await self._write()
            return len(files)
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(self._index.close)

    async def _work(self, batches: Iterator[list[FileTask]]) -> None:
        for files in batches:
            if self._context.give_way is not None:
                await self._context.give_way()
            tasks = await trio.to_thread.run_sync(self._with_symbols, files)
            if not tasks:
                continue
            result = await self._context.pool.run(_batch(self._context, tasks))
            found = [(each.path, each.content_hash, each.uses or b"") for each in result.answers if isinstance(each, FileSymbols)]
            hashes = {task.path: task.known_hash for task in tasks}
            # Uses that kill a worker would do so again.
            found += [(path, hashes[path], b"") for path in (*result.killed_parsing, *result.killed_reading)]
            self._read += found
            self._n_bytes += sum(len(uses) for _, _, uses in found)
            if self._n_bytes >= WRITE_BYTES:
                await self._write()

    async def _write(self) -> None:
        read, self._read, self._n_bytes = self._read, [], 0
        if not read:
            return
        while True:
            try:
                async with in_threads(writer_lock(self._layout, f"uses pid {os.getpid()}")):
                    async with open_writer(self._layout, fresh=False) as writer:
                        await trio.to_thread.run_sync(_write_all, writer, self._layout, read)
                    return
            except LockHeld:
                while await trio.to_thread.run_sync(is_locked, self._layout):  # noqa: ASYNC110
                    # Another process may hold the lock: no event in this process tells when it is released.
                    await trio.sleep(LOCK_POLL_SECONDS)

    # in threads

    def _unread(self) -> list[FileTask]:
        """Returns the files whose uses are unread, product code first."""
        with self._index.snapshot() as snapshot:
            unread = snapshot.facts.unread_uses() if snapshot.meta.completeness == "complete" else frozenset()
            if not unread:
                return []
            rows = [row for row in snapshot.facts.files() if row.id in unread]
        rows.sort(key=lambda row: (role_of(row.path).rank, row.path))
        return [FileTask(row.path, row.content_hash, needs_symbols=True, size=row.size) for row in rows]

    def _with_symbols(self, tasks: Sequence[FileTask]) -> list[FileTask]:
        """Returns those of the files that are still indexed with this content, with their symbols."""
        found = []
        with self._index.snapshot() as snapshot:
            unread = snapshot.facts.unread_uses()
            for task in tasks:
                row = snapshot.facts.file(task.path)
                if row is not None and row.id in unread and row.content_hash == task.known_hash:
                    symbols = snapshot.facts.parsed_symbols(row.id)
                    found.append(FileTask(task.path, task.known_hash, needs_symbols=True, size=task.size, symbols=symbols))
        return found


def _batch(context: JobContext, tasks: Sequence[FileTask]) -> Batch:
    limits: IndexLimits = context.limits
    return Batch(
        root=os.fsencode(context.root),
        tasks=tuple(tasks),
        parse=True,
        max_file_bytes=limits.rules.max_file_bytes,
        max_line_characters=limits.max_line_characters,
        parse_cpu_seconds=limits.parse_cpu_seconds,
    )


def _write_all(writer: IndexWriter, layout: ProjectLayout, read: Sequence[tuple[str, bytes, bytes]]) -> None:
    with write_guard(layout):
        for path, content_hash, uses in read:
            writer.write_uses(path, content_hash, uses)
    meta = writer.meta
    # It stays the publication that it was.
    writer.publish(
        completeness=meta.completeness,
        ref=meta.ref,
        commit=meta.commit,
        rules_fingerprint=meta.rules_fingerprint,
        now=meta.published_at,
        checkpoint=trio.from_thread.check_cancelled,
    )


class UsesUpkeep:
    """Keeps reading the unread uses of a workspace's index. `is_working`: it reads some. All but `keep_up` is synchronous."""

    def __init__(self, tree: "TreeWork", index: "KnownIndex", is_busy: Callable[[], bool]) -> None:
        """`is_busy` returns whether a job runs or questions are being answered."""
        self.is_working = False
        self._tree = tree
        self._index = index
        self._is_busy = is_busy
        self._checked: tuple[int, float] | None = None
        self._commit: str | None = None
        self._wanted = trio.Event()
        self._log = structlog.get_logger(__name__)

    def note(self) -> None:
        """Checks for a newer publication, most of which lack nothing. Called after each transition of the workspace."""
        if self._published not in (None, self._checked):
            self._wanted.set()

    @property
    def _published(self) -> tuple[int, float] | None:
        meta = self._index.meta
        return None if meta is None or meta.completeness != "complete" else (meta.generation, meta.published_at)

    async def keep_up(self) -> None:
        """Reads what each publication lacks, and which files changed together if it is of another commit. Runs until cancelled; a
        failure does not end it."""
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            published, index = self._published, self._index.on_disk
            try:
                if index.lacks_uses:
                    n_files = await self._tree.read_uses(self._give_way)
                    self._log.info("uses_read", files=n_files)
                # Uses that were read are not read again because git does not answer.
                self._checked = published
                commit = "" if index.meta is None else index.meta.commit
                if commit != self._commit:
                    await self._tree.keep_up_with_commits()
                    self._commit = commit
            except CodeCompassError as error:
                # The workspace handles an index that cannot be read or written.
                self._log.info("uses_not_read", cause=error.message)
                await trio.sleep(RETRY_SECONDS)
            except Exception:  # noqa: BLE001 (a defect here costs time, not the workspace)
                self._log.exception("uses_pass_failed")
                await trio.sleep(RETRY_SECONDS)
            finally:
                self.is_working = False

    async def _give_way(self) -> None:
        # Called before files are read, so not if there are none.
        self.is_working = True
        with trio.move_on_after(LONGEST_PAUSE_SECONDS):
            while self._is_busy():  # noqa: ASYNC110 (a question takes a few milliseconds)
                await trio.sleep(PAUSE_SECONDS)
