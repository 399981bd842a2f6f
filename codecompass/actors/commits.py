"""Steps between a ref and the index of its commit that the server and the command line share. Without an event loop."""

import os
from pathlib import Path
from typing import Final

from codecompass.actors.index_limits import IndexLimits
from codecompass.errors import CodeCompassError, RefNotIndexed
from codecompass.scan.git_repository import NO_REF, GitError, find_repository
from codecompass.scan.git_revisions import NamedCommit, resolve_commit
from codecompass.store.inspection import inspect_index
from codecompass.store.layout import ProjectLayout
from codecompass.store.snapshot import IndexMeta

NO_REPOSITORY: Final = (
    "this workspace is in no git repository, so it has no refs. Leave ref out: the answer is about the files as they are."
)


def named_commit(root: Path, ref: str, field: str = "ref") -> NamedCommit | None:
    """Returns the commit that `ref` names in the repository around `root`; None for the name of a tree without git.

    Blocking; `field` is the argument's name. Raises InvalidInput and RefNotIndexed as `resolve_commit` does, RefNotIndexed where
    there is no repository or git fails.
    """
    repository = find_repository(os.path.realpath(root))
    if repository is None:
        if ref == NO_REF:
            return None
        raise RefNotIndexed(NO_REPOSITORY, ref=ref)
    try:
        return resolve_commit(repository, ref, field=field)
    except GitError as error:
        raise RefNotIndexed(
            f"{field}: git cannot be asked what {ref!r} is: {error}. Leave {field} out to ask about the working tree.", ref=ref
        ) from error


def built_index(layout: ProjectLayout, commit: NamedCommit, limits: IndexLimits) -> IndexMeta | None:
    """Returns the description of the index in `layout`; None unless it is the whole one of this commit by these limits.

    Blocking. Never raises: what cannot be read is built anew.
    """
    return fitting(inspect_index(layout).meta, commit, limits)


def fitting(meta: IndexMeta | None, commit: NamedCommit, limits: IndexLimits) -> IndexMeta | None:
    """Returns `meta` if it describes a whole index of this commit by these limits, else None."""
    if meta is None or meta.completeness != "complete":
        return None
    return meta if (meta.commit, meta.rules_fingerprint) == (commit.commit, limits.fingerprint) else None


def unreadable(commit: NamedCommit, error: GitError) -> CodeCompassError:
    """Returns the error for a repository that git cannot read."""
    return RefNotIndexed(
        f"{commit.name} cannot be read: {error}. Leave ref out to ask about the working tree, or have the repository put right "
        "(git fsck says what is wrong) and call again.",
        ref=commit.name,
    )
