"""Reads git repositories (which one holds a directory, its HEAD, its tracked files) and runs git commands.

Starts git only if no file of the repository can make it block for ever (`unsafe_file`), and nothing of it lies outside of the
directories that a server may answer about (`git_bounds.py`). No command uses the network, hooks or the terminal, or runs a
program that the repository configures.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Final

import msgspec
from msgspec import Struct

from codecompass import lazy
from codecompass.identity import ObjectFormat
from codecompass.scan.files import printable
from codecompass.scan.git_bounds import ChangesError, LeadsOutError, Places, kept_inside, leads_out
from codecompass.scan.git_process import GitCancelled as GitCancelled
from codecompass.scan.git_process import GitCommand, git_command, run_process
from codecompass.scan.git_process import GitError as GitError
from codecompass.scan.git_process import GitFailed as GitFailed
from codecompass.scan.git_process import GitOutputTooLarge as GitOutputTooLarge
from codecompass.scan.git_process import GitTimedOut as GitTimedOut
from codecompass.scan.git_roots import ANYWHERE, GitRoots, open_inside, read_inside
from codecompass.scan.git_safety import unsafe_file
from codecompass.units import KIB, MIB, SECONDS

GIT_DEADLINE_SECONDS: Final = 30 * SECONDS
"""Deadline of one command. `ls-files` takes about 20 ms for 10,000 files; seconds on a cold disk or a network file system."""

DETACHED_REF_LENGTH: Final = 12
NO_REF: Final = "live"
"""The `ref` of a workspace without git."""

_MAX_SYMBOLIC_REFS: Final = 5
_OBJECT_ID: Final = lazy.pattern(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SYMBOLIC_REF: Final = lazy.pattern(r"ref:\s*(\S.*)")
_MAX_SMALL_FILE_BYTES: Final = 4096
_MAX_PACKED_REFS_BYTES: Final = 64 * MIB
_MAX_PACKED_LINE_BYTES: Final = 8 * KIB
_MAX_SHALLOW_BYTES: Final = 4 * MIB
_MAX_OUTPUT_BYTES: Final = 256 * MIB

_SAME_ANSWERS: Final = (
    "i18n.logOutputEncoding=UTF-8",  # with UTF-16, ids and names are no text that this program can read
    "log.showRoot=true",
    # Git opens these files: a FIFO blocks it, a missing one makes it fail.
    "diff.orderFile=/dev/null",
    "core.excludesFile=/dev/null",
)
"""Settings that win over those of the repository and of its user, because answers would depend on theirs."""

_PACKS_OF_ITS_OWN: Final = ("core.multiPackIndex=false",)  # a pack list may name packs in any directory
"""Limit of git's standard output: the names of a few million files."""


class Head(Struct, frozen=True):
    """What is checked out in a work tree."""

    ref: str
    """The branch name, the first 12 hexadecimal characters of a detached HEAD, or `live` without git."""
    commit: str | None = None
    """The full object id; None without git and on a branch without a commit."""


class GitRepository(Struct, frozen=True):
    """A work tree and its git directories, as absolute paths."""

    top: str
    git_directory: str
    """Holds this work tree's HEAD and index."""
    common_directory: str
    """Holds the refs, objects and `info/exclude`, which all linked work trees share; the same as `git_directory` in any other."""
    scratch: str = ""
    """A temporary directory whose `objects` and `index` git writes instead of the repository's; empty for none."""
    roots: GitRoots = ANYWHERE
    """The directories within which all of it must lie."""

    @property
    def is_linked_worktree(self) -> bool:
        """Whether this work tree was made by `git worktree add`."""
        directory, name = os.path.split(self.git_directory)
        return os.path.basename(directory) == "worktrees" and name != ".git"


def find_repository(directory: str, roots: GitRoots = ANYWHERE) -> GitRepository | None:
    """Returns the innermost repository whose work tree, or which as a bare repository, holds `directory` (absolute), or None.

    None also if that one leads out of `roots`: the directory is then in no repository. `why_not` says so.
    """
    found = _innermost(directory)
    return None if found is None else _within(found, roots)


def repository_at(top: str, roots: GitRoots = ANYWHERE) -> GitRepository | None:
    """Returns the repository whose work tree has its top at `top`, or None; None also if it leads out of `roots`.

    A top has a `.git` directory with a HEAD, or a `.git` file that names another directory (linked work tree, submodule),
    whether or not that exists.
    """
    found = _at(top)
    return None if found is None else _within(found, roots)


