"""What a name of a commit means in a repository: a branch, a tag, an id or its beginning, `HEAD~3`."""

import re
from typing import Final

from msgspec import Struct

from codecompass.errors import InvalidInput
from codecompass.scan.git_repository import GitError, Repository, run_git

MAX_NAME_LENGTH: Final = 255
"""Characters of a name; git has no limit of its own, a file name has this one."""

_REFUSED: Final = re.compile(r"[\x00-\x20\x7f:?*\[\\]|\.\.|^-|@\{-?\d*-\d|^$")
"""What no name of one commit has: blanks and control characters, what begins an option, ranges, paths in a commit (`a:b`),
searches (`:/text`), patterns."""


class NamedCommit(Struct, frozen=True):
    """`name` is what was asked for; `commit` and `tree` are full object ids."""

    name: str
    commit: str
    tree: str


def resolve_commit(repository: Repository, name: str, *, field: str = "ref") -> NamedCommit:
    """Returns the commit that `name` stands for now.

    Raises InvalidInput, with what to do, where it is no name of a commit, or the repository does not have that commit (a shallow
    clone, a branch that was not fetched). `field` is the argument's name. Raises GitError where git cannot be asked.
    """
    if len(name) > MAX_NAME_LENGTH or _REFUSED.search(name):
        raise InvalidInput(
            f"{field} is not the name of one commit. Give a branch, a tag, a commit id or a name like HEAD~3; "
            "list_refs lists what there is (on the command line: codecompass branches).",
            field=field,
            received=name[:MAX_NAME_LENGTH],
        )
    try:
        output = run_git(
            repository,
            repository.top,
            *("rev-parse", "--quiet", "--verify", "--end-of-options"),
            f"{name}^{{commit}}",
        )
        commit = output.decode("ascii", "replace").strip()
        tree = run_git(repository, repository.top, "rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}")
    except GitError as error:
        if "status 1:" not in str(error) and "status 128" not in str(error):
            raise
        raise InvalidInput(
            f"{field}: this repository has no commit {name!r}, or not all of it (a shallow clone, a branch that was not "
            "fetched). list_refs lists what there is (on the command line: codecompass branches).",
            field=field,
            received=name,
        ) from error
    return NamedCommit(name, commit, tree.decode("ascii", "replace").strip())
