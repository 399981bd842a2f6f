"""Which commits names mean over an organisation: the indexed refs of a repository, and the commits of its published history.

A commit counts if the published one descends from it: a history that was fetched in pieces may hold others, such as those that a
force push has replaced.
"""

from typing import Final

from codecompass import lazy
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.routing import IndexedElsewhere, shown_names
from codecompass.errors import RefNotIndexed
from codecompass.formatting import iso_time
from codecompass.scan.git_failures import explained
from codecompass.scan.git_repository import NO_REF, GitError, GitFailed, GitRepository, run_git, shallow_boundary
from codecompass.scan.git_revisions import MAX_NAME_LENGTH, NamedCommit, resolve_commit

SHORTEST_COMMIT: Final = 7
"""Least number of characters of an abbreviated commit id."""

DEFAULT_NAMES: Final = frozenset({"HEAD", NO_REF, ""})
"""Names of the default ref in a question."""

_ID: Final = lazy.pattern(r"[0-9a-f]{7,64}")
_STEPS: Final = lazy.pattern(r"[~^]")
_SHOWN: Final = 12
"""Digits of an id that messages show."""

_NOT_AN_ANCESTOR: Final = 1
"""Exit status by which git says so."""


def head_name(repository: Repository, ref: str) -> str | None:
    """Returns the name of the head that `ref` means, a name or the beginning of its commit's id; None if no head matches."""
    for prefix in ("", "refs/heads/", "refs/tags/", "refs/remotes/origin/", "origin/"):
        if ref.startswith(prefix) and ref[len(prefix) :] in repository.heads:
            return ref[len(prefix) :]
    commit = ref.lower()
    if len(commit) >= SHORTEST_COMMIT:
        found = [name for name, head in repository.heads.items() if head.commit.startswith(commit)]
        if found:
            return min(found, key=lambda name: (name != repository.default_ref, name))
    return None


def not_indexed(repository: Repository, name: str, field: str) -> RefNotIndexed:
    """Returns the error for a name that is not that of an indexed ref."""
    shown = shown_names(sorted(repository.heads))
    return RefNotIndexed(
        f"{field}: {name[:MAX_NAME_LENGTH]!r} is not indexed here. Indexed are: {shown or 'none yet'}. Whoever runs the workers "
        "can have others indexed (codecompass cluster add URL --ref NAME).",
        field=field,
        ref=name[:MAX_NAME_LENGTH],
    )


def no_working_tree(field: str) -> IndexedElsewhere:
    """Returns the error for a side of a comparison that is a working tree."""
    return IndexedElsewhere(
        f"{field}: there is no working tree here, only published commits. Leave head out for the newest indexed one, or give an "
        "indexed ref (list_refs) or a commit id. Changes that are not pushed are compared by a codecompass beside their clone."
    )


class PublishedCommits:
    """The commits of the history of a default branch, in a copy of it. Blocks on git and the disk."""

    def __init__(self, git: GitRepository, repository: Repository, published: RefHead) -> None:
        """`published` is the head whose history `git` is."""
        self._git = git
        self._repository = repository
        self._published = published

    def resolve(self, name: str, field: str) -> NamedCommit:
        """Returns the commit that `name` means: an indexed ref, HEAD or an id or the beginning of one, and steps from it (`~2`).

        Raises the same errors as `resolve_commit`, and IndexedElsewhere for a working tree.
        """
        if name == NO_REF:
            raise no_working_tree(field)
        at = _STEPS.search(name)
        plain, steps = (name, "") if at is None else (name[: at.start()], name[at.start() :])
        known = head_name(self._repository, plain)
        if plain == "HEAD":
            start = self._published.commit
        elif known is not None:
            start = self._repository.heads[known].commit
        elif _ID.fullmatch(plain.lower()):
            start = plain.lower()
        elif plain and len(name) <= MAX_NAME_LENGTH:
            raise self._unknown(name, field)
        else:
            start = plain
        try:
            found = resolve_commit(self._git, start + steps, field=field)
        except RefNotIndexed as error:
            raise self._unknown(name, field) from error
        except GitError as error:
            raise RefNotIndexed(f"{field}: git cannot resolve {name!r} on this server: {explained(error)}", ref=name) from error
        if not self._has(found.commit):
            raise self._unknown(name, field)
        return NamedCommit(name, found.commit, found.tree)

    def require_parent(self, commit: str, field: str) -> None:
        """Raises RefNotIndexed if a commit has parents that are not published."""
        if commit in shallow_boundary(self._git):
            raise self._unknown(f"{commit[:_SHOWN]}^", field)

    def _has(self, commit: str) -> bool:
        try:
            run_git(self._git, self._git.top, "merge-base", "--is-ancestor", commit, self._published.commit)
        except GitFailed as error:
            if error.status != _NOT_AN_ANCESTOR:
                raise
            return False
        return True

    def _unknown(self, name: str, field: str) -> RefNotIndexed:
        oldest, at = self._oldest()
        ref, newest = self._repository.default_ref, self._published.commit
        return RefNotIndexed(
            f"{field}: {name!r} is not in the published history of {self._repository.name}, which has the commits of {ref} from "
            f"{oldest[:_SHOWN]} ({iso_time(at)[:10]}), the oldest, to {newest[:_SHOWN]}. Give one of these by its id "
            f"(search_code finds them with type:commit) or with steps ({ref}~3); other commits are compared by a codecompass "
            "beside a full clone.",
            field=field,
            ref=name,
            oldest=oldest,
        )

    def _oldest(self) -> tuple[str, int]:
        """Returns the oldest commit, and when it was committed, in seconds since 1970."""
        listing = ("rev-list", "--max-parents=0", "--format=%ct %H", self._published.commit, "--")
        lines = run_git(self._git, self._git.top, *listing).decode("ascii", "replace").splitlines()
        dated = (line.split(" ") for line in lines if not line.startswith("commit "))
        at, oldest = min((int(when), commit) for when, commit in dated)
        return oldest, at
