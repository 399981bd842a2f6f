"""What nothing in the organisation's list of repositories knows: written by a worker that was stopped while its repository was
removed and swept, and that went on afterwards.

The document of a removed repository is made again, and everything else is as after any removal: after the grace a worker sweeps
under a lease, and deletes the document. So nothing is removed here, and a repository that is added again meanwhile keeps all.
"""

from typing import Final

from codecompass.cluster.engine import Engine, JsonObject
from codecompass.cluster.repositories import MAX_REPOSITORIES, Repositories

MAX_ORPHANS: Final = 100
"""Of one look; the next one finds the others."""


def bury_orphans(engine: Engine, repositories: Repositories) -> list[str]:
    """Has workers remove what no repository knows. Returns the ids that it has. Raises EngineUnavailable."""
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
