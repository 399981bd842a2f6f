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
from collections.abc import Callable, Iterator
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


class NewGeneration(Struct, frozen=True, kw_only=True):
    """What is to be published as a generation."""

    repo_id: str
    generation: str
    """A new random name."""
    layout: ProjectLayout
    """Where the index is, which nobody else may be writing."""
    project_id: str
    """That of the index."""
    previous: Manifest | None = None
    """The generation of a head of the repository, of the same ref or a similar one, with which files are shared."""
    history: History | None = None


class Published(Struct, frozen=True):
    """A generation that is completely written, to be named in the repository's document."""

    manifest: Manifest
    n_written: int
    """Files that the store did not have."""
    written_bytes: int


def publish(engine: Engine, store: SegmentStore, new: NewGeneration, checkpoint: Callable[[], None] = lambda: None) -> Published:
    """Writes the files of an index to the store, and their list to the engine.

    `checkpoint` is called before each file and may raise, which ends the publication. Raises StoreUnavailable, EngineUnavailable
    if the engine accepted nothing for the client's patience, EngineRefused, and what reading the index raises.
    """
    written = write_generation(store, new, checkpoint)
    names, manifest = engine.names, written.manifest
    try:
        engine.patiently(lambda: engine.put(names.manifests, new.generation, manifest.packed(), expected=None))
    except Conflict as error:
        raise ValueError(f"there is a generation {new.generation} already") from error
    return written


def write_generation(store: SegmentStore, new: NewGeneration, checkpoint: Callable[[], None] = lambda: None) -> Published:
    """Writes the files of an index that the store does not have yet, as `publish` does; their list is not stored."""
    index = WorkspaceIndex(new.layout, new.project_id)
    try:
        with index.snapshot() as snapshot, tempfile.TemporaryDirectory(prefix="codecompass-publish-") as scratch:
            if snapshot.meta.completeness != "complete":
                raise IndexNotReady("the index is not complete yet. Publish it when its job has ended.")
            return _written(store, new, snapshot, Path(scratch), checkpoint)
    finally:
        index.close()


def _written(
    store: SegmentStore, new: NewGeneration, snapshot: Snapshot, scratch: Path, checkpoint: Callable[[], None]
) -> Published:
    known = {each.digest: each for each in (() if new.previous is None else new.previous.segments)}
    files: list[SegmentFile] = []
    n_written = written_bytes = 0
    for name, path, digest in _files(new, snapshot, scratch):
        checkpoint()
        size = path.stat().st_size
        before = known.get(digest)
        if before is not None and store.size(before.key) == size:
            files.append(SegmentFile(name, size, digest, before.key))
            continue
        key = f"{new.repo_id}/{new.generation}/{digest.hex()}"
        store.put(key, path)
        known[digest] = SegmentFile(name, size, digest, key)
        files.append(known[digest])
        n_written += 1
        written_bytes += size
    manifest = Manifest(
        generation=new.generation,
        repo_id=new.repo_id,
        project_id=new.project_id,
        made_at=time.time(),
        meta=snapshot.meta,
        schema_version=SCHEMA_VERSION,
        parser_version=PARSER_VERSION,
        segments=tuple(files),
    )
    return Published(manifest, n_written, written_bytes)


def _files(new: NewGeneration, snapshot: Snapshot, scratch: Path) -> Iterator[tuple[str, Path, bytes]]:
    """Yields the name, path and digest of each file."""
    layout = new.layout
    # Before anything is written, because SQLite's log may not be empty.
    facts = _facts_files(layout)
    text = layout.text(require_compatible(layout).epoch, snapshot.meta.generation)
    for file in snapshot.facts.text_files():
        yield f"{TEXT}/{file.name}", text / file.name, file.digest
    for name, path in facts.items():
        yield name, path, digest_of(path)
    summary = scratch / WORDS
    summary.write_bytes(summary_of(snapshot, NO_STAMP))
    yield WORDS, summary, digest_of(summary)
    for name, path in () if new.history is None else history_files(new.history, scratch):
        yield name, path, digest_of(path)


def _facts_files(layout: ProjectLayout) -> dict[str, Path]:
    """Returns the files of the facts by name. Raises IndexNotReady if SQLite's log is not empty."""
    facts = layout.facts(require_compatible(layout).epoch)
    settle(facts)
    if log_size(facts):
        raise IndexNotReady("the index is still being written. Publish it when its job has ended.")
    base = base_path(facts)
    return {FACTS_FILE: facts} | ({BASE_FILE: base} if os.path.lexists(base) else {})
