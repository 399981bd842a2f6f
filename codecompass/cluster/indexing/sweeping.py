"""Garbage collection: removes manifests and objects that no generation of a repository needs, under the repository's lease.

Only the holder of the lease can make anything of a repository visible, so what is not needed now will never be needed, whoever
wrote it. But a process can be paused anywhere and resume when another one has the lease and has published. So the lease is
confirmed after each listing; of what was written meanwhile nothing is removed, because a generation's objects are its own.
"""

from collections.abc import Callable, Collection
from typing import Final

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.schema import JsonObject
from codecompass.cluster.repositories.documents import MAX_REPOSITORIES, Repositories
from codecompass.cluster.repositories.manifests import Manifest, SegmentFile, unpacked
from codecompass.cluster.stores.segment_store import SegmentStore

MAX_ORPHANS: Final = 100
"""Orphaned repositories handled in one search; the next search finds the others."""


def sweep(
    engine: Engine,
    store: SegmentStore,
    repo_id: str,
    keep: Collection[str],
    *,
    confirm: Callable[[], object],
    checkpoint: Callable[[], None] = lambda: None,
) -> int:
    """Removes all manifests and objects of a repository except those of the generations `keep`, and returns the number removed.

    `keep` are the current generations and recently replaced ones, which running questions may still read. If the manifest of one
    is not found, because a node is behind or it is lost, nothing is removed: what it names would be taken for garbage.
    `confirm` raises if the lease is lost; `checkpoint` is called often and may raise.
    Raises EngineUnavailable, StoreUnavailable, IndexDamaged if a manifest of `keep` cannot be read.
    """
    manifests = engine.names.manifests
    kept = _manifests(engine, keep)
    if len(kept) < len(keep):
        return 0
    n_removed = remove_segments(store, repo_id, [file for each in kept for file in each.segments], confirm, checkpoint)
    # Manifests last: without them, what they name could not be told from what is still needed.
    engine.refresh(manifests)
    gone = [each for each in engine.documents(manifests, {"term": {"repo_id": repo_id}}) if each.id not in keep]
    if gone:
        confirm()
    for each in gone:
        checkpoint()
        engine.delete(manifests, each.id)
    return n_removed + len(gone)


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


def add_tombstones(engine: Engine, repositories: Repositories, store: SegmentStore) -> list[str]:
    """Makes workers remove manifests and objects of repositories that do not exist, and returns the ids of these repositories.
    Such are written by a worker that was paused while its repository was removed and swept, and resumed afterwards.

    The document of the removed repository is created again, and the rest is as after any removal: after the grace a worker sweeps
    under a lease and deletes the document. So a repository that is added again meanwhile loses nothing.
    Raises EngineUnavailable, StoreUnavailable.
    """
    found = set(store.repositories())
    manifests = engine.names.manifests
    # Recently deleted documents must not be found.
    engine.refresh(manifests, is_patient=False)
    ids: JsonObject = {"terms": {"field": "repo_id", "size": 2 * MAX_REPOSITORIES}}
    said = engine.search(manifests, {"size": 0, "track_total_hits": False, "aggs": {"ids": ids}})
    found.update(bucket["key"] for bucket in said["aggregations"]["ids"]["buckets"])
    # Listed afterwards, because a repository's documents are written after its own document.
    known = {each.repo_id for each in repositories.listed(with_removed=True, is_current=True)}
    return [repo_id for repo_id in sorted(found - known)[:MAX_ORPHANS] if repositories.add_tombstone(repo_id)]


def _manifests(engine: Engine, generations: Collection[str]) -> list[Manifest]:
    found = engine.get_many(engine.names.manifests, sorted(generations))
    return [unpacked(generation, source["data"]) for generation, source in found.items()]
