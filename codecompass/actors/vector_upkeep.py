"""Brings the vectors of one project up to its newest generation: reads the texts of changed files, sends those without a vector.

    a complete generation --> run --> done until the next one
                               `---> failed: run again after a pause

    run:  files to do  --slices-->  texts without a vector  --batches-->  endpoint  -->  vectors.db

Text and symbols are published before; nothing waits for this. Every finished batch is stored, so a run that is cancelled, fails
or dies is continued by the next. Product code comes first, because the number of texts is bounded.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.blocking_calls import Limits
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.semantic_lane import SemanticLane
from codecompass.errors import CodeCompassError
from codecompass.protocol.requests import Request
from codecompass.protocol.state_replies import SemanticReport
from codecompass.query.semantic_search import QuestionMeaning, question_of
from codecompass.scan.path_roles import role_of
from codecompass.semantic.endpoint import not_installed
from codecompass.semantic.target import SemanticTarget, SemanticUnavailable
from codecompass.semantic.texts import is_embedded, texts_of, vector_space
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.snapshot import Snapshot
from codecompass.store.vectors import (
    FileTexts,
    TextPlace,
    VectorsMissing,
    VectorsNotInstalled,
    VectorSpace,
    VectorStore,
    VectorsUnusable,
    embedding_turn,
    vectors_for_reading,
    vectors_for_writing,
)
from codecompass.units import SECONDS

if TYPE_CHECKING:
    # The command line makes vectors without a workspace.
    from codecompass.actors.known_index import KnownIndex
    from codecompass.actors.workbench import TreeWork

SLICE_FILES: Final = 64

SLICE_BATCHES: Final = 4
"""Bounds of a slice: its files, and the batches of texts after which no further file is read."""

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS

LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS
"""Pause after a failure, which doubles from the first to the longest."""

OTHERS_SECONDS: Final = 30 * SECONDS
"""Pause between attempts while another process makes the vectors of this project."""

P = ParamSpec("P")
T = TypeVar("T")


class Embedding:
    """Keeps a workspace's vectors up to date. `is_working`: texts are being read or sent. All but `keep_up` is synchronous."""

    def __init__(self, tree: "TreeWork", index: "KnownIndex", announce: Callable[[], None]) -> None:
        self.is_working = False
        self._tree = tree
        self._index = index
        self._announce = announce
        self._done: float | None = None
        self._failure = ""
        self._wanted = trio.Event()
        self._log = structlog.get_logger(__name__)

    @property
    def state(self) -> str:
        """What the observation shows: waiting, working, ready, or why the last run failed."""
        if self._failure:
            return f"unavailable ({self._failure})"
        meta = self._index.meta
        if meta is None or meta.completeness != "complete":
            return "waiting"
        return "ready" if meta.published_at == self._done else "working"

    def note(self) -> None:
        """Checks for a newer generation. Called after each transition of the workspace."""
        meta = self._index.meta
        if meta is not None and meta.completeness == "complete" and meta.published_at != self._done:
            self._wanted.set()

    async def keep_up(self) -> None:
        """Makes vectors for each new generation. Runs until cancelled; a failure does not end it."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            meta = self._index.meta
            published_at = None if meta is None else meta.published_at
            self.is_working = True
            wait = 0.0
            try:
                if await self._tree.make_vectors():
                    self._done, self._failure, pause = published_at, "", FIRST_PAUSE_SECONDS
                else:
                    wait = OTHERS_SECONDS
            except (SemanticUnavailable, CodeCompassError) as error:
                self._log.info("vectors_not_made", cause=str(error), retry_in_seconds=pause)
                self._failure = str(error)
                wait, pause = pause, min(2 * pause, LONGEST_PAUSE_SECONDS)
            except Exception as error:  # noqa: BLE001 (a defect here costs search by meaning, not the workspace)
                self._log.exception("vectors_failed", retry_in_seconds=pause)
                self._failure = type(error).__name__
                wait, pause = pause, min(2 * pause, LONGEST_PAUSE_SECONDS)
            finally:
                self.is_working = False
            self._announce()
            if wait:
                await trio.sleep(wait)
                self._wanted.set()


class _Slice(Struct, frozen=True):
    """Files that were read, and their texts without a vector, by hash. `is_full`: no more texts may get vectors."""

    files: tuple[FileTexts, ...]
    texts: Mapping[bytes, str]
    n_gone: int
    """Files of the slice that are no longer in the index."""
    is_full: bool = False


class VectorUpkeep:
    """The vectors of one project. One run at a time; questions are answered meanwhile."""

    def __init__(self, lane: SemanticLane, layout: ProjectLayout, index: WorkspaceIndex, limits: Limits) -> None:
        self._lane = lane
        self._layout = layout
        self._index = index
        self._limits = limits
        self._failure: SemanticUnavailable | None = None
        """The failure of the last run, if it failed."""
        self._log = structlog.get_logger(__name__)

    async def meaning_of(self, request: Request) -> QuestionMeaning | None:
        """Returns the vector of a request's question, or why there is none; None for a request without a question in words.

        Takes at most `question_timeout_ms`, besides reading one row.
        """
        question = question_of(request)
        if not question:
            return None
        space, least = self._lane.space, self._lane.settings.min_similarity
        try:
            await trio.to_thread.run_sync(require_vectors, self._layout, space, limiter=self._limits.queries)
            vector = await self._lane.question_vector(question)
        except SemanticUnavailable as error:
            # If there are no vectors yet, the failure that prevents them says more.
            known = self._failure if error.code == "no_vectors" else None
            return QuestionMeaning(layout=self._layout, space=space, unavailable=(known or error).warning)
        return QuestionMeaning(layout=self._layout, space=space, vector=vector, least=least)

    def report(self, snapshot: Snapshot) -> SemanticReport:
        """Returns `semantic_report` of this project. Blocking."""
        return semantic_report(snapshot, self._layout, self._lane.target)

    async def run(self) -> bool:
        """Makes the missing vectors. Returns False at once if another process is making them.

        Raises SemanticUnavailable if the endpoint or the file of vectors fails; vectors made until then are kept. Safe to cancel.
        """
        try:
            with ExitStack() as turn, _as_unavailable():
                is_ours = await self._in_thread(lambda: turn.enter_context(embedding_turn(self._layout)))
                if is_ours:
                    await self._run()
        except VectorsMissing:
            return True
        except SemanticUnavailable as error:
            self._failure = error
            raise
        self._failure = None
        return is_ours

    async def _run(self) -> None:
        try:
            todo = await self._in_thread(self._files_to_do)
            at = n_sent = 0
            began = trio.current_time()
            while at < len(todo):
                part = await self._in_thread(partial(self._read, todo[at : at + SLICE_FILES]))
                if part.texts:
                    # Stored first, so that the known texts of changed files can be found while the rest is sent.
                    await self._store(VectorStore.put_files, part.files, is_whole=False)
                    await self._send(part.texts)
                    n_sent += len(part.texts)
                await self._store(VectorStore.put_files, part.files, is_whole=True)
                at += len(part.files) + part.n_gone
                if part.is_full:
                    # Outdated texts of these files would take room for ever.
                    await self._store(VectorStore.remove_files, todo[at:])
                    break
            await self._store(self._finish)
            if n_sent:
                self._log.info("vectors_made", texts=n_sent, files=at, seconds=round(trio.current_time() - began, 1))
        except SemanticUnavailable as error:
            await self._store(VectorStore.note_error, str(error))
            raise

    async def _send(self, texts: Mapping[bytes, str]) -> None:
        for hashes in batched(texts, self._lane.settings.batch_size):
            batch = {each: texts[each] for each in hashes}
            try:
                vectors = await self._lane.text_vectors(list(batch.values()))
                made = dict(zip(batch, vectors, strict=True))
            except SemanticUnavailable as error:
                if not error.is_of_text:
                    raise
                made = await self._one_by_one(batch)
            await self._store(VectorStore.add, made.items(), [each for each in batch if each not in made])

    async def _one_by_one(self, texts: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """Returns the vectors of those texts that the endpoint accepts. Raises SemanticUnavailable if it accepts no text."""
        made = {}
        for each, text in texts.items():
            try:
                made[each] = (await self._lane.text_vectors([text]))[0]
            except SemanticUnavailable as error:
                if not error.is_of_text:
                    raise
        if not made:
            await self._lane.require_texts_taken()
        return made

    async def _store(
        self, method: Callable[Concatenate[VectorStore, P], object], *arguments: P.args, **options: P.kwargs
    ) -> None:
        def work() -> None:
            with self._open() as store:
                method(store, *arguments, **options)

        await self._in_thread(work)

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(panics_as_errors(work), limiter=self._limits.vectors)

    # in threads

    def _files_to_do(self) -> list[str]:
        """Returns the paths of files whose present content has not been read, product code first. Forgets files that are gone."""
        try:
            with self._index.snapshot() as snapshot, self._open() as store:
                if snapshot.meta.completeness != "complete":
                    return []
                todo, gone = compare(snapshot, store.files())
                store.remove_files(gone)
                return todo
        except CodeCompassError:
            return []  # the workspace handles an unreadable index

    def _read(self, paths: Sequence[str]) -> _Slice:
        settings = self._lane.settings
        files: list[FileTexts] = []
        texts: dict[bytes, str] = {}
        n_gone = 0
        with self._index.snapshot() as snapshot, self._open() as store:
            room = settings.max_texts - store.place_count(besides=paths)
            for path in paths:
                row = snapshot.facts.file(path)
                if row is None or row.status != "indexed":
                    n_gone += 1
                    continue
                found = texts_of(snapshot, row, settings.max_text_characters, settings.document_prefix)
                room -= len(found)
                if room < 0:
                    return _Slice(tuple(files), texts, n_gone, is_full=True)
                missing = store.missing({each.hash for each in found})
                texts.update((each.hash, each.text) for each in found if each.hash in missing)
                places = tuple(TextPlace(each.hash, each.line_start, each.line_end, each.kind) for each in found)
                files.append(FileTexts(path, row.content_hash, places))
                if len(texts) >= SLICE_BATCHES * settings.batch_size:
                    break
        return _Slice(tuple(files), texts, n_gone)

    def _finish(self, store: VectorStore) -> None:
        store.trim(self._lane.settings.max_texts)
        store.note_error("")

    def _open(self) -> AbstractContextManager[VectorStore]:
        return vectors_for_writing(self._layout, self._lane.space)


def semantic_report(snapshot: Snapshot, layout: ProjectLayout, target: SemanticTarget) -> SemanticReport:
    """Returns how many texts of a project have vectors and how many files are pending. Reads the whole manifest."""
    report = SemanticReport(endpoint=target.host, model=target.settings.model.strip(), texts=0, pending_files=0)
    try:
        with vectors_for_reading(layout, vector_space(target.settings)) as store:
            counts = store.counts()
            todo, _gone = compare(snapshot, store.files())
            return replace(report, texts=counts.texts, pending_files=len(todo), last_error=counts.last_error)
    except VectorsMissing:
        return replace(report, pending_files=len(compare(snapshot, {})[0]))
    except VectorsNotInstalled:
        return replace(report, last_error=str(not_installed()))
    except VectorsUnusable as error:
        return replace(report, last_error=f"store: {error}")


def compare(snapshot: Snapshot, known: Mapping[str, bytes]) -> tuple[list[str], list[str]]:
    """Returns the paths whose texts are still to be read, product code first, and those that are no longer in the snapshot.

    `known` are the content hashes, by path, of the files whose texts were read.
    """
    todo = []
    wanted = set()
    for row in snapshot.facts.files():
        if row.status != "indexed" or not is_embedded(row.path) or not _is_utf8(row.path):
            continue
        wanted.add(row.path)
        if known.get(row.path) != row.content_hash:
            todo.append((role_of(row.path).rank, row.path))
    return [path for _, path in sorted(todo)], sorted(known.keys() - wanted)


def batched(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yields the items in tuples of `size`; the last one may be shorter."""
    left = iter(items)
    while batch := tuple(islice(left, size)):
        yield batch


def _is_utf8(path: str) -> bool:
    return path.isascii() or path.encode("utf-8", "replace").decode() == path


def require_vectors(layout: ProjectLayout, space: VectorSpace) -> None:
    """Raises SemanticUnavailable if there are no vectors that a question could be compared with."""
    with suppress(VectorsMissing), _as_unavailable(), vectors_for_reading(layout, space) as store:
        if store.has_any():
            return
    raise SemanticUnavailable("no_vectors", "none have been made yet")


@contextmanager
def _as_unavailable() -> Iterator[None]:
    try:
        yield
    except VectorsNotInstalled as error:
        raise not_installed() from error
    except VectorsUnusable as error:
        raise SemanticUnavailable("store", str(error)) from error
