"""What no generation of a repository needs: removed from the engine by the holder of the repository's lease.

Whoever holds the lease is the only one who can make anything of a repository visible, so what is not kept now is never needed
again, whoever wrote it. But a process can be stopped anywhere, and go on when another one has the lease and has published: so the
lease is confirmed after each look at what there is, and only what is still as it was then is removed.
"""

from collections.abc import Callable, Collection, Iterator
from typing import Final

import msgspec

from codecompass.cluster.bulk import write_documents
from codecompass.cluster.engine import Engine, JsonObject
from codecompass.cluster.facts_cache import block_id
from codecompass.cluster.manifests import Manifest, unpacked
from codecompass.cluster.repositories import MAX_REPOSITORIES, Repositories

MAX_ORPHANS: Final = 100
"""Of one look for them; the next one finds the others."""


def sweep(
    engine: Engine,
    repo_id: str,
    keep: Collection[str],
    *,
    confirm: Callable[[], object],
    checkpoint: Callable[[], None] = lambda: None,
) -> int:
    """Removes everything of a repository but the generations `keep`, and returns how many documents that were.

    `keep` are those that are named now, and those that were until lately: questions that began before may still read them. Where
    one of them is not seen, on a node that is behind or because it is lost, nothing is removed: what it names would be taken for
    rubbish. `confirm` raises where the lease is lost; `checkpoint` is called often and may raise.
    Raises EngineUnavailable, IndexDamaged where a manifest of `keep` cannot be read.
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
    # Manifests last: what they name would be rubbish without a trace.
    for index, query, routing, spared in (
        (names.text, unread, repo_id, frozenset()),
        (names.blocks, own, "", blocks),
        (names.manifests, own, "", frozenset(keep)),
    ):
        found = _confirmed(engine.found(index, query, routing=routing), confirm)
        actions = (_deletion(hit) for hit in found if hit["_id"] not in spared)
        n_removed += write_documents(engine, index, actions, routing=routing, checkpoint=checkpoint)
    return n_removed


def bury_orphans(engine: Engine, repositories: Repositories) -> list[str]:
    """Has workers remove what nothing in the list of repositories knows, and returns the ids that it has: a worker wrote it that
    was stopped while its repository was removed and swept, and that went on afterwards.

    The document of the removed repository is made again, and everything else is as after any removal: after the grace a worker
    sweeps under a lease, and deletes the document. So a repository that is added again meanwhile keeps all.
    Raises EngineUnavailable.
    """
    found: set[str] = set()
    for index in (engine.names.text, engine.names.blocks, engine.names.manifests):
        # What was deleted a moment ago is nobody's rubbish.
        engine.refresh(index, is_patient=False)
        ids: JsonObject = {"terms": {"field": "repo_id", "size": 2 * MAX_REPOSITORIES}}
        said = engine.search(index, {"size": 0, "track_total_hits": False, "aggs": {"ids": ids}})
        found.update(bucket["key"] for bucket in said["aggregations"]["ids"]["buckets"])
    # Listed after that: what a repository has was written after its document.
    known = {each.repo_id for each in repositories.listed(with_removed=True, is_current=True)}
    return [repo_id for repo_id in sorted(found - known)[:MAX_ORPHANS] if repositories.bury(repo_id)]


def _manifests(engine: Engine, generations: Collection[str]) -> list[Manifest]:
    found = engine.get_many(engine.names.manifests, sorted(generations))
    return [unpacked(generation, source["data"]) for generation, source in found.items()]


def _confirmed(hits: Iterator[JsonObject], confirm: Callable[[], object]) -> Iterator[JsonObject]:
    """Yields `hits`, once it is confirmed that nobody else can have published when they were looked up."""
    for number, hit in enumerate(hits):
        if number == 0:
            confirm()
        yield hit


def _deletion(hit: JsonObject) -> bytes:
    """The action that deletes a document unless it was written again: a block of the same content has the same id."""
    condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return msgspec.json.encode({"delete": {"_id": hit["_id"], **condition}}) + b"\n"
