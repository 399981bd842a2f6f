"""Reads the files that questions need before any index can answer them, into a small index of their own (ADR 0033).

    the files of the tree -> probed for the question's texts, in worker processes -> the best of them read and parsed
                          -> written beside the names of all others to a temporary index, which answers

The job that makes the real index goes on beside it; nothing here touches that index. Files stay in the temporary one for later
questions, and are read again if they have changed. One question is read for at a time. The worker processes are not those of
the jobs, which may be busy for long with what they hold.
"""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Final, Self

import trio
from msgspec import Struct

from codecompass import hints
from codecompass.actors.file_pipeline import FilePipeline, grouped, open_writer
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.job_state import ProgressMeter
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.tree_scan import SCAN_PATIENCE_SECONDS
from codecompass.actors.worker_pool import WorkerPool, default_pool_size
from codecompass.errors import StoreRefused
from codecompass.formatting import size
from codecompass.languages.detect import language_of
from codecompass.languages.ecosystems import is_configuration
from codecompass.nurseries import open_nursery
from codecompass.query.sought import Sought, order_of_reading, sought_with_name
from codecompass.scan.files import Stamp
from codecompass.scan.git_repository import read_head
from codecompass.scan.path_roles import role_of
from codecompass.scan.walk import ScannedFile, ScanResult, scan
from codecompass.store.databases import temporary_directory
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout, make_private_directory
from codecompass.store.registry import Project
from codecompass.store.writer import IndexWriter
from codecompass.units import KIB, MIB, SECONDS
from codecompass.worker.messages import AS_WRITTEN, FileTask, FileText, Probe

WORKERS: Final = 2
"""Worker processes of one workspace for this. They end when the index can answer."""

LONGEST_SECONDS: Final = 10 * SECONDS
"""How long files are read for one question; then it is answered from what was read."""

PROBING_SHARE: Final = 0.7
"""Share of that time after which no further files are probed."""

LISTING_SECONDS: Final = 2 * SECONDS
"""How long a question waits for the list of files that a job is about to make, before it makes its own."""

ANSWERING_SHARE: Final = 0.25
"""Share of the time until a question's deadline that is kept for writing and answering."""

PROBED_AT_ONCE: Final = 250
"""Files of one probe: 10 ms of CPU, so that the time is looked at often enough on a busy machine too."""

READ_AT_ONCE: Final = 32
BATCH_FILES: Final = 8
"""Files that are read before the time is looked at again, and those of one batch."""

MAX_FILES: Final = 250
MAX_BYTES: Final = 4 * MIB
"""Bounds of what is read for one question: a second of CPU."""

MAX_KEPT_FILES: Final = 1_500
"""Files that are kept for later questions; beyond that, reading begins anew."""

GIVE_WAY_SECONDS: Final = 10 * SECONDS
GIVE_WAY_SHARE: Final = 0.5
"""How long a job waits in all while questions are answered from here: a share of its time, and some seconds at its beginning."""

MAX_NAMES: Final = 20_000
"""Files of the tree whose names the temporary index holds without their text: 35 us of CPU each (measured 2026-11-25)."""

MAX_CONFIGURATIONS: Final = 60
MAX_CONFIGURATION_BYTES: Final = 200 * KIB
"""Files that say how modules are named, for the imports by which uses are bound."""

SCAN_TRUSTED_SECONDS: Final = 15 * SECONDS
"""How long a list of files counts, be it a job's or an own one, while an index is being made."""

ALONE_TRUSTED_SECONDS: Final = 1 * SECONDS
"""The same if no index can be made: then nothing but another list finds new files."""

PLACE_BYTES: Final = 64 * MIB
"""Free space that the temporary index should find: a few times what is read before reading begins anew."""

LEAST_INDEX_BYTES: Final = 20 * MIB
INDEX_SHARE: Final = 2.0
"""How much free space is recommended for an index: at least, and as a share of the source. An index takes as much as the source
(docs/performance.md), while it is made some more."""


