"""Publishes an index on this machine as a generation in the engine.

    index on disk --difference to the last generation--> a piece of text, blocks of facts --> manifest
                  or, with a store of segments, --files that it does not have--> segments --> manifest

Nothing is visible before the caller names the generation in the repository's document. Until then everything written is garbage
that `sweeping.py` removes, so a publication may stop at any moment. Only differences are written: documents of unchanged files
stay in their pieces, and blocks are identified by their content.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.documents import LOOK_SECONDS, DocumentMaker, write_documents
from codecompass.cluster.engine import Conflict, Engine, EngineUnavailable
from codecompass.cluster.engine_queries import visible_filters
from codecompass.cluster.engine_text import EngineText
from codecompass.cluster.generations import FactsCache
from codecompass.cluster.manifests import (
    BASE_FILE,
    FACTS_FILE,
    TERMS_FILE,
    Averages,
    BlockFile,
    Manifest,
    Piece,
    block_document,
    block_id,
    block_key,
    read_blocks,
)
from codecompass.cluster.schema import SCORED, JsonObject
from codecompass.cluster.scoring import EngineRarities
from codecompass.cluster.segments import write_segments
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import IndexNotReady
from codecompass.store.databases import base_path, log_size, settle
from codecompass.store.epochs import require_compatible
from codecompass.store.facts import FactsReader
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.overlay import connect_to_facts
from codecompass.store.rows import FileContent, IndexedFile
from codecompass.store.schema import CHUNK_RECORD, PARSER_VERSION, SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.store.term_counts import FIELDS, Term, TermCounts, write_term_counts
from codecompass.units import SECONDS

MAX_PIECES: Final = 16

MAX_DEAD_SHARE: Final = 0.3
"""Share of dead files from which all files are written again into one piece, because every search has to skip dead ones."""

BLOCKS_AT_ONCE: Final = 256

COPY_SECONDS: Final = 0.05 * SECONDS
"""Pause before the second check whether all copies have the new documents; later pauses are longer."""


class PublishCounts(Struct, frozen=True):
    """What a publication has written."""

    files: int
    documents: int
    blocks: int
    is_whole: bool
    """Whether all files were written."""


class PublishedSegments(Struct, frozen=True):
    """A generation that is completely written to the store of segments, to be named in the repository's document."""

    manifest: Manifest
    n_written: int
    """Files that the store did not have."""
    written_bytes: int


class Published(Struct, frozen=True):
    """A generation that is completely written, to be named in the repository's document."""

    manifest: Manifest
    counts: PublishCounts


_WrittenFiles = tuple[tuple[BlockFile, ...], int]
"""The files, and the number of their blocks that the engine did not have."""


class _Difference(Struct, frozen=True):
    """What a publication has to write."""

    files: tuple[int, ...]
    """Ids of the files to write into a new piece."""
    pieces: tuple[Piece, ...]
    """Pieces of the last generation that are kept, with the files in `gone` marked dead."""
    gone: tuple[int, ...] = ()
    """Ids of the last generation's files that have changed or were removed."""


def publish(
    engine: Engine,
    cache: FactsCache,
    *,
    repo_id: str,
    generation: str,
    previous: Manifest | None,
    layout: ProjectLayout,
    project_id: str,
    checkpoint: Callable[[], None] = lambda: None,
) -> Published:
    """Writes the index in `layout`, which nobody else may be writing, as `generation` (a new random name).

    `previous` is a published generation of the repository, of the same ref or a similar one. `checkpoint` is called often and may
    raise, which ends the publication. Raises EngineUnavailable if the engine accepted nothing for the client's patience,
    EngineRefused, and what reading the index and `previous` raises.
    """
    index = WorkspaceIndex(layout, project_id)
    try:
        with index.snapshot() as snapshot, tempfile.TemporaryDirectory(prefix="codecompass-publish-") as scratch:
            _require_complete(snapshot)
            publication = _Publication(engine, repo_id, generation, snapshot, checkpoint)
            return publication.run(cache, previous, layout, Path(scratch))
    finally:
        index.close()


def publish_segments(
    engine: Engine,
    store: SegmentStore,
    *,
    repo_id: str,
    generation: str,
    previous: Manifest | None,
    layout: ProjectLayout,
    project_id: str,
    checkpoint: Callable[[], None] = lambda: None,
) -> PublishedSegments:
    """Writes the files of the index in `layout` to the store, and their list to the engine, as `generation`. Arguments and errors
    as those of `publish`; `previous` must be the generation of a head. Raises StoreUnavailable."""
    index = WorkspaceIndex(layout, project_id)
    try:
        with index.snapshot() as snapshot, tempfile.TemporaryDirectory(prefix="codecompass-publish-") as scratch:
            _require_complete(snapshot)
            written = write_segments(
                store,
                repo_id=repo_id,
                generation=generation,
                snapshot=snapshot,
                layout=layout,
                facts=facts_files(layout),
                previous=() if previous is None else previous.segments,
                scratch=Path(scratch),
                checkpoint=checkpoint,
            )
            manifest = Manifest(
                generation=generation,
                repo_id=repo_id,
                project_id=project_id,
                made_at=time.time(),
                pieces=(),
                files=(),
                averages=Averages(0, 0, (0,) * len(SCORED)),
                meta=snapshot.meta,
                schema_version=SCHEMA_VERSION,
                parser_version=PARSER_VERSION,
                segments=written.files,
            )
        _put_manifest(engine, manifest)
        return PublishedSegments(manifest, written.n_written, written.written_bytes)
    finally:
        index.close()