def bare_repository_at(directory: str, roots: GitRoots = ANYWHERE) -> GitRepository | None:
    """Returns the repository without a work tree that `directory` is, or None: git's own marks, and `core.bare`. None also if
    it leads out of `roots`."""
    found = _bare_at(directory)
    return None if found is None else _within(found, roots)


def why_not(directory: str, roots: GitRoots) -> str:
    """Returns why the innermost repository at or above `directory` is not used: it leads out of `roots`, or its `.git` cannot be
    read. Empty if it is, or if there is none."""
    found = _innermost(directory)
    if found is not None:
        return leads_out(_places(found), roots) if roots.directories else ""
    return _unreadable(directory, roots)


def _unreadable(directory: str, roots: GitRoots) -> str:
    """Returns a sentence about the first `.git` at or above `directory` that the system refuses to read; empty for none."""
    for top in (directory, *map(str, PurePath(directory).parents)):
        if not roots.holds(top):
            return ""
        dot_git = os.path.join(top, ".git")
        try:
            if os.path.isdir(dot_git):
                os.lstat(os.path.join(dot_git, "HEAD"))
            elif os.path.lexists(dot_git):
                os.close(os.open(dot_git, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC))
        except FileNotFoundError:
            continue
        except OSError as error:
            return f"{printable(dot_git)} cannot be read: {error.strerror}"
    return ""


def _within(repository: GitRepository, roots: GitRoots) -> GitRepository | None:
    if not roots.directories:
        return repository
    return None if leads_out(_places(repository), roots) else msgspec.structs.replace(repository, roots=roots)


def _places(repository: GitRepository) -> Places:
    return Places(repository.top, repository.git_directory, repository.common_directory)


def _innermost(directory: str) -> GitRepository | None:
    while True:
        repository = _at(directory) or _bare_at(directory)
        if repository is not None:
            return repository
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def _at(top: str) -> GitRepository | None:
    dot_git = os.path.join(top, ".git")
    if os.path.lexists(os.path.join(dot_git, "HEAD")):
        git_directory = _real(dot_git) if os.path.islink(dot_git) else dot_git
    else:
        pointer = _read_small_file(dot_git)
        if pointer is None or not pointer.startswith("gitdir:") or "\0" in pointer:
            return None
        git_directory = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    # Git also follows the file in a `.git` directory, where it belongs only if that is a link to the one of a work tree.
    common = _read_small_file(os.path.join(git_directory, "commondir"))
    if common is not None:
        if "\0" in common:
            return None
        return GitRepository(top, git_directory, os.path.normpath(os.path.join(_real(git_directory), common.strip())))
    repository = GitRepository(top, git_directory, git_directory)
    if repository.is_linked_worktree:
        # The named directory is gone or not mounted here; its path still tells whose work tree this was.
        return GitRepository(top, git_directory, os.path.dirname(os.path.dirname(git_directory)))
    return repository


def _real(path: str) -> str:
    try:
        return os.path.realpath(path)
    except OSError:
        return path  # a link that was replaced between two system calls; what is there is checked before it is read


def _bare_at(directory: str) -> GitRepository | None:
    if not os.path.lexists(os.path.join(directory, "HEAD")):
        return None
    if not all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs")):
        return None
    repository = GitRepository(directory, directory, directory)
    return repository if is_bare(repository) else None


def is_bare(repository: GitRepository) -> bool:
    """Whether the repository's configuration says `core.bare`."""
    config = _read_small_file(os.path.join(repository.common_directory, "config"), repository.roots)
    return config is not None and re.search(r"^\s*bare\s*=\s*true\s*$", config, re.MULTILINE) is not None


def object_format(repository: GitRepository | None) -> ObjectFormat:
    """Returns the hash algorithm of the repository's object ids; git's default (sha1) if its configuration names none."""
    if repository is None:
        return "sha1"
    config = _read_small_file(os.path.join(repository.common_directory, "config"), repository.roots)
    is_long = config is not None and re.search(r"^\s*objectformat\s*=\s*\"?sha256\b", config, re.MULTILINE | re.IGNORECASE)
    return "sha256" if is_long else "sha1"


