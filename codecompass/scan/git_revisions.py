"""The two sides of a comparison: those that a caller names, and the default base."""

from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.scan.commit_names import resolve_commit
from codecompass.scan.git_repository import GitError, GitFailed, Repository, find_repository, is_bare, run_git
from codecompass.scan.repository_refs import default_branch

WORKING_TREE: Final = "the working tree"
_NOT_THERE: Final = (1, 128)
"""Exit statuses by which git says that an object does not exist."""


class Side(Struct, frozen=True, kw_only=True):
    """One side of a comparison."""

    name: str
    """As the caller gave it, or for people."""
    commit: str = ""
    """Full object id; empty for the working tree and the empty tree."""
    tree: str = ""
    """Full object id; empty for the working tree."""
    reason: str = ""
    """Why this side was chosen, for people; empty if the caller named it."""


def repository_of(root: str, *, field: str) -> Repository:
    """Returns the repository whose work tree holds `root` (absolute). Raises InvalidInput if there is none; `field` is the
    argument that requires one."""
    repository = find_repository(root)
    if repository is None or is_bare(repository):
        raise InvalidInput(
            f"{field} needs a git repository, and this workspace is in none. Ask without it; search_code and locate_symbol "
            "find what is there now.",
            field=field,
        )
    return repository


def named_side(repository: Repository, name: str, *, field: str) -> Side:
    """Returns the commit that a caller names. Raises the same errors as `resolve_commit`."""
    found = resolve_commit(repository, name, field=field)
    return Side(name=name, commit=found.commit, tree=found.tree)


def default_base(repository: Repository, head: Side) -> Side:
    """Returns the base that `head` is compared with by default: the commit at which it left the default branch.

    If that is the head itself, its parent; for the working tree HEAD, so that uncommitted changes are compared. Without a
    default branch or a commit in common with it, the parent; without a parent, the empty tree. Raises GitError.
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
    """Returns the first line that git prints, None if it prints none or says that the object does not exist."""
    try:
        output = run_git(repository, repository.top, *arguments)
    except GitFailed as error:
        if error.status not in _NOT_THERE:
            raise
        return None
    return output.decode("utf-8", "surrogateescape").partition("\n")[0].strip() or None
