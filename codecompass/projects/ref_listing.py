"""What `list_refs` answers: what is checked out, which commits have an index, and which branches and tags there are."""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from codecompass.errors import RefNotIndexed
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.requests import ListRefs
from codecompass.protocol.state_replies import IndexedRef, ListedRef, ListRefsReply, WorkingTree
from codecompass.protocol.times import iso_time
from codecompass.scan.git_repository import GitCancelled, GitError, find_repository, read_head
from codecompass.scan.git_revisions import RepositoryRefs, read_refs
from codecompass.store.commit_indexes import commit_indexes
from codecompass.store.inspection import inspect_index
from codecompass.store.layout import ProjectLayout

MAX_NAMES: Final = 5
"""Names of one commit that are listed with its index."""


def refs_of(root: Path, is_cancelled: Callable[[], bool] | None = None) -> RepositoryRefs:
    """Returns the refs of the repository around `root`, none without one. Blocking; raises RefNotIndexed where git fails."""
    repository = find_repository(os.path.realpath(root))
    if repository is None:
        return RepositoryRefs((), "")
    try:
        return read_refs(repository, is_cancelled=is_cancelled)
    except (GitError, GitCancelled) as error:
        raise RefNotIndexed(
            f"the branches and tags cannot be listed: {error}. Questions without ref are answered all the same."
        ) from error


def list_refs(
    request: ListRefs, root: Path, layout: ProjectLayout, refs: RepositoryRefs, metadata: BareMetadata
) -> ListRefsReply:
    """Returns the reply for a project at `root` with its store in `layout`. Blocking."""
    head = read_head(str(root))
    meta = inspect_index(layout).meta
    names: dict[str, list[str]] = defaultdict(list)
    for ref in refs.refs:
        names[ref.commit].append(ref.name)
    indexed = tuple(
        IndexedRef(
            commit=index.commit,
            names=tuple(names[index.commit][:MAX_NAMES]),
            file_count=index.file_count,
            symbol_count=index.symbol_count,
            disk_bytes=index.disk_bytes,
        )
        for index in commit_indexes(layout)
    )
    wanted = (request.filter or "").lower()
    found = [ref for ref in refs.refs if wanted in ref.name.lower()]
    kept = {index.commit for index in indexed}
    return ListRefsReply(
        current=WorkingTree(
            ref=head.ref,
            commit=head.commit or "",
            indexed_ref="" if meta is None else meta.ref,
            indexed_commit="" if meta is None else meta.commit,
            file_count=0 if meta is None else meta.file_count,
            symbol_count=0 if meta is None else meta.symbol_count,
        ),
        default_branch=refs.default_branch,
        indexed=indexed,
        refs=tuple(
            ListedRef(
                name=ref.name,
                kind=ref.kind,
                commit=ref.commit,
                committed_at=iso_time(ref.committed_at),
                is_indexed=ref.commit in kept,
            )
            for ref in found[: request.limit]
        ),
        total_refs=len(found),
        metadata=metadata,
    )
