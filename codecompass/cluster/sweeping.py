"""Removes from the engine what no generation of a repository needs. Only for the holder of the repository's lease.

Whoever holds the lease is the only one who can make anything of a repository visible, so what is not kept now is never needed
again, whoever wrote it. But a process can be stopped anywhere, and go on when another one has the lease and has published: so the
lease is confirmed after each look at what there is, and only what is still as it was then is removed.
"""

from collections.abc import Callable, Collection, Iterator

import msgspec

from codecompass.cluster.engine import MAX_LISTED, Engine, JsonObject
from codecompass.cluster.facts_cache import block_id
from codecompass.cluster.manifests import Manifest, unpacked


def sweep(
    engine: Engine,
    repo_id: str,
    keep: Collection[str],
    *,
    confirm: Callable[[], object],
    checkpoint: Callable[[], None] = lambda: None,
) -> int:
    """Removes everything of a repository but the generations `keep`, and returns how many documents that were.

    `keep` are those that are named now, and those that were until lately: questions that began before may still read them.
    `confirm` raises where the lease is lost; `checkpoint` is called often and may raise.
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
    rest = _Rest(engine, repo_id, confirm, checkpoint)
    # Manifests last: what they name would be rubbish without a trace.
    n_removed = rest.remove(names.text, unread, frozenset(), routing=repo_id)
    n_removed += rest.remove(names.blocks, own, blocks)
    return n_removed + rest.remove(names.manifests, own, frozenset(keep))


def _manifests(engine: Engine, generations: Collection[str]) -> list[Manifest]:
    found = engine.get_many(engine.names.manifests, sorted(generations))
    return [unpacked(generation, source["data"]) for generation, source in found.items()]


class _Rest:
    """Removes documents in views that were opened while the lease was held."""

    def __init__(self, engine: Engine, repo_id: str, confirm: Callable[[], object], checkpoint: Callable[[], None]) -> None:
        self._engine = engine
        self._repo_id = repo_id
        self._confirm = confirm
        self._checkpoint = checkpoint

    def remove(self, index: str, query: JsonObject, spared: Collection[str], *, routing: str = "") -> int:
        """Removes what a query finds, but those ids, and returns how many that were."""
        actions = (_deletion(hit) for hit in self._found(index, query, routing) if hit["_id"] not in spared)
        return self._engine.bulk(index, actions, routing=routing, checkpoint=self._checkpoint)

    def _found(self, index: str, query: JsonObject, routing: str) -> Iterator[JsonObject]:
        opened = self._engine.open_view(index, routing=routing)
        try:
            # After the view: all that is in it was there while nobody else could publish.
            self._confirm()
            after: list[object] | None = None
            while True:
                body: JsonObject = {
                    "query": query,
                    "size": MAX_LISTED,
                    "_source": False,
                    "seq_no_primary_term": True,
                    # A view of one shard, so the order of its documents tells them apart.
                    "sort": ["_doc"],
                }
                if after is not None:
                    body["search_after"] = after
                hits = self._engine.search_view(opened, body)
                yield from hits
                if len(hits) < MAX_LISTED:
                    return
                after = hits[-1]["sort"]
        finally:
            self._engine.close_view(opened)


def _deletion(hit: JsonObject) -> bytes:
    """The action that deletes a document unless it was written again: a block of the same content has the same id."""
    condition = {"if_seq_no": hit["_seq_no"], "if_primary_term": hit["_primary_term"]}
    return msgspec.json.encode({"delete": {"_id": hit["_id"], **condition}}) + b"\n"
