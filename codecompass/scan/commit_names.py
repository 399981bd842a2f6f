"""Resolves the names of commits in a repository: a branch, a tag, an id or a prefix of one, `HEAD~3`."""

import difflib
import re
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput, RefNotIndexed
from codecompass.scan.git_repository import GitError, GitFailed, Repository, run_git

MAX_NAME_LENGTH: Final = 255
"""Characters of a name. Git has no limit; file names have this one."""

LISTS_REFS: Final = "list_refs lists what there is (on the command line: codecompass branches)."

_REFUSED: Final = re.compile(r"[\x00-\x20\x7f:?*\[\\]|\.\.|^[-^]|@\{-?\d*-\d|\^[!@-]|^$")
"""What the name of a single commit cannot contain: whitespace, control characters, a leading `-` or `^`, ranges, paths in a
commit (`a:b`), searches (`:/text`), patterns, all parents (`^@`)."""

COMPARED_REFS: Final = 2_000
SIMILAR_REFS: Final = 3
ALIKE: Final = 0.7
"""For an unknown name, the COMPARED_REFS newest refs are compared with it and up to SIMILAR_REFS whose similarity (0 to 1) is at
least ALIKE are suggested."""

_WITHOUT_STEPS: Final = re.compile(r"[~^@]")

_NO_SUCH_OBJECT: Final = (1, 128, 129)
"""Exit statuses by which git says so."""


class NamedCommit(Struct, frozen=True):
    """A resolved name. `name` is as the caller gave it; `commit` and `tree` are full object ids."""

    name: str
    commit: str
    tree: str


def resolve_commit(repository: Repository, name: str, *, field: str = "ref") -> NamedCommit:
    """Returns the commit that `name` stands for now. Starts one process. `field` is the argument's name in error messages.

    Raises:
        InvalidInput: `name` cannot be the name of a single commit.
        RefNotIndexed: the repository lacks the commit (a shallow clone, a branch that was not fetched), or the name is that
            of another kind of object. The message says what to do.
        GitError: git could not be run.
    """
    if len(name) > MAX_NAME_LENGTH or _REFUSED.search(name):
        raise InvalidInput(
            f"{field} is not the name of one commit. Give a branch, a tag, a commit id or a name like HEAD~3; {LISTS_REFS}",
            field=field,
            received=name[:MAX_NAME_LENGTH],
        )
    try:
        # Plumbing: no setting of the repository changes its output or makes it start another program.
        output = run_git(
            repository,
            repository.top,
            *("rev-list", "--no-walk", "--max-count=1", "--format=%H %T", "--end-of-options"),
            *(f"{name}^{{commit}}", "--"),
        )
    except GitFailed as error:
        if error.status not in _NO_SUCH_OBJECT:
            raise
        raise _unknown(repository, name, field) from error
    lines = output.decode("ascii", "replace").splitlines()
    commit, _, tree = lines[-1].partition(" ") if len(lines) == 2 else ("", "", "")
    if not commit:
        raise _unknown(repository, name, field)
    return NamedCommit(name, commit, tree)


def _unknown(repository: Repository, name: str, field: str) -> RefNotIndexed:
    try:
        kind = run_git(repository, repository.top, "cat-file", "-t", f"{name}^{{}}").decode("ascii", "replace").strip()
    except GitError:
        kind = ""
    if kind in ("tree", "blob"):
        what = "a directory" if kind == "tree" else "a file"
        return RefNotIndexed(
            f"{field}: {name!r} names {what} in git's object database (a {kind}), not a commit. Give a branch, a tag of a commit "
            f"or a commit id; {LISTS_REFS}",
            field=field,
            ref=name,
        )
    similar = _similar(repository, name)
    meant = f" Similar names: {', '.join(similar)}." if similar else ""
    return RefNotIndexed(
        f"{field}: this repository has no commit {name!r}: it was not fetched, or lies beyond the end of a shallow clone.{meant} "
        f"{LISTS_REFS} If a remote has it, have it fetched (git fetch), and call again.",
        field=field,
        ref=name,
        similar=list(similar) or None,
    )


def _similar(repository: Repository, name: str) -> list[str]:
    """Returns branches and tags that may be meant, the most similar first; none if git fails."""
    kinds = ("refs/heads", "refs/remotes", "refs/tags")
    listing = ("for-each-ref", "--sort=-creatordate", f"--count={COMPARED_REFS}", "--format=%(refname:short)")
    try:
        listed = run_git(repository, repository.top, *listing, *kinds).decode("utf-8", "replace").splitlines()
    except GitError:
        return []
    names = [each for each in listed if len(each) <= MAX_NAME_LENGTH]
    return difflib.get_close_matches(_WITHOUT_STEPS.split(name)[0], names, SIMILAR_REFS, ALIKE)