def tracked_files(
    repository: GitRepository,
    directory: str,
    *,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float = GIT_DEADLINE_SECONDS,
) -> tuple[str, ...]:
    """Returns the files that `repository` tracks below `directory` (absolute, its top or below), relative to that directory,
    in git's order. A submodule is one path.

    Names that are not UTF-8 are decoded with surrogateescape. A conflicted path appears once per stage.

    Raises:
        GitError: git is missing, failed or took too long.
        GitCancelled: `is_cancelled` returned true.
    """
    output = run_git(repository, directory, "ls-files", "-z", is_cancelled=is_cancelled, deadline_seconds=deadline_seconds)
    return tuple(output.decode("utf-8", "surrogateescape").split("\0")[:-1])


def read_head(root: str, roots: GitRoots = ANYWHERE) -> Head:
    """Returns the HEAD of the repository that holds `root`. Never raises: a broken repository is treated like none, as is one
    that leads out of `roots`.

    Reads files; starts git only for a reftable or a HEAD that is a symbolic link or unreadable.
    """
    try:
        repository = find_repository(os.path.realpath(root), roots)
    except OSError:
        # A directory of the path became a link or was removed between two system calls.
        repository = None
    return Head(NO_REF) if repository is None else head_of(repository)


def head_of(repository: GitRepository) -> Head:
    """Returns the HEAD of a repository, like `read_head`."""
    head_file = os.path.join(repository.git_directory, "HEAD")
    content = None if os.path.islink(head_file) else _read_small_file(head_file, repository.roots)
    if content is None or os.path.isdir(os.path.join(repository.common_directory, "reftable")):
        return _head_from_git(repository)
    symbolic = _SYMBOLIC_REF.fullmatch(content.rstrip())
    if symbolic is None:
        commit = content.strip()
        return Head(commit[:DETACHED_REF_LENGTH], commit) if _OBJECT_ID.fullmatch(commit) else Head(NO_REF)
    return Head(_short_ref(symbolic[1]), _resolve_ref(repository, symbolic[1]))


def head_reference(repository: GitRepository) -> str | None:
    """Returns the full name of what HEAD names, such as `refs/heads/main`; None if it is a commit, or cannot be read."""
    content = _read_small_file(os.path.join(repository.git_directory, "HEAD"), repository.roots)
    symbolic = None if content is None else _SYMBOLIC_REF.fullmatch(content.rstrip())
    return symbolic[1] if symbolic is not None and _is_reference(symbolic[1]) else None


def _short_ref(reference: str) -> str:
    return reference.removeprefix("refs/heads/").removeprefix("refs/")


def _resolve_ref(repository: GitRepository, reference: str) -> str | None:
    for _ in range(_MAX_SYMBOLIC_REFS):
        if not _is_reference(reference):
            return None
        for directory in dict.fromkeys((repository.git_directory, repository.common_directory)):
            content = _read_small_file(os.path.join(directory, reference), repository.roots)
            if content is not None:
                break
        else:
            return _packed_commit(repository, reference)
        symbolic = _SYMBOLIC_REF.fullmatch(content.rstrip())
        if symbolic is None:
            return content.strip() if _OBJECT_ID.fullmatch(content.strip()) else None
        reference = symbolic[1]
    return None


def _is_reference(name: str) -> bool:
    """Whether git accepts a name as that of a reference as far as paths go: `ref: ../../x` and `ref: /x` name other files."""
    return name.startswith("refs/") and all(part not in ("", ".", "..") for part in name.split("/")) and "\0" not in name


def _packed_commit(repository: GitRepository, reference: str) -> str | None:
    wanted = b" " + reference.encode("utf-8", "surrogateescape") + b"\n"
    try:
        descriptor = open_inside(os.path.join(repository.common_directory, "packed-refs"), repository.roots)
        with open(descriptor, "rb") as packed:
            lines = iter(lambda: packed.readline(_MAX_PACKED_LINE_BYTES), b"")
            line = next((line for line in lines if line.endswith(wanted) or packed.tell() > _MAX_PACKED_REFS_BYTES), b"")
    except OSError:
        return None
    commit = line.partition(b" ")[0].decode("ascii", "replace") if line.endswith(wanted) else ""
    return commit if _OBJECT_ID.fullmatch(commit) else None


def _head_from_git(repository: GitRepository) -> Head:
    try:
        commit = (
            run_git(repository, repository.top, "rev-parse", "--quiet", "--verify", "HEAD").decode("ascii", "replace").strip()
        )
    except GitError:
        commit = ""
    try:
        name = run_git(repository, repository.top, "symbolic-ref", "--quiet", "HEAD").decode("utf-8", "surrogateescape").strip()
    except GitError:
        return Head(commit[:DETACHED_REF_LENGTH], commit) if commit else Head(NO_REF)
    return Head(_short_ref(name), commit or None)


