"""Removes from the engine what no generation of a repository needs. Only for the holder of the repository's lease.

Whoever holds the lease is the only one who can make anything of a repository visible, so what is not kept now is never needed
again, whoever wrote it.
"""

from collections.abc import Callable, Collection, Iterator

import msgspec

from codecompass.cluster.engine import MAX_LISTED, Engine, JsonObject
from codecompass.cluster.facts_cache import block_id
from codecompass.cluster.manifests import Manifest, unpacked


def sweep(engine: Engine, repo_id: str, keep: Collection[str], checkpoint: Callable[[], None] = lambda: None) -> int:
    """Removes everything of a repository but the generations `keep`, and returns how many documents that were.

    `keep` are those that are named now, and those that were until lately: questions that began before may still read them.
    Raises EngineUnavailable, IndexDamaged where a manifest of `keep` cannot be read.
    """
    names = engine.names
    kept = _manifests(engine, keep)
    for index in (names.manifests, names.blocks, names.text):
        engine.refresh(index)
    pieces = sorted({piece.id for manifest in kept for piece in manifest.pieces})
    blocks = {block_id(repo_id, key) for manifest in kept for file in manifest.files for key in file.blocks}
    own: JsonObject = {"term": {"repo_id": repo_id}}
    unread = {"bool": {"filter": own, "must_not": {"terms": {"piece": pieces}}}}
    # Manifests last: what they name would be rubbish without a trace.
    n_removed = _remove(engine, names.text, _found(engine, names.text, unread, repo_id), repo_id, checkpoint)
    unused = (name for name in _found(engine, names.blocks, own, "") if name not in blocks)
    n_removed += _remove(engine, names.blocks, unused, "", checkpoint)
    others = (name for name in _found(engine, names.manifests, own, "") if name not in keep)
    return n_removed + _remove(engine, names.manifests, others, "", checkpoint)


def _manifests(engine: Engine, generations: Collection[str]) -> list[Manifest]:
    found = engine.get_many(engine.names.manifests, sorted(generations))
    return [unpacked(generation, source["data"]) for generation, source in found.items()]


def _found(engine: Engine, index: str, query: JsonObject, routing: str) -> Iterator[str]:
    """Yields the ids of the documents that a query finds."""
    opened = engine.open_view(index, routing=routing)
    try:
        after: list[object] | None = None
        while True:
            body: JsonObject = {"query": query, "size": MAX_LISTED, "_source": False, "sort": ["_shard_doc"]}
            if after is not None:
                body["search_after"] = after
            hits = engine.search_view(opened, body)
            yield from (hit["_id"] for hit in hits)
            if len(hits) < MAX_LISTED:
                return
            after = hits[-1]["sort"]
    finally:
        engine.close_view(opened)


def _remove(engine: Engine, index: str, names: Iterator[str], routing: str, checkpoint: Callable[[], None]) -> int:
    actions = (msgspec.json.encode({"delete": {"_id": name}}) + b"\n" for name in names)
    return engine.bulk(index, actions, routing=routing, checkpoint=checkpoint)
