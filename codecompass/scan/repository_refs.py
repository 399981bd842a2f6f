"""Lists the branches and tags of a repository, and finds its default branch."""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from codecompass.scan.git_repository import GitFailed, Repository, run_git

RefKind = Literal["branch", "remote", "tag"]

_KINDS: Final[dict[str, RefKind]] = {"refs/heads/": "branch", "refs/remotes/": "remote", "refs/tags/": "tag"}
_FORMAT: Final = "%00".join(
    f"%({field})" for field in ("refname", "objecttype", "objectname", "*objecttype", "*objectname", "creatordate:unix", "symref")
)
_LOCAL: Final = "refs/heads/"
_ORIGIN: Final = "refs/remotes/origin/"
_DEFAULT_BRANCHES: Final = (f"{_ORIGIN}HEAD", f"{_LOCAL}main", f"{_LOCAL}master")
"""Candidates for the default branch in order of preference, before the one that `init.defaultBranch` names."""


class RepositoryRef(Struct, frozen=True):
    """A branch or tag. `name` is as git accepts it: `main`, `origin/main`, `v1.0`; `committed_at` is in seconds since 1970."""

    name: str
    kind: RefKind
    commit: str
    committed_at: int


class DefaultBranch(Struct, frozen=True):
    """The branch that others start from and are merged into. `name` is as git accepts it (`origin/main`), `branch` is without the
    remote; `commit` is its newest commit in this repository."""

    name: str
    branch: str
    commit: str


class RepositoryRefs(Struct, frozen=True):
    """All branches and tags, the newest commit first, then by name. `default_branch` is without the remote; empty if none was
    found."""

    refs: tuple[RepositoryRef, ...]
    default_branch: str


def read_refs(repository: Repository, *, is_cancelled: Callable[[], bool] | None = None) -> RepositoryRefs:
    """Returns the branches, remote branches and tags of a repository. Takes about 10 us each. Raises GitError, GitCancelled."""
    output = run_git(
        repository,
        repository.top,
        *("for-each-ref", f"--format={_FORMAT}", *(prefix.rstrip("/") for prefix in _KINDS)),
        is_cancelled=is_cancelled,
    )
    refs = []
    for line in output.decode("utf-8", "surrogateescape").splitlines():
        full, kind, commit, peeled_kind, peeled, date, target = line.split("\0")
        prefix = next(each for each in _KINDS if full.startswith(each))
        name = full.removeprefix(prefix)
        if target:
            continue  # an alias of another branch, such as origin/HEAD
        if "commit" not in (kind, peeled_kind):
            continue  # a tag of a blob or a tree
        commit = peeled if peeled_kind == "commit" else commit
        refs.append(RepositoryRef(name, _KINDS[prefix], commit, int(date or 0)))
    refs.sort(key=lambda ref: (-ref.committed_at, ref.name))
    default = default_branch(repository, is_cancelled=is_cancelled)
    return RepositoryRefs(tuple(refs), "" if default is None else default.branch)


def default_branch(repository: Repository, *, is_cancelled: Callable[[], bool] | None = None) -> DefaultBranch | None:
    """Returns the first that exists of the branch of `origin/HEAD`, `main`, `master` and `init.defaultBranch`, or None.

    Starts one process, two more if none of the first three exists. Raises GitError, GitCancelled.
    """
    found = _branches(repository, _DEFAULT_BRANCHES, is_cancelled)
    for reference in _DEFAULT_BRANCHES:
        if reference in found:
            return found[reference]
    try:
        output = run_git(repository, repository.top, "config", "--get", "init.defaultBranch", is_cancelled=is_cancelled)
    except GitFailed as error:
        if error.status not in (1, 128):
            raise
        return None  # it is not set
    reference = _LOCAL + output.decode("utf-8", "surrogateescape").partition("\n")[0].strip()
    return _branches(repository, (reference,), is_cancelled).get(reference)


def _branches(
    repository: Repository, references: tuple[str, ...], is_cancelled: Callable[[], bool] | None
) -> dict[str, DefaultBranch]:
    # for-each-ref also matches prefixes; only exact names count.
    output = run_git(
        repository,
        repository.top,
        "for-each-ref",
        "--format=%(refname)%00%(refname:short)%00%(symref)%00%(symref:short)%00%(objectname)",
        *references,
        is_cancelled=is_cancelled,
    )
    found = {}
    for line in output.decode("utf-8", "surrogateescape").splitlines():
        reference, short, target, short_target, commit = line.split("\0")
        if reference in references:
            branch = (target or reference).removeprefix(_LOCAL).removeprefix(_ORIGIN)
            found[reference] = DefaultBranch(short_target or short, branch, commit)
    return found
