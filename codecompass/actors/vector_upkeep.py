"""Brings the vectors of one project up to its newest generation: reads the texts of changed files, sends those without a vector.

    files to do  --slices-->  texts without a vector  --batches-->  endpoint  -->  vectors.db

Text and symbols are published before; nothing waits for this. Every batch that came back is kept, so a run that is cancelled,
fails or dies is continued by the next one. Files come product code first, because the number of texts is bounded.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Final, TypeVar

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.background import panics_as_errors
from codecompass.actors.limits import Limits
from codecompass.actors.semantic_lane import SemanticLane
from codecompass.errors import CodeCompassError
from codecompass.protocol.requests import Request
from codecompass.protocol.state_replies import SemanticReport
from codecompass.query.meaning import QuestionMeaning, question_of
from codecompass.scan.path_roles import PathReader
from codecompass.semantic.endpoint import not_installed
from codecompass.semantic.target import SemanticTarget, SemanticUnavailable
from codecompass.semantic.texts import is_embedded, texts_of, vector_space
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.snapshot import Snapshot
from codecompass.store.vectors import (
    ReadFile,
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

SLICE_FILES: Final = 64
SLICE_BATCHES: Final = 4
"""Files read at once, and batches of texts after which no further file is."""

T = TypeVar("T")


class _Slice(Struct, frozen=True):
    """Files that were read, and their texts that have no vector, by hash; `is_full` says that no more texts may have vectors."""

    files: tuple[ReadFile, ...]
    texts: Mapping[bytes, str]
    n_gone: int
    """Files between these that are not in the index any more."""
    is_full: bool = False


class VectorUpkeep:
    """The vectors of one project. One run at a time; questions are asked meanwhile."""

    def __init__(self, lane: SemanticLane, layout: ProjectLayout, index: WorkspaceIndex, limits: Limits) -> None:
        self._lane = lane
        self._layout = layout
        self._index = index
        self._limits = limits
        self._failure: SemanticUnavailable | None = None
        """Of the last run."""
        self._log = structlog.get_logger(__name__)

    async def meaning_of(self, request: Request) -> QuestionMeaning | None:
        """Returns the vector of a request's question, or why there is none; None for a request that asks none in words.

        Takes `question_timeout_ms` at most, besides reading one row.
        """
        question = question_of(request)
        if not question:
            return None
        space, least = self._lane.space, self._lane.settings.min_similarity
        try:
            await trio.to_thread.run_sync(require_vectors, self._layout, space, limiter=self._limits.queries)
            vector = await self._lane.question_vector(question)
        except SemanticUnavailable as error:
            # Where there are no vectors yet, what keeps them from being made says more.
            known = self._failure if error.code == "no_vectors" else None
            return QuestionMeaning(layout=self._layout, space=space, unavailable=(known or error).warning)
        return QuestionMeaning(layout=self._layout, space=space, vector=vector, least=least)

    def report(self, snapshot: Snapshot) -> SemanticReport:
        """Returns what `semantic_report` returns. Blocking."""
        return semantic_report(snapshot, self._layout, self._lane.target)

    async def run(self) -> bool:
        """Makes what is missing. Returns False at once where another process does.

        Raises SemanticUnavailable where the endpoint or the file of vectors fails; what was made until then is kept. Safe to
        cancel.
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
                    # What is known of a changed file is found again before the rest is sent, however long that takes.
                    await self._in_thread(partial(self._put, part.files, is_whole=False))
                    await self._send(part.texts)
                    n_sent += len(part.texts)
                await self._in_thread(partial(self._put, part.files, is_whole=True))
                at += len(part.files) + part.n_gone
                if part.is_full:
                    # Places in other content than the tree's would take room for ever.
                    await self._in_thread(partial(self._forget, todo[at:]))
                    break
            await self._in_thread(self._finish)
            if n_sent:
                self._log.info("vectors_made", texts=n_sent, files=at, seconds=round(trio.current_time() - began, 1))
        except SemanticUnavailable as error:
            await self._in_thread(partial(self._fail, str(error)))
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
            await self._in_thread(partial(self._add, made, [each for each in batch if each not in made]))

    async def _one_by_one(self, texts: Mapping[bytes, str]) -> dict[bytes, bytes]:
        """The vectors of those texts that the endpoint takes. Raises SemanticUnavailable where it takes none whatever."""
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

    async def _in_thread(self, work: Callable[[], T]) -> T:
        return await trio.to_thread.run_sync(panics_as_errors(work), limiter=self._limits.vectors)

    # in threads

    def _files_to_do(self) -> list[str]:
        """The paths of files whose texts are not known in their present content, product code first. Forgets files that are
        gone."""
        try:
            with self._index.snapshot() as snapshot, self._open() as store:
                if snapshot.meta.completeness != "complete":
                    return []
                todo, gone = compare(snapshot, store.files())
                store.remove_files(gone)
                return todo
        except CodeCompassError:
            return []  # the workspace deals with an index that cannot be read

    def _read(self, paths: Sequence[str]) -> _Slice:
        settings = self._lane.settings
        files: list[ReadFile] = []
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
                files.append(ReadFile(path, row.content_hash, places))
                if len(texts) >= SLICE_BATCHES * settings.batch_size:
                    break
        return _Slice(tuple(files), texts, n_gone)

    def _put(self, files: Sequence[ReadFile], *, is_whole: bool) -> None:
        with self._open() as store:
            store.put_files(files, is_whole=is_whole)

    def _add(self, made: Mapping[bytes, bytes], refused: Sequence[bytes]) -> None:
        with self._open() as store:
            store.add(made.items(), refused)

    def _forget(self, paths: Sequence[str]) -> None:
        with self._open() as store:
            store.remove_files(paths)

    def _finish(self) -> None:
        with self._open() as store:
            store.trim(self._lane.settings.max_texts)
            store.note_error("")

    def _fail(self, cause: str) -> None:
        with self._open() as store:
            store.note_error(cause)

    def _open(self) -> AbstractContextManager[VectorStore]:
        return vectors_for_writing(self._layout, self._lane.space)


def semantic_report(snapshot: Snapshot, layout: ProjectLayout, target: SemanticTarget) -> SemanticReport:
    """Returns how many texts of a project have vectors and how many files are still to be read. Reads the whole manifest."""
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
    """Returns the paths whose texts are still to be read, product code first, and those that are not in the snapshot any more.

    `known` are the content hashes of files whose texts have vectors.
    """
    roles = PathReader()
    todo = []
    wanted = set()
    for row in snapshot.facts.files():
        if row.status != "indexed" or not is_embedded(row.path, roles) or not _is_utf8(row.path):
            continue
        wanted.add(row.path)
        if known.get(row.path) != row.content_hash:
            todo.append((roles.role(row.path).rank, row.path))
    return [path for _, path in sorted(todo)], sorted(known.keys() - wanted)


def batched(items: Iterable[T], size: int) -> Iterator[tuple[T, ...]]:
    """Yields the items in tuples of `size`; the last one may be shorter."""
    left = iter(items)
    while batch := tuple(islice(left, size)):
        yield batch


def _is_utf8(path: str) -> bool:
    return path.isascii() or path.encode("utf-8", "replace").decode() == path


def require_vectors(layout: ProjectLayout, space: VectorSpace) -> None:
    """Raises SemanticUnavailable where there is nothing that a question could be compared with."""
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
