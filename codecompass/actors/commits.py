"""The refs of a project: which commit a ref names, whether that commit has an index, and the reply of `list_refs`.

Shared by the server and the command line. Blocking, without an event loop.
"""

import os
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from codecompass.actors.index_limits import IndexLimits
from codecompass.errors import CodeCompassError, RefNotIndexed
from codecompass.formatting import iso_time
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.requests import ListRefs
from codecompass.protocol.state_replies import IndexedRef, ListedRef, ListRefsReply, WorkingTree
from codecompass.scan.git_failures import explained
from codecompass.scan.git_repository import NO_REF, GitCancelled, GitError, find_repository, read_head, why_not
from codecompass.scan.git_revisions import NamedCommit, RepositoryRefs, read_refs, resolve_commit
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.store.commit_indexes import commit_indexes
from codecompass.store.index import inspect_index
from codecompass.store.layout import ProjectLayout
from codecompass.store.snapshot import IndexMeta

NO_REPOSITORY: Final = (
    "this workspace is in no git repository, so it has no refs. Leave ref out: the answer is about the files as they are."
)

MAX_NAMES: Final = 5
"""Refs of a commit that are listed with its index."""


def named_commit(root: Path, ref: str, field: str = "ref", roots: GitRoots = ANYWHERE) -> NamedCommit | None:
    """Returns the commit that `ref` names in the repository around `root`; None if `ref` is NO_REF and there is no repository.

    Blocking; `field` is the argument's name, for errors. A repository that leads out of `roots` is none.
    Raises the same errors as `resolve_commit`, and RefNotIndexed if there is no repository or git fails.
    """
    repository = find_repository(os.path.realpath(root), roots)
    if repository is None:
        if ref == NO_REF:
            return None
        reason = why_not(os.path.realpath(root), roots)
        refused = f" The repository that it is in is not used, because {reason}." if reason else ""
        raise RefNotIndexed(NO_REPOSITORY + refused, ref=ref)
    try:
        return resolve_commit(repository, ref, field=field)
    except GitError as error:
        raise RefNotIndexed(
            f"{field}: git cannot resolve {ref!r}: {explained(error)} Leave {field} out to ask about the working tree.", ref=ref
        ) from error


def refs_of(root: Path, is_cancelled: Callable[[], bool] | None = None, roots: GitRoots = ANYWHERE) -> RepositoryRefs:
    """Returns the refs of the repository around `root`, none without one. Blocking. Raises RefNotIndexed if git fails."""
    repository = find_repository(os.path.realpath(root), roots)
    if repository is None:
        return RepositoryRefs((), "")
    try:
        return read_refs(repository, is_cancelled=is_cancelled)
    except (GitError, GitCancelled) as error:
        cause = explained(error) if isinstance(error, GitError) else "the call was cancelled."
        raise RefNotIndexed(
            f"the branches and tags cannot be listed: {cause} Questions without ref are answered all the same."
        ) from error


def list_refs(
    request: ListRefs,
    root: Path,
    layout: ProjectLayout,
    refs: RepositoryRefs,
    metadata: BareMetadata,
    roots: GitRoots = ANYWHERE,
) -> ListRefsReply:
    """Returns the reply for the project at `root` whose store is in `layout`. Blocking."""
    head = read_head(str(root), roots)
    reason = why_not(os.path.realpath(root), roots)
    if reason:
        metadata = replace(metadata, warnings=(*metadata.warnings, f"git is not used here: {reason}"))
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


def built_index(layout: ProjectLayout, commit: NamedCommit, limits: IndexLimits) -> IndexMeta | None:
    """Returns the metadata of the index in `layout`; None unless it is a complete index of this commit, built by these limits.

    Blocking. Never raises: an unreadable index is rebuilt.
    """
    return fitting(inspect_index(layout).meta, commit, limits)


def fitting(meta: IndexMeta | None, commit: NamedCommit, limits: IndexLimits) -> IndexMeta | None:
    """Returns `meta` if it describes a complete index of this commit, built by these limits; else None."""
    if meta is None or meta.completeness != "complete":
        return None
    return meta if (meta.commit, meta.rules_fingerprint) == (commit.commit, limits.fingerprint) else None


def unreadable(commit: NamedCommit, error: GitError) -> CodeCompassError:
    """Returns the error for a repository that git cannot read."""
    return RefNotIndexed(
        f"{commit.name} cannot be read: {explained(error)} Leave ref out to ask about the working tree, or repair the repository "
        "(git fsck shows what is wrong) and call again.",
        ref=commit.name,
    )