def shallow_boundary(repository: GitRepository) -> frozenset[str]:
    """Returns the commits whose parents a shallow clone lacks; none if it is not shallow."""
    try:
        content = read_inside(os.path.join(repository.common_directory, "shallow"), _MAX_SHALLOW_BYTES, repository.roots)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(content.decode("ascii", "replace").split())


def _read_small_file(path: str, roots: GitRoots = ANYWHERE) -> str | None:
    try:
        content = read_inside(path, _MAX_SMALL_FILE_BYTES, roots)
    except (OSError, ValueError):
        return None
    return content.decode("utf-8", "surrogateescape")


def run_git(
    repository: GitRepository,
    directory: str,
    *arguments: str,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float = GIT_DEADLINE_SECONDS,
    standard_input: bytes = b"",
    max_output_bytes: int = _MAX_OUTPUT_BYTES,
) -> bytes:
    """Runs one git command in `directory` and returns its standard output.

    Raises:
        GitError: git is missing, failed (GitFailed), took too long or wrote too much (GitOutputTooLarge), starting it on this
            repository is unsafe, its owner is another user, or something of it lies outside of the directories that it must
            lie in, or did so at any time while git ran.
        GitCancelled: `is_cancelled` returned true.
    """

    def run(place: str, command: Sequence[str], *, pinned: bool = True) -> bytes:
        return run_process(
            _command(repository, place, command, pinned=pinned),
            is_cancelled=is_cancelled,
            deadline_seconds=deadline_seconds,
            standard_input=standard_input if pinned else b"",
            max_output_bytes=max_output_bytes,
        )

    def read() -> bytes:
        unsafe = unsafe_file(repository.git_directory, repository.common_directory, repository.top)
        if unsafe is not None:
            raise GitError(f"git was not started: {unsafe}")
        if not _is_own(repository):
            # Git checks owners only where it finds the repository by itself, and knows which ones its user trusts.
            found = os.fsdecode(run(repository.top, ("rev-parse", "--absolute-git-dir"), pinned=False).strip())
            if os.path.realpath(found) != os.path.realpath(repository.git_directory):
                raise GitError("git was not started: its owner is another user, and git takes another directory for it")
        return run(directory, arguments)

    try:
        return kept_inside(_places(repository), repository.roots, read)
    except (LeadsOutError, ChangesError) as error:
        raise GitError(f"git was not started: {error}") from error


def _is_own(repository: GitRepository) -> bool:
    """Whether everything whose owner git checks belongs to this process's user."""
    own = os.geteuid()
    for place in (repository.top, os.path.join(repository.top, ".git"), repository.git_directory):
        try:
            if os.lstat(place).st_uid != own:
                return False
        except OSError:
            continue  # missing: git says what is wrong
    return True


def _command(repository: GitRepository, directory: str, command: Sequence[str], *, pinned: bool) -> GitCommand:
    variables = {"GIT_NO_LAZY_FETCH": "1", "GIT_GRAFT_FILE": os.devnull}
    if pinned:
        variables |= _pinned_environment(repository)
        if repository.scratch:
            variables |= _scratch_environment(repository)
    return git_command(
        *command,
        ceiling=os.path.dirname(repository.top),
        options=("--literal-pathspecs", "-C", directory),
        settings=(*_SAME_ANSWERS, *(_PACKS_OF_ITS_OWN if repository.roots.directories else ())),
        variables=variables,
    )


def _pinned_environment(repository: GitRepository) -> dict[str, str]:
    """Names what has been checked: git then looks for nothing itself, and follows neither `commondir` nor `core.worktree`."""
    places = {"GIT_DIR": repository.git_directory, "GIT_COMMON_DIR": repository.common_directory}
    return places if repository.top == repository.git_directory else {**places, "GIT_WORK_TREE": repository.top}


def _scratch_environment(repository: GitRepository) -> dict[str, str]:
    stored = os.path.join(repository.common_directory, "objects")
    # Quoted as in C: unquoted, a colon in the path would separate two directories.
    quoted = stored.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "GIT_OBJECT_DIRECTORY": os.path.join(repository.scratch, "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        "GIT_INDEX_FILE": os.path.join(repository.scratch, "index"),
    }
