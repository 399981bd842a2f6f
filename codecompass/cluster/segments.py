"""Segments of a generation: the finished files of its index, written to the store by a worker and listed in the manifest.

    text/*      the files of tantivy's index
    facts.db    symbols, imports and files, with base.db if they are the overlay of a fork
    words       which words the index has (`word_summary.py`), from which repositories are selected

A file that the previous generation has too is not written again: tantivy's files never change, and the base of a fork is shared.
An object lies under the generation that wrote it. Later generations refer to it only while a head does, so that a worker whose
lease was lost can only remove what no head needs, however late it resumes.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cluster.manifests import SegmentFile
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.store.epochs import require_compatible
from codecompass.store.facts_record import digest_of
from codecompass.store.layout import ProjectLayout
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


def write_segments(
    store: SegmentStore,
    *,
    repo_id: str,
    generation: str,
    snapshot: Snapshot,
    layout: ProjectLayout,
    facts: Mapping[str, Path],
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
    for name, path, digest in _files(snapshot, layout, facts, scratch):
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


def remove_segments(
    store: SegmentStore,
    repo_id: str,
    kept: Collection[SegmentFile],
    confirm: Callable[[], object],
    checkpoint: Callable[[], None],
) -> int:
    """Removes the objects of a repository except those of the files `kept`, and returns their number. `confirm` raises if the
    lease is lost. Raises StoreUnavailable."""
    needed = {each.key for each in kept}
    gone = [key for key in store.keys(repo_id) if key not in needed]
    if gone:
        confirm()
    for key in gone:
        checkpoint()
        store.remove(key)
    return len(gone)


def _files(
    snapshot: Snapshot, layout: ProjectLayout, facts: Mapping[str, Path], scratch: Path
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