def _require_complete(snapshot: Snapshot) -> None:
    if snapshot.meta.completeness != "complete":
        raise IndexNotReady("the index is not complete yet. Publish it when its job has ended.")


def _put_manifest(engine: Engine, manifest: Manifest) -> None:
    generation = manifest.generation
    try:
        engine.patiently(lambda: engine.put(engine.names.manifests, generation, manifest.packed(), expected=None))
    except Conflict as error:
        raise ValueError(f"there is a generation {generation} already") from error


class _Publication:
    def __init__(self, engine: Engine, repo_id: str, generation: str, snapshot: Snapshot, checkpoint: Callable[[], None]) -> None:
        self._engine = engine
        self._repo_id = repo_id
        self._generation = generation
        self._snapshot = snapshot
        self._checkpoint = checkpoint
        self._documents = DocumentMaker(repo_id, generation)

    def run(self, cache: FactsCache, previous: Manifest | None, layout: ProjectLayout, scratch: Path) -> Published:
        reading: AbstractContextManager[Path | None] = nullcontext() if previous is None else cache.files_of(previous)
        with reading as known, self._meanwhile(facts_files(layout), previous) as facts:
            difference = self._difference(previous, known)
            n_documents = self._write_documents(difference.files)
            terms = scratch / TERMS_FILE
            counts: Mapping[Term, int] = self._documents.tally.counts()
            is_whole = not difference.pieces
            if not is_whole and known is not None and previous is not None:
                terms.write_bytes((known / TERMS_FILE).read_bytes())
                counts = self._new_counts(previous, known, difference.gone)
            write_term_counts(terms, counts)
            self._engine.refresh(self._engine.names.text)
            files, n_blocks = facts()
        term_files, n_term_blocks = self._write_files({TERMS_FILE: terms}, previous, self._checkpoint)
        pieces = difference.pieces + ((Piece(self._generation, documents=n_documents),) if difference.files else ())
        manifest = Manifest(
            generation=self._generation,
            repo_id=self._repo_id,
            project_id=self._snapshot.project_id,
            made_at=time.time(),
            pieces=pieces,
            files=(*files, *term_files),
            averages=Averages(0, 0, (0,) * len(SCORED)),
            meta=self._snapshot.meta,
            schema_version=SCHEMA_VERSION,
            parser_version=PARSER_VERSION,
        )
        manifest = self._with_averages(manifest, n_documents)
        _put_manifest(self._engine, manifest)
        cost = PublishCounts(len(difference.files), n_documents, n_blocks + n_term_blocks, is_whole)
        return Published(manifest, cost)

    def _difference(self, previous: Manifest | None, known: Path | None) -> _Difference:
        now = self._snapshot.facts.contents()
        whole = _Difference(tuple(now), ())
        if previous is None or known is None or previous.parser_version != PARSER_VERSION or len(previous.pieces) >= MAX_PIECES:
            return whole
        then = _contents(known)
        changed = tuple(file_id for file_id, content in now.items() if then.get(file_id) != content)
        gone = {file_id for file_id, content in then.items() if now.get(file_id) != content}
        pieces = (
            tuple(replace(piece, dead=tuple(sorted({*piece.dead, *gone}))) for piece in previous.pieces)
            if gone
            else previous.pieces
        )
        n_dead = max((len(piece.dead) for piece in pieces), default=0)
        if n_dead > MAX_DEAD_SHARE * max(1, len(now)):
            return whole
        return _Difference(changed, pieces, tuple(sorted(gone)))

    def _write_documents(self, file_ids: tuple[int, ...]) -> int:
        names = self._engine.names

        def documents() -> Iterator[bytes]:
            for start in range(0, len(file_ids), 500):
                files = self._snapshot.facts.indexed_files(file_ids[start : start + 500])
                for file in files.values():
                    self._checkpoint()
                    yield from self._documents_of(file)

        return write_documents(self._engine, names.text, documents(), routing=self._repo_id, checkpoint=self._checkpoint)

    def _documents_of(self, file: IndexedFile) -> Iterator[bytes]:
        chunks = self._snapshot.text.file_chunks(file.id)
        return self._documents.of_file(file, chunks, self._snapshot.facts.symbols_in_file(file.id))

    def _new_counts(self, previous: Manifest, known: Path, gone: Sequence[int]) -> Mapping[Term, int]:
        """Returns the counts over all documents of the generation, for the words in new and removed documents."""
        with (
            closing(connect_to_facts(known / FACTS_FILE).connection) as connection,
            closing(TermCounts(known / TERMS_FILE)) as counts,
        ):
            facts = FactsReader(connection)
            text = EngineText(self._engine, previous, counts, EngineRarities(self._engine))
            lost = DocumentMaker(self._repo_id, "")
            for file in facts.indexed_files(gone).values():
                self._checkpoint()
                for _ in lost.of_file(file, text.file_chunks(file.id), facts.symbols_in_file(file.id)):
                    pass
            won, given = self._documents.tally.counts(), lost.tally.counts()
            return {
                term: counts.count(FIELDS[term[0]], term[1]) + won.get(term, 0) - given.get(term, 0)
                for term in won.keys() | given.keys()
            }

    @contextmanager
    def _meanwhile(self, paths: Mapping[str, Path], previous: Manifest | None) -> Iterator[Callable[[], _WrittenFiles]]:
        """Writes files of facts in a thread while documents are made. Yields a function that waits for the result."""
        is_over = threading.Event()

        def checkpoint() -> None:
            if is_over.is_set():
                raise EngineUnavailable("the publication has ended.")

        with ThreadPoolExecutor(1, thread_name_prefix="facts") as threads:
            try:
                writing = threads.submit(self._write_files, paths, previous, checkpoint)

                def result() -> _WrittenFiles:
                    while not wait((writing,), timeout=LOOK_SECONDS).done:
                        self._checkpoint()
                    return writing.result()

                yield result
            finally:
                is_over.set()

    def _write_files(self, paths: Mapping[str, Path], previous: Manifest | None, checkpoint: Callable[[], None]) -> _WrittenFiles:
        known = {key for file in previous.files for key in file.blocks} if previous is not None else set()
        files, n_written = [], 0
        for name, path in sorted(paths.items()):
            keys: list[bytes] = []
            waiting: dict[bytes, bytes] = {}
            for block in read_blocks(path):
                key = block_key(block)
                keys.append(key)
                if key not in known:
                    known.add(key)
                    waiting[key] = block
                if len(waiting) >= BLOCKS_AT_ONCE:
                    n_written += self._write_blocks(waiting, checkpoint)
                    waiting = {}
            n_written += self._write_blocks(waiting, checkpoint)
            files.append(BlockFile(name, path.stat().st_size, tuple(keys)))
        return tuple(files), n_written

    def _write_blocks(self, blocks: Mapping[bytes, bytes], checkpoint: Callable[[], None]) -> int:
        """Writes blocks to the engine and returns their number."""
        if not blocks:
            return 0
        names = self._engine.names
        actions = (
            b'{"index":{"_id":"%s"}}\n%s\n' % (block_id(self._repo_id, key).encode(), block_document(self._repo_id, block))
            for key, block in blocks.items()
        )
        return write_documents(self._engine, names.blocks, actions, checkpoint=checkpoint)

    def _with_averages(self, manifest: Manifest, n_documents: int) -> Manifest:
        """Returns the manifest with averages counted by the engine, once every copy shows the `n_documents` new documents.

        A copy on a machine that was paused may not be refreshed yet; a copy that joins later is complete before it answers.
        """
        sums: JsonObject = {field: {"sum": {"field": f"n_{field}"}} for field in SCORED}
        sums["chunks"] = {"filter": {"term": {"record": CHUNK_RECORD}}}
        sums["new"] = {"filter": {"term": {"piece": self._generation}}}
        body = {"query": {"bool": {"filter": visible_filters(manifest)}}, "size": 0, "track_total_hits": True, "aggs": sums}

        def counted_by_all() -> JsonObject:
            self._checkpoint()
            said: JsonObject = {}
            for copy in self._engine.copies(self._engine.names.text, self._repo_id):
                said = self._engine.search(self._engine.names.text, body, routing=self._repo_id, copy=copy)
                n_seen = said["aggregations"]["new"]["doc_count"]
                if n_seen < n_documents:
                    raise EngineUnavailable(f"a copy in the search engine has {n_seen:,} of {n_documents:,} new documents yet.")
            if not said:
                raise EngineUnavailable("the search engine has no copy of this repository at the moment.")
            return said

        said = self._engine.patiently(counted_by_all, pause=COPY_SECONDS)
        tokens = tuple(int(said["aggregations"][field]["value"]) for field in SCORED)
        averages = Averages(said["hits"]["total"]["value"], said["aggregations"]["chunks"]["doc_count"], tokens)
        return replace(manifest, averages=averages)


def _contents(directory: Path) -> dict[int, FileContent]:
    with closing(connect_to_facts(directory / FACTS_FILE).connection) as connection:
        return FactsReader(connection).contents()


def facts_files(layout: ProjectLayout) -> dict[str, Path]:
    """Returns the files of the facts by name; nobody may be writing them. Raises IndexNotReady if SQLite's log is not empty."""
    facts = layout.facts(require_compatible(layout).epoch)
    settle(facts)
    if log_size(facts):
        raise IndexNotReady("the index is still being written. Publish it when its job has ended.")
    base = base_path(facts)
    return {FACTS_FILE: facts} | ({BASE_FILE: base} if os.path.lexists(base) else {})