class Coverage(Struct, frozen=True, kw_only=True):
    """How much of the tree an answer rests on, in files: all, those probed, those with texts of the question, those read."""

    n_files: int
    n_probed: int
    n_wanted: int
    n_read: int
    n_bytes: int = 0
    """Bytes of all files."""
    holds_name: bool
    """Whether one of the files that were read holds the text that matters most, as written."""

    @property
    def is_whole(self) -> bool:
        """Whether every file that may matter was read."""
        return self.n_probed >= self.n_files and self.n_read >= self.n_wanted

    def warning(self, refused: StoreRefused | None = None) -> str:
        """Returns what the answer says of this; `refused` is why no index can be made, None while one is being made."""
        n_files = f"all {self.n_files:,}" if self.n_probed >= self.n_files else f"{self.n_probed:,} of {self.n_files:,}"
        read = "" if self.n_read >= self.n_wanted else f", of which the best {self.n_read:,} of {self.n_wanted:,} were read"
        scanned = f"answered from a scan of {n_files} files{read}"
        if refused is None:
            return f"still indexing: {scanned}. Call again for an answer from the index"
        cause, path, remedy = (refused.data.get(name, "") for name in ("cause", "path", "suggested_action"))
        if refused.data.get("lacks_space"):
            needed = max(LEAST_INDEX_BYTES, INDEX_SHARE * self.n_bytes)
            remedy = str(remedy).replace("free disk space", f"free about {size(int(needed))}", 1)
        return (
            f"the index cannot be made ({cause}: {path}); {scanned}. {hints.ASK}{remedy}; the next question then makes the index"
        )


class _Listing(Struct, frozen=True):
    """The files of the workspace as a scan found them at `at`, in seconds of `time.monotonic`."""

    files: tuple[ScannedFile, ...]
    at: float


class _Tree(Struct, frozen=True):
    """The files of a listing in the order in which they are probed, and the branch that is checked out."""

    listing: _Listing
    files: tuple[ScannedFile, ...]
    ref: str


