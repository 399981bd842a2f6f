"""The two sides of a comparison: what a caller names, and what is compared with where nobody names anything."""

from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.scan.commit_names import resolve_commit
from codecompass.scan.git_repository import GitError, GitFailed, Repository, find_repository, is_bare, run_git
from codecompass.scan.repository_refs import default_branch

WORKING_TREE: Final = "the working tree"
_NOT_THERE: Final = (1, 128)
"""Statuses with which git says that it has no such thing."""


class Side(Struct, frozen=True, kw_only=True):
    """One side of a comparison.

    `name` is what was asked for or found; `commit` its full object id, empty for the working tree and the empty tree; `tree`
    an object id, empty for the working tree. `reason` says in words how a side that nobody named was chosen.
    """

    name: str
    commit: str = ""
    tree: str = ""
    reason: str = ""


def repository_of(root: str, *, field: str) -> Repository:
    """Returns the repository whose work tree holds `root` (absolute). Raises InvalidInput where there is none; `field` is the
    argument that needs one."""
    repository = find_repository(root)
    if repository is None or is_bare(repository):
        raise InvalidInput(
            f"{field} needs a git repository, and this workspace is in none. Ask without it; search_code and locate_symbol "
            "find what is there now.",
            field=field,
        )
    return repository


def named_side(repository: Repository, name: str, *, field: str) -> Side:
    """Returns the commit that a caller names. Raises what `resolve_commit` raises."""
    found = resolve_commit(repository, name, field=field)
    return Side(name=name, commit=found.commit, tree=found.tree)


def default_base(repository: Repository, head: Side) -> Side:
    """Returns what `head` is compared with where nobody says: the commit at which it left the default branch.

    Where that is the head itself, its parent; for the working tree HEAD, so that what is not committed is compared. Where there
    is no default branch or nothing in common with it, the parent; where there is no parent, the empty tree. Raises GitError.
    """
    tip = head.commit or _commit(repository, "HEAD")
    if tip is None:
        return _empty(repository, "there is no commit yet")
    default = default_branch(repository)
    if default is None:
        return _parent(repository, tip, "there is no default branch (origin/HEAD, main or master)")
    name = default.name
    common = _line(repository, "merge-base", default.commit, tip)
    if common is None:
        return _parent(repository, tip, f"HEAD and {name} have no commit in common here")
    if common != tip:
        return _side(repository, common, f"where it left {name}")
    if not head.commit:
        return _side(repository, tip, f"HEAD, which is part of {name}: what is not committed", name="HEAD")
    return _parent(repository, tip, f"it is part of {name}")


def _parent(repository: Repository, commit: str, because: str) -> Side:
    parent = _commit(repository, f"{commit}^")
    if parent is not None:
        return _side(repository, parent, f"the commit before: {because}")
    return _empty(repository, f"{because}, and there is no commit before")


def _side(repository: Repository, commit: str, reason: str, name: str = "") -> Side:
    tree = _line(repository, "rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}")
    if tree is None:
        raise GitError(f"the tree of commit {commit[:12]} is missing")
    return Side(name=name or commit[:12], commit=commit, tree=tree, reason=reason)


def _empty(repository: Repository, because: str) -> Side:
    tree = _line(repository, "hash-object", "-t", "tree", "--stdin")
    if tree is None:
        raise GitError("git cannot name the empty tree")
    return Side(name="the empty tree", tree=tree, reason=f"nothing: {because}")


def _commit(repository: Repository, name: str) -> str | None:
    return _line(repository, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")


def _line(repository: Repository, *arguments: str) -> str | None:
    """Returns the first line that git prints, None where it says that there is nothing."""
    try:
        output = run_git(repository, repository.top, *arguments)
    except GitFailed as error:
        if error.status not in _NOT_THERE:
            raise
        return None
    return output.decode("utf-8", "surrogateescape").partition("\n")[0].strip() or None
