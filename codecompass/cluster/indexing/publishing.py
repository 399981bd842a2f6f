"""Publishes an index: its finished files become objects in the store of segments, and their list a manifest in the engine.

    text/*      the files of tantivy's index
    facts.db    symbols, imports and files, with base.db if they are the overlay of a fork
    history/*   a repository of the newest commits, of a default branch (`histories.py`)
    words       which words the index has (`word_summary.py`), from which repositories are selected

A file that the previous generation has too is not written again: tantivy's files never change, and the base of a fork is shared.
An object lies under the generation that wrote it. Later generations refer to it only while a head does, so that a worker whose
lease was lost can only remove what no head needs, however late it resumes.
"""

import os
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import Conflict
from codecompass.cluster.indexing.histories import History, history_files
from codecompass.cluster.repositories.manifests import BASE_FILE, FACTS_FILE, Manifest, SegmentFile
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import IndexNotReady
from codecompass.store.databases import base_path, log_size, settle
from codecompass.store.epochs import require_compatible
from codecompass.store.facts_record import digest_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.store.word_summary import summary_of

TEXT: Final = "text"
WORDS: Final = "words"

NO_STAMP: Final = (0, 0, 0)
"""The stamp of a published summary: it belongs to a generation, which never changes."""


class WrittenSegments(Struct, frozen=True):
    """The files of a generation, and how much of them was written now."""

    files: tuple[SegmentFile, ...]
    n_written: int
    written_bytes: int


class Published(Struct, frozen=True):
    """A generation that is completely written, to be named in the repository's document."""

    manifest: Manifest
    n_written: int
    """Files that the store did not have."""
    written_bytes: int


def publish(
    engine: Engine,
    store: SegmentStore,
    *,
    repo_id: str,
    generation: str,
    previous: Manifest | None,
    layout: ProjectLayout,
    project_id: str,
    history: History | None = None,
    checkpoint: Callable[[], None] = lambda: None,
) -> Published:
    """Writes the files of the index in `layout`, which nobody else may be writing, to the store, and their list to the engine, as
    `generation` (a new random name).

    `previous` is the generation of a head of the repository, of the same ref or a similar one. `history` is published with it.
    `checkpoint` is called before each file and may raise, which ends the publication. Raises StoreUnavailable, EngineUnavailable
    if the engine accepted nothing for the client's patience, EngineRefused, and what reading the index raises.
    """
    index = WorkspaceIndex(layout, project_id)
    try:
        with index.snapshot() as snapshot, tempfile.TemporaryDirectory(prefix="codecompass-publish-") as scratch:
            if snapshot.meta.completeness != "complete":
                raise IndexNotReady("the index is not complete yet. Publish it when its job has ended.")
            written = write_segments(
                store,
                repo_id=repo_id,
                generation=generation,
                snapshot=snapshot,
                layout=layout,
                facts=facts_files(layout),
                history=history,
                previous=() if previous is None else previous.segments,
                scratch=Path(scratch),
                checkpoint=checkpoint,
            )
            manifest = Manifest(
                generation=generation,
                repo_id=repo_id,
                project_id=project_id,
                made_at=time.time(),
                meta=snapshot.meta,
                schema_version=SCHEMA_VERSION,
                parser_version=PARSER_VERSION,
                segments=written.files,
            )
        try:
            engine.patiently(lambda: engine.put(engine.names.manifests, generation, manifest.packed(), expected=None))
        except Conflict as error:
            raise ValueError(f"there is a generation {generation} already") from error
        return Published(manifest, written.n_written, written.written_bytes)
    finally:
        index.close()


def write_segments(
    store: SegmentStore,
    *,
    repo_id: str,
    generation: str,
    snapshot: Snapshot,
    layout: ProjectLayout,
    facts: Mapping[str, Path],
    history: History | None = None,
    previous: Collection[SegmentFile],
    scratch: Path,
    checkpoint: Callable[[], None],
) -> WrittenSegments:
    """Writes the files of an index that the store does not have yet; nobody may be writing that index.

    `previous` are the files of a head of the same repository. `facts` are the files of the facts by name. `checkpoint` is called
    before each file and may raise. Raises StoreUnavailable, OSError and what reading the index raises.
    """
    known = {each.digest: each for each in previous}
    files: list[SegmentFile] = []
    n_written = written_bytes = 0
    for name, path, digest in _files(snapshot, layout, facts, history, scratch):
        checkpoint()
        size = path.stat().st_size
        before = known.get(digest)
        if before is not None and store.size(before.key) == size:
            files.append(SegmentFile(name, size, digest, before.key))
            continue
        key = f"{repo_id}/{generation}/{digest.hex()}"
        store.put(key, path)
        known[digest] = SegmentFile(name, size, digest, key)
        files.append(known[digest])
        n_written += 1
        written_bytes += size
    return WrittenSegments(tuple(files), n_written, written_bytes)


def _files(
    snapshot: Snapshot, layout: ProjectLayout, facts: Mapping[str, Path], history: History | None, scratch: Path
) -> Iterator[tuple[str, Path, bytes]]:
    """Yields the name, path and digest of each file."""
    text = layout.text(require_compatible(layout).epoch, snapshot.meta.generation)
    for file in snapshot.facts.text_files():
        yield f"{TEXT}/{file.name}", text / file.name, file.digest
    for name, path in facts.items():
        yield name, path, digest_of(path)
    summary = scratch / WORDS
    summary.write_bytes(summary_of(snapshot, NO_STAMP))
    yield WORDS, summary, digest_of(summary)
    for name, path in () if history is None else history_files(history, scratch):
        yield name, path, digest_of(path)


def facts_files(layout: ProjectLayout) -> dict[str, Path]:
    """Returns the files of the facts by name; nobody may be writing them. Raises IndexNotReady if SQLite's log is not empty."""
    facts = layout.facts(require_compatible(layout).epoch)
    settle(facts)
    if log_size(facts):
        raise IndexNotReady("the index is still being written. Publish it when its job has ended.")
    base = base_path(facts)
    return {FACTS_FILE: facts} | ({BASE_FILE: base} if os.path.lexists(base) else {})