class UnindexedFiles:
    """The files of one workspace that were read before its index could answer. Close it when the index can, and at the end."""

    def __init__(self, project: Project, comparison: TreeComparison) -> None:
        """`comparison` has the limits by which the workspace is indexed, and reads its tree."""
        self._project = project
        self._comparison = comparison
        self._turn = trio.Lock()
        self._pool = WorkerPool(min(WORKERS, default_pool_size()))
        self._place = ExitStack()
        self._index: WorkspaceIndex | None = None
        self._listing: _Listing | None = None
        self._listed_by_job = trio.Event()
        self._tree: _Tree | None = None
        self._named: _Listing | None = None
        self._read_before: set[str] = set()
        self._n_users = 0
        self._unused = trio.Event()
        self._is_ending = False
        self._has_place = False
        self._is_alone = False
        self._given_way = 0.0
        self._noted_at = float("inf")

    def note_scan(self, found: ScanResult) -> None:
        """Notes the files that a job has just listed, so that they are not listed again."""
        self._listing = _Listing(found.files, time.monotonic())
        self._listed_by_job.set()
        self._is_ending = self._is_alone = False
        self._given_way, self._noted_at = 0.0, trio.current_time()

    def expect_no_job(self) -> None:
        """Notes that no index can be made: nobody waits for the files that a job lists, and what one has listed is dropped."""
        if not self._is_alone:
            self._listing = None
        self._is_alone = True
        self._listed_by_job.set()

    async def give_way(self) -> None:
        """Waits while a question is answered from here, for a job of the same workspace: both share the processors.

        A job waits at most GIVE_WAY_SHARE of its time, besides GIVE_WAY_SECONDS.
        """
        began = trio.current_time()
        left = GIVE_WAY_SECONDS + GIVE_WAY_SHARE * max(0.0, began - self._noted_at) - self._given_way
        if not self._n_users or left <= 0:
            return
        with trio.move_on_after(left):
            await self._unused.wait()
        self._given_way += trio.current_time() - began

    async def __aenter__(self) -> Self:
        """Keeps what is read at least until the block ends."""
        if not self._n_users:
            self._unused = trio.Event()
        self._n_users += 1
        return self

    async def __aexit__(self, *_error: object) -> None:
        self._n_users -= 1
        if not self._n_users:
            self._unused.set()
        if self._is_ending:
            await self.close()

    async def close(self) -> None:
        """Removes what was read and ends the workers, once nobody uses them. From then until the next job nothing is kept."""
        self._is_ending = True
        if self._n_users:
            return
        index, self._index = self._index, None
        self._listing = self._tree = self._named = None
        self._listed_by_job = trio.Event()
        with trio.CancelScope(shield=True):
            await self._pool.close()
            if self._has_place:
                self._has_place = False
                await trio.to_thread.run_sync(self._remove, index)

    def _remove(self, index: WorkspaceIndex | None) -> None:
        if index is not None:
            index.close()
        self._place.close()

    async def read(self, sought: Sought, deadline: float) -> tuple[WorkspaceIndex, Coverage] | None:
        """Reads the files that a question needs, within its deadline by the event loop's clock.

        Returns the index that holds them, and how much of the tree it rests on; None if nothing could be read. Safe to cancel.
        Raises FileSystemUnresponsive, InternalError if no worker can be started, PermissionDenied if there is no place to write.
        """
        async with self._turn:
            tree = await self._listed_and_warm()
            coverage = await self._read(sought, tree, deadline)
            if coverage is None or self._index is None:
                return None
            further = await trio.to_thread.run_sync(self._with_name, self._index, sought)
            if further is not None:
                coverage = await self._read(further, tree, deadline) or coverage
            return self._index, coverage

    @staticmethod
    def _with_name(index: WorkspaceIndex, sought: Sought) -> Sought | None:
        with index.snapshot() as snapshot:
            return sought_with_name(snapshot, sought)

    async def _listed_and_warm(self) -> _Tree:
        """Returns the files of the tree, and starts the workers meanwhile."""
        async with open_nursery() as nursery:
            nursery.start_soon(self._pool.warm_up)
            return await self._listed()

    async def _listed(self) -> _Tree:
        """Returns the files of the tree: those that the job has listed, if it has."""
        root, rules = str(self._project.root), self._comparison.limits.rules
        if self._listing is None:
            with trio.move_on_after(LISTING_SECONDS):
                await self._listed_by_job.wait()
        listing = self._listing
        trusted_seconds = ALONE_TRUSTED_SECONDS if self._is_alone else SCAN_TRUSTED_SECONDS
        if listing is None or time.monotonic() - listing.at > trusted_seconds:
            found = await self._comparison.run_on_tree(
                lambda call: scan(root, rules, is_cancelled=call.is_over), patience=SCAN_PATIENCE_SECONDS
            )
            listing = self._listing = _Listing(found.files, time.monotonic())
        if self._tree is None or self._tree.listing is not listing:
            head = await self._comparison.run_on_tree(lambda _call: read_head(root, rules.git_roots))
            files = await trio.to_thread.run_sync(_in_order_of_probing, listing.files)
            self._tree = _Tree(listing, files, head.ref)
        return self._tree

    async def _read(self, sought: Sought, tree: _Tree, deadline: float) -> Coverage | None:
        now = trio.current_time()
        ends = now + min(LONGEST_SECONDS, (1 - ANSWERING_SHARE) * (deadline - now))
        names = {name: at for at, (name, _worth) in enumerate(sought.names)}
        words = {word: at for at, (word, _worth) in enumerate(sought.words, len(names))}
        levels: dict[int, bytes] = {}
        if names or words:
            levels = await self._probe(tree, tuple(names), tuple(words), now + PROBING_SHARE * (ends - now))
            if tree.files and not levels:
                return None
        paths = [file.path for file in tree.files]
        order = await trio.to_thread.run_sync(order_of_reading, sought, paths, names, words, levels)
        chosen = list(_bounded(tree.files[number] for number in order.numbers))
        configurations = _configurations(tree.files) if sought.follows_uses else []
        # Imports lead to files that hold nothing of the question; so do filters and paths that fit none.
        needs_names = sought.follows_uses or not chosen
        n_read = await self._write(tree, levels if needs_names else None, [*chosen, *configurations], ends)
        return Coverage(
            n_files=len(tree.files),
            n_probed=len(levels) if names or words else len(tree.files),
            n_wanted=order.n_wanted,
            n_read=min(n_read, len(chosen)),
            n_bytes=sum(file.size for file in tree.files),
            holds_name=bool(names) and any(held and held[0] >= AS_WRITTEN for held in map(levels.get, order.numbers[:n_read])),
        )

    async def _probe(self, tree: _Tree, names: tuple[str, ...], words: tuple[str, ...], ends: float) -> dict[int, bytes]:
        """Returns how the files hold the texts, by number: of all files, or of the first ones if the time is up."""
        levels: dict[int, bytes] = {}
        n_files = len(tree.files)
        groups = iter([range(first, min(first + PROBED_AT_ONCE, n_files)) for first in range(0, n_files, PROBED_AT_ONCE)])
        limits = self._comparison.limits

        async def work() -> None:
            for group in groups:
                order = Probe(
                    root=os.fsencode(self._project.root),
                    paths=tuple(tree.files[number].path for number in group),
                    names=names,
                    words=words,
                    max_file_bytes=limits.rules.max_file_bytes,
                    max_line_characters=limits.max_line_characters,
                    cpu_seconds=limits.parse_cpu_seconds,
                )
                probed = await self._pool.probe(order)
                if probed is not None:
                    levels.update(zip(group, probed.files, strict=True))
                if trio.current_time() > ends:
                    return

        async with open_nursery() as nursery:
            for _ in range(self._pool.size):
                nursery.start_soon(work)
        return levels

    async def _write(self, tree: _Tree, levels: dict[int, bytes] | None, chosen: Sequence[ScannedFile], ends: float) -> int:
        """Writes the texts and symbols of the chosen files, and the names of all others unless `levels` is None.

        Returns how many files were read.
        """
        layout, is_new = await trio.to_thread.run_sync(self._layout)
        limits = self._comparison.limits
        files = FilePipeline(self._project.root, layout, self._pool, limits, ProgressMeter(None))
        n_read = 0
        async with open_writer(layout, fresh=is_new) as writer:
            if levels is not None and self._named is not tree.listing:
                unreadable = {tree.files[number].path for number, held in levels.items() if not held}
                await trio.to_thread.run_sync(_write_names, writer, tree, unreadable)
            # What was read for earlier questions may have changed.
            again = await self._comparison.written_links(
                _stamps(writer, self._read_before.difference(file.path for file in chosen))
            )
            await files.process(writer, [_task(writer, path) for path in sorted(again)], parse=True, batch_files=BATCH_FILES)
            tasks = [_task(writer, file.path, file.size) for file in chosen]
            for some in grouped(tasks, max_bytes=MAX_BYTES, max_files=READ_AT_ONCE):
                await files.process(writer, some, parse=True, batch_files=BATCH_FILES)
                n_read += len(some)
                if trio.current_time() > ends:
                    break
            await trio.to_thread.run_sync(_published(writer, tree.ref, limits))
            self._read_before.update(task.path for task in tasks[:n_read])
            if levels is not None:
                self._named = tree.listing
        if self._index is None:
            self._index = WorkspaceIndex(layout, self._project.project_id)
        return n_read

    def _layout(self) -> tuple[ProjectLayout, bool]:
        """Returns the place of the temporary index, and whether it is new. Runs in a thread."""
        if self._index is not None:
            if len(self._read_before) < MAX_KEPT_FILES or self._n_users > 1:
                return self._index.layout, False
            self._index.close()
            self._index = None
        self._place.close()
        self._has_place = True
        self._named = None
        self._read_before.clear()
        root = self._place.enter_context(temporary_directory(PLACE_BYTES)) / "projects" / self._project.project_id
        make_private_directory(root)
        return ProjectLayout(root), True


