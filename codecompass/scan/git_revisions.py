"""Which commits names mean: the branches and tags of a repository, any name of one commit (a branch, a tag, an id or a prefix of
one, `HEAD~3`), and the two sides of a comparison.

Starts git for each question; nothing is fetched, and no setting of the repository changes what a name means.
"""

from collections.abc import Callable
from typing import Final, Literal

from msgspec import Struct

from codecompass import hints, lazy
from codecompass.errors import InvalidInput, RefNotIndexed
from codecompass.scan.git_repository import GitError, GitFailed, GitRepository, find_repository, is_bare, run_git, why_not
from codecompass.scan.git_roots import ANYWHERE, GitRoots

_NOT_THERE: Final = (1, 128)
"""Exit statuses by which git says that an object does not exist."""

# Branches and tags.

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


def read_refs(repository: GitRepository, *, is_cancelled: Callable[[], bool] | None = None) -> RepositoryRefs:
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


def default_branch(repository: GitRepository, *, is_cancelled: Callable[[], bool] | None = None) -> DefaultBranch | None:
    """Returns the first that exists of the branch of `origin/HEAD`, `main`, `master` and `init.defaultBranch`, or None.

    Starts one process, two more if none of the first three exists. Raises GitError, GitCancelled.
    """
    found = _branches(repository, _DEFAULT_BRANCHES, is_cancelled)
    for reference in _DEFAULT_BRANCHES:
        if reference in found:
            return found[reference]
    name = _line(repository, "config", "--get", "init.defaultBranch", is_cancelled=is_cancelled)
    return None if name is None else _branches(repository, (_LOCAL + name,), is_cancelled).get(_LOCAL + name)


