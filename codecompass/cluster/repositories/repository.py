"""A repository of an organisation: its document, and what may be asked of one.

    changes != done_changes   something may be new (added, pushed or found by polling), and a worker has to take a turn
    heads                     the generation that answers for each ref
    retired                   generations and attempts that nothing refers to any more: removed once no reader can use them

Clocks of different machines are never compared: counters show what is pending, and times are for people only.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.errors import InvalidInput
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION

MADE_BY: Final = (SCHEMA_VERSION, PARSER_VERSION)
"""What the indexes of this program depend on."""

MAX_WANTED_REFS: Final = 50
MAX_GROUPS: Final = 50
MAX_GROUP_LENGTH: Final = 100

MAX_FORMER: Final = 20
"""Ids and names that a repository had before which are kept: those of its last ten moves."""

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}")
_GROUP: Final = re.compile(r"[\w/](?:[\w ./:@+=&()-]*[\w)])?")
"""As identity providers write them: `Team_Backend`, `/eng/platform`, `Domain Users`. Not with a comma, which separates names."""

_REF: Final = re.compile(r"(?!-)[^\x00-\x20\x7f~^:\\]{1,255}")


class RefHead(Struct, frozen=True, kw_only=True):
    """The generation that answers for a ref."""

    generation: str
    commit: str
    published_at: float
    """Seconds since 1970 by the worker's clock."""
    file_count: int
    symbol_count: int
    source_bytes: int
    made_by: tuple[int, int] = (0, 0)
    """The MADE_BY of the program that built the index."""


class Lease(Struct, frozen=True, kw_only=True):
    """A worker's lease of a repository."""

    owner: str
    """Host and process, for people."""
    token: str
    renewals: int = 0
    """Counts up while the worker is alive."""


class RepositoryFailure(Struct, frozen=True, kw_only=True):
    """The last problem with a repository."""

    message: str
    at: float
    """Seconds since 1970."""
    failures: int = 0
    """Failed turns since the last successful one; 0 if the problem did not stop the turn."""


class Repository(Struct, frozen=True, kw_only=True):
    """One repository. Times are seconds since 1970, of whichever machine wrote them."""

    repo_id: str
    name: str
    url: str
    wanted_refs: tuple[str, ...] = ()
    """Names of branches and tags, or patterns like `release/*`; empty for the remote's default branch."""
    groups: tuple[str, ...] = ()
    added_at: float
    changed_at: float
    changes: int = 1
    done_changes: int = 0
    """The value of `changes` when the last successful turn began."""
    rebuild: int = 0
    """The value of `changes` at which a rebuild was requested: earlier generations are not reused."""
    polls: int = 0
    """Number of polls that found the remote unchanged."""
    lease: Lease | None = None
    heads: dict[str, RefHead] = {}
    """By the short names of refs."""
    default_ref: str = ""
    """Name of the head that answers if no ref is asked for; empty before the first is published."""
    seen: dict[str, str] = {}
    """Object ids of the wanted refs at the remote by short name, as of the last successful turn."""
    retired: tuple[str, ...] = ()
    """Replaced generations and abandoned attempts to be removed."""
    trouble: RepositoryFailure | None = None
    is_removed: bool = False
    """Whether it is invisible, and workers delete its documents."""
    moved_from: str = ""
    """Id of the repository that this one replaces once it is indexed (`moves.py`)."""
    moved_name: str = ""
    """The name that it gets then; empty to keep its own."""
    is_paused: bool = False
    """Whether workers neither poll nor index it. What is published goes on answering."""
    former: tuple[str, ...] = ()
    """Ids and names that it had before, the latest first: links to them lead to it unless another repository has them now."""

    @property
    def is_pending(self) -> bool:
        """Whether a worker has to take a turn."""
        return self.changes != self.done_changes

    @property
    def failures(self) -> int:
        """Failed turns since the last successful one."""
        return 0 if self.trouble is None else self.trouble.failures

    @property
    def default_head(self) -> RefHead | None:
        """The head that answers if no ref is asked for."""
        return self.heads.get(self.default_ref)


Change = Callable[[Repository], Repository]
"""Returns the changed repository, or the same object for no change. Called again after a conflict. May raise."""


def with_former(repository: Repository, *names: str) -> Repository:
    """Returns the repository with ids and names that it had before, the latest first; the oldest of more than MAX_FORMER go."""
    own = ("", repository.repo_id, repository.name)
    former = tuple(dict.fromkeys(each for each in (*names, *repository.former) if each not in own))[:MAX_FORMER]
    return repository if former == repository.former else replace(repository, former=former)


def checked_name(name: str) -> str:
    """Returns `name` if it is a valid name of a repository. Raises InvalidInput."""
    if not _NAME.fullmatch(name):
        raise InvalidInput(
            f"{name[:100]!r} is not a valid name of a repository. Use up to 100 letters, digits, dots, dashes, underscores and "
            "slashes, and begin with a letter or digit.",
            field="name",
            value=name[:100],
        )
    return name


def checked_refs(refs: Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns valid wanted refs without duplicates. `HEAD`, like an empty list, is the default branch. Raises InvalidInput."""
    if refs is None:
        return None
    found = tuple(dict.fromkeys(refs))
    if len(found) > MAX_WANTED_REFS:
        raise InvalidInput(
            f"{len(found)} refs, at most {MAX_WANTED_REFS}. A pattern like 'release/*' names several.", field="ref"
        )
    for ref in found:
        if not _REF.fullmatch(ref) or ".." in ref or "@{" in ref:
            raise InvalidInput(
                f"{ref[:100]!r} is not a valid name of a branch or tag. Give one, or a pattern like 'release/*'; git "
                "ls-remote lists what the remote has.",
                field="ref",
                value=ref[:100],
            )
    return found


def checked_groups(groups: Sequence[str] | None) -> tuple[str, ...] | None:
    """Returns valid names of groups, sorted and without duplicates. Raises InvalidInput."""
    if groups is None:
        return None
    found = tuple(sorted(set(groups)))
    if len(found) > MAX_GROUPS:
        raise InvalidInput(f"{len(found)} groups, at most {MAX_GROUPS}.", field="group")
    for group in found:
        if len(group) > MAX_GROUP_LENGTH or not _GROUP.fullmatch(group):
            raise InvalidInput(
                f"{group[:100]!r} is not a valid name of a group. Use the name that the identity provider gives it: up to "
                f"{MAX_GROUP_LENGTH} letters, digits, blanks and _ . - / : @ + = & ( ), the first and last a letter or digit.",
                field="group",
                value=group[:100],
            )
    return found


def unique_name(name: str, repo_id: str) -> str:
    """Returns the name of a repository whose usual one is taken."""
    return f"{name}-{repo_id[:6]}"