def _write_names(writer: IndexWriter, tree: _Tree, unreadable: set[str]) -> None:
    """Writes the files of the tree without their texts, so that they are found by name. Runs in a thread."""
    for file in tree.files[:MAX_NAMES]:
        if file.path not in unreadable and writer.manifest.get(file.path) is None:
            writer.write_text(_name_only(file))


def _in_order_of_probing(files: Iterable[ScannedFile]) -> tuple[ScannedFile, ...]:
    """Returns product code first, which is probed even if the time is short."""
    return tuple(sorted(files, key=lambda file: role_of(file.path).rank))


def _name_only(file: ScannedFile) -> FileText:
    language = language_of(file.path, b"")
    return FileText(file.path, "indexed", language=language, size=file.size)


def _task(writer: IndexWriter, path: str, size: int = 0) -> FileTask:
    """Returns the task of reading a file, whose text is not sent again if it is what was read before."""
    entry = writer.manifest.get(path)
    known = b"" if entry is None or entry.status != "indexed" else entry.content_hash
    return FileTask(path, known, needs_symbols=bool(known) and entry is not None and not entry.is_final, size=size)


def _stamps(writer: IndexWriter, paths: Iterable[str]) -> dict[str, Stamp]:
    """Returns the stamps that files had when they were read."""
    entries = {path: writer.manifest.get(path) for path in paths}
    return {
        path: Stamp(entry.mtime_ns, entry.ctime_ns, entry.size, entry.inode)
        for path, entry in entries.items()
        if entry is not None
    }


def _bounded(files: Iterable[ScannedFile]) -> Iterable[ScannedFile]:
    n_bytes = 0
    for number, file in enumerate(files):
        n_bytes += file.size
        if number and (number >= MAX_FILES or n_bytes > MAX_BYTES):
            return
        yield file


def _configurations(files: Iterable[ScannedFile]) -> list[ScannedFile]:
    """Returns the files that say how modules are named, those nearest to the root."""
    found = [file for file in files if is_configuration(file.path) and file.size <= MAX_CONFIGURATION_BYTES]
    return sorted(found, key=lambda file: (file.path.count("/"), file.path))[:MAX_CONFIGURATIONS]


def _published(writer: IndexWriter, ref: str, limits: IndexLimits) -> Callable[[], object]:
    def publish() -> object:
        return writer.publish(
            completeness="partial",
            ref=ref,
            commit="",
            rules_fingerprint=limits.fingerprint,
            checkpoint=trio.from_thread.check_cancelled,
        )

    return publish
