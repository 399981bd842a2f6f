"""Garbage collection: removes documents from the engine that no generation of a repository needs, under the repository's lease.

Only the holder of the lease can make anything of a repository visible, so a document that is not needed now will never be needed,
whoever wrote it. But a process can be paused anywhere and resume when another one has the lease and has published. So the lease
is confirmed after each listing of documents, and only documents that have not changed since then are removed.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from codecompass.cluster.documents import write_documents
from codecompass.cluster.engine import Engine
from codecompass.cluster.manifests import Manifest, block_id, unpacked
from codecompass.cluster.repositories import MAX_REPOSITORIES, Repositories
from codecompass.cluster.schema import JsonObject
from codecompass.cluster.segments import remove_segments
from codecompass.cluster.stores.segment_store import SegmentStore

MAX_ORPHANS: Final = 100
"""Orphaned repositories handled in one search; the next search finds the others."""


def sweep(
    engine: Engine,
    repo_id: str,
    keep: Collection[str],
    *,
    confirm: Callable[[], object],
    checkpoint: Callable[[], None] = lambda: None,
    store: SegmentStore | None = None,
) -> int:
    """Removes all documents and segments of a repository except those of the generations `keep`, and returns the number removed.

    `keep` are the current generations and recently replaced ones, which running questions may still read. If the manifest of one
    is not found, because a node is behind or it is lost, nothing is removed: what it names would be taken for garbage.
    `confirm` raises if the lease is lost; `checkpoint` is called often and may raise.
    Raises EngineUnavailable, IndexDamaged if a manifest of `keep` cannot be read.
    """
    names = engine.names
    kept = _manifests(engine, keep)
    if len(kept) < len(keep):
        return 0
    for index in (names.manifests, names.blocks, names.text):
        engine.refresh(index)
    pieces = sorted({piece.id for manifest in kept for piece in manifest.pieces})
    blocks = {block_id(repo_id, key) for manifest in kept for file in manifest.files for key in file.blocks}
    own: JsonObject = {"term": {"repo_id": repo_id}}
    unread: JsonObject = {"bool": {"filter": own, "must_not": {"terms": {"piece": pieces}}}}
    n_removed = 0
    if store is not None:
        n_removed += remove_segments(store, repo_id, [file for each in kept for file in each.segments], confirm, checkpoint)
    # Manifests last: without them, what they name could not be told from what is still needed.
    for index, query, routing, spared in (
        (names.text, unread, repo_id, frozenset()),
        (names.blocks, own, "", blocks),
        (names.manifests, own, "", frozenset(keep)),
    ):
        found = _confirmed(engine.all_hits(index, query, routing=routing), confirm)
        actions = (_deletion(hit) for hit in found if hit["_id"] not in spared)
        n_removed += write_documents(engine, index, actions, routing=routing, checkpoint=checkpoint)
    return n_removed


def add_tombstones(engine: Engine, repositories: Repositories, store: SegmentStore | None = None) -> list[str]:
    """Makes workers remove documents and segments of repositories that do not exist, and returns the ids of these repositories.
    Such documents are written by a worker that was paused while its repository was removed and swept, and resumed afterwards.

    The document of the removed repository is created again, and the rest is as after any removal: after the grace a worker sweeps
    under a lease and deletes the document. So a repository that is added again meanwhile loses nothing.
    Raises EngineUnavailable.
    """
    found: set[str] = set() if store is None else set(store.repositories())
    for index in (engine.names.text, engine.names.blocks, engine.names.manifests):
        # Recently deleted documents must not be found.
        engine.refresh(index, is_patient=False)
        ids: JsonObject = {"terms": {"field": "repo_id", "size": 2 * MAX_REPOSITORIES}}
        said = engine.search(index, {"size": 0, "track_total_hits": False, "aggs": {"ids": ids}})
        found.update(bucket["key"] for bucket in said["aggregations"]["ids"]["buckets"])
    # Listed afterwards, because a repository's documents are written after its own document.
    known = {each.repo_id for each in repositories.listed(with_removed=True, is_current=True)}
    return [repo_id for repo_id in sorted(found - known)[:MAX_ORPHANS] if repositories.add_tombstone(repo_id)]


def _manifests(engine: Engine, generations: Collection[str]) -> list[Manifest]:
    found = engine.get_many(engine.names.manifests, sorted(generations))
    return [unpacked(generation, source["data"]) for generation, source in found.items()]


def _confirmed(hits: Iterator[JsonObject], confirm: Callable[[], object]) -> Iterator[JsonObject]:
    """Yields `hits`, after confirming that nobody else can have published before they were listed."""
    for number, hit in enumerate(hits):
        if number == 0:
            confirm()
        yield hit


def _deletion(hit: JsonObject) -> bytes:
    """Returns the action that deletes a document unless it was written again: a block with the same content has the same id."""
    condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return msgspec.json.encode({"delete": {"_id": hit["_id"], **condition}}) + b"\n"