def _branches(
    repository: GitRepository, references: tuple[str, ...], is_cancelled: Callable[[], bool] | None
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


# Names of commits.

MAX_NAME_LENGTH: Final = 255
"""Characters of a name. Git has no limit; file names have this one."""

LISTS_REFS: Final = f"{hints.REFS} lists what there is."

_REFUSED: Final = lazy.pattern(r"[\x00-\x20\x7f:?*\[\\]|\.\.|^[-^]|@\{-?\d*-\d|\^[!@-]|^$")
"""What the name of a single commit cannot contain: whitespace, control characters, a leading `-` or `^`, ranges, paths in a
commit (`a:b`), searches (`:/text`), patterns, all parents (`^@`)."""

COMPARED_REFS: Final = 2_000
SIMILAR_REFS: Final = 3
ALIKE: Final = 0.7
"""For an unknown name, the COMPARED_REFS newest refs are compared with it and up to SIMILAR_REFS whose similarity (0 to 1) is at
least ALIKE are suggested."""

_WITHOUT_STEPS: Final = lazy.pattern(r"[~^@]")

_ID: Final = lazy.pattern(r"[0-9a-fA-F]{4,64}")

_NO_SUCH_OBJECT: Final = (1, 128, 129)
"""Exit statuses by which git says so."""


class NamedCommit(Struct, frozen=True):
    """A resolved name. `name` is as the caller gave it; `commit` and `tree` are full object ids."""

    name: str
    commit: str
    tree: str


def resolve_commit(repository: GitRepository, name: str, *, field: str = "ref") -> NamedCommit:
    """Returns the commit that `name` stands for now. Starts one process. `field` is the argument's name in error messages.

    Raises:
        InvalidInput: `name` cannot be the name of a single commit.
        RefNotIndexed: the repository lacks the commit (a shallow clone, a branch that was not fetched), or the name is that
            of another kind of object. The message says what to do.
        GitError: git could not be run, or refuses the repository.
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


def require_usable(repository: GitRepository) -> None:
    """Raises GitError if git cannot be run, or refuses the repository, whatever it is asked about it. Starts one process."""
    run_git(repository, repository.top, "rev-parse", "--git-dir")


def _unknown(repository: GitRepository, name: str, field: str) -> RefNotIndexed:
    """Returns the error for a name that git does not know. Raises GitError if git refuses the repository: then it knows none."""
    require_usable(repository)
    dangling = "" if _ID.fullmatch(name) else _line(repository, "rev-parse", "--quiet", "--verify", "--end-of-options", name)
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
    if dangling and not kind:
        return RefNotIndexed(
            f"{field}: {name!r} names {dangling[:12]}, which git cannot read: the object is missing, damaged or not readable. "
            f"git fsck shows what is wrong. {LISTS_REFS}",
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


def _similar(repository: GitRepository, name: str) -> list[str]:
    """Returns branches and tags that may be meant, the most similar first; none if git fails."""
    import difflib

    kinds = ("refs/heads", "refs/remotes", "refs/tags")
    listing = ("for-each-ref", "--sort=-creatordate", f"--count={COMPARED_REFS}", "--format=%(refname:short)")
    try:
        listed = run_git(repository, repository.top, *listing, *kinds).decode("utf-8", "replace").splitlines()
    except GitError:
        return []
    names = [each for each in listed if len(each) <= MAX_NAME_LENGTH]
    return difflib.get_close_matches(_WITHOUT_STEPS.split(name)[0], names, SIMILAR_REFS, ALIKE)


# The sides of a comparison.

WORKING_TREE: Final = "the working tree"


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


def repository_of(root: str, roots: GitRoots = ANYWHERE, *, field: str) -> GitRepository:
    """Returns the repository whose work tree holds `root` (absolute). Raises InvalidInput if there is none; `field` is the
    argument that requires one. One that leads out of `roots` is none."""
    repository = find_repository(root, roots)
    if repository is None or is_bare(repository):
        reason = why_not(root, roots)
        refused = f": the one that it is in is not used, because {reason}" if reason else ""
        raise InvalidInput(
            f"{field} needs a git repository, and this workspace is in none{refused}. Ask without it; search_code and "
            "locate_symbol find what is there now.",
            field=field,
        )
    return repository


def named_side(repository: GitRepository, name: str, *, field: str) -> Side:
    """Returns the commit that a caller names. What comes before the first commit (`FIRST~1`) is the empty tree, unless it is the
    head. Raises the same errors as `resolve_commit`."""
    try:
        found = resolve_commit(repository, name, field=field)
    except RefNotIndexed:
        first = _BEFORE.fullmatch(name)
        if field == "head" or first is None or not _is_first(repository, first["commit"]):
            raise
        return _empty(repository, f"{first['commit']} is a first commit")
    return Side(name=name, commit=found.commit, tree=found.tree)


_BEFORE: Final = lazy.pattern(r"(?P<commit>.+?)(?:~1?|\^1?)")


def _is_first(repository: GitRepository, name: str) -> bool:
    """Whether a name is that of a commit without parents, and not only without those that a shallow clone lacks."""
    commit = _commit(repository, name)
    if commit is None or _line(repository, "rev-parse", "--is-shallow-repository") != "false":
        return False
    listed = _line(repository, "rev-list", "--parents", "--max-count=1", commit)
    return listed == commit


def default_base(repository: GitRepository, head: Side, known: DefaultBranch | None = None) -> Side:
    """Returns the base that `head` is compared with by default: the commit at which it left the default branch, which is looked
    for if it is not `known`.

    If that is the head itself, its parent; for the working tree HEAD, so that uncommitted changes are compared. Without a
    default branch or a commit in common with it, the parent; without a parent, the empty tree. Raises GitError.
    """
    tip = head.commit or _commit(repository, "HEAD")
    if tip is None:
        return _empty(repository, "there is no commit yet")
    default = known or default_branch(repository)
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


def _parent(repository: GitRepository, commit: str, because: str) -> Side:
    parent = _commit(repository, f"{commit}^")
    if parent is not None:
        return _side(repository, parent, f"the commit before: {because}")
    return _empty(repository, f"{because}, and there is no commit before")


def _side(repository: GitRepository, commit: str, reason: str, name: str = "") -> Side:
    tree = _line(repository, "rev-parse", "--quiet", "--verify", f"{commit}^{{tree}}")
    if tree is None:
        raise GitError(f"the tree of commit {commit[:12]} is missing")
    return Side(name=name or commit[:12], commit=commit, tree=tree, reason=reason)


def _empty(repository: GitRepository, because: str) -> Side:
    tree = _line(repository, "hash-object", "-t", "tree", "--stdin")
    if tree is None:
        raise GitError("git cannot name the empty tree")
    return Side(name="the empty tree", tree=tree, reason=f"nothing: {because}")


def _commit(repository: GitRepository, name: str) -> str | None:
    return _line(repository, "rev-parse", "--quiet", "--verify", "--end-of-options", f"{name}^{{commit}}")


def _line(repository: GitRepository, *arguments: str, is_cancelled: Callable[[], bool] | None = None) -> str | None:
    """Returns the first line that git prints, None if it prints none or says that the object does not exist."""
    try:
        output = run_git(repository, repository.top, *arguments, is_cancelled=is_cancelled)
    except GitFailed as error:
        if error.status not in _NOT_THERE:
            raise
        if error.status != 1:
            require_usable(repository)
        return None
    return output.decode("utf-8", "surrogateescape").partition("\n")[0].strip() or None
