"""What git knows about a directory: which repository it belongs to, what HEAD says, which files are tracked.

Owns every word spoken to git. Files are read where that is enough (`read_head` starts no process), and `git ls-files`
is asked for the tracked set. Invariant: looking never changes a repository and never runs what it configures: no
optional locks, no hooks, no fsmonitor, no fetching, no prompt, and a deadline. A repository that git refuses counts as
one that tracks nothing, with a warning, because a scan must not depend on git.
"""

import os
import re
import selectors
import subprocess
import time
from collections.abc import Callable
from typing import Final

from msgspec import Struct

from codecompass.store.scan import git_files
from codecompass.store.scan.regular_file import open_regular_file, read_regular_file
from codecompass.units import KIB, MIB, SECONDS

GIT_DEADLINE_SECONDS: Final = 30 * SECONDS
"""For one question. `ls-files` takes about 20 ms for 10,000 files; a cold disk or a network home takes seconds."""

DETACHED_REF_LENGTH: Final = 12
NO_REF: Final = "live"
"""The `ref` of a workspace without git."""

_POLL_SECONDS: Final = 0.1 * SECONDS
_SYMBOLIC_DEPTH: Final = 5
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SYMBOLIC: Final = re.compile(r"ref:\s*(\S.*)")
_MAX_SMALL_FILE_BYTES: Final = 4096
_MAX_PACKED_REFS_BYTES: Final = 64 * MIB
_MAX_PACKED_LINE_BYTES: Final = 8 * KIB
_MAX_OUTPUT_BYTES: Final = 256 * MIB
"""Of git: the names of a few million files. More would only fill the memory."""

_MAX_COMPLAINT_BYTES: Final = 64 * KIB
_READ_BYTES: Final = 256 * KIB


class Head(Struct, frozen=True):
    """`ref` is the branch name, the first 12 hex characters of a detached HEAD, or `live` without git.

    `commit` is the full object id, None without git and on a branch that has no commit yet.
    """

    ref: str
    commit: str | None = None


class Repository(Struct, frozen=True):
    """A work tree and the directories behind it, as absolute paths.

    `git_directory` holds this work tree's HEAD and index; `common_directory` the refs, objects and `info/exclude`,
    which all linked work trees share. The two are the same but for a linked work tree.
    """

    top: str
    git_directory: str
    common_directory: str

    @property
    def is_linked_worktree(self) -> bool:
        """Whether this is one of the further work trees made by `git worktree add`."""
        return os.path.basename(os.path.dirname(self.git_directory)) == "worktrees"


class GitError(Exception):
    """Git is not installed, refused, or took too long; the text is for people."""


class GitCancelled(Exception):
    """The caller lost interest while git was running."""


def find_repository(directory: str) -> Repository | None:
    """Returns the repository whose work tree holds `directory` (absolute), the innermost one; None without git."""
    while True:
        repository = repository_at(directory)
        if repository is not None:
            return repository
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def repository_at(top: str) -> Repository | None:
    """Returns the repository whose work tree begins at `top`: a `.git` directory with a HEAD, or a `.git` file that
    names another directory (linked work tree, submodule), whether or not that directory exists."""
    dot_git = os.path.join(top, ".git")
    if os.path.lexists(os.path.join(dot_git, "HEAD")):
        return Repository(top, dot_git, dot_git)
    pointer = _read_small(dot_git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    git_directory = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    common = _read_small(os.path.join(git_directory, "commondir"))
    if "\0" in pointer or (common is not None and "\0" in common):
        return None
    if common is not None:
        return Repository(top, git_directory, os.path.normpath(os.path.join(git_directory, common.strip())))
    repository = Repository(top, git_directory, git_directory)
    if repository.is_linked_worktree:
        # What the pointer names is gone or not mounted here; the layout still says whose work tree this was.
        return Repository(top, git_directory, os.path.dirname(os.path.dirname(git_directory)))
    return repository


def is_bare(repository: Repository) -> bool:
    """Whether the common directory says that it has no work tree of its own (`core.bare`)."""
    config = _read_small(os.path.join(repository.common_directory, "config"))
    return config is not None and re.search(r"^\s*bare\s*=\s*true\s*$", config, re.MULTILINE) is not None


def tracked_files(
    repository: Repository,
    directory: str,
    *,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float = GIT_DEADLINE_SECONDS,
) -> tuple[str, ...]:
    """Returns what `repository` tracks in `directory` (absolute, its top or below) and below, relative to that
    directory, in git's order; a submodule is one path.

    Names that are not UTF-8 are decoded with surrogateescape. A conflicted path appears once per stage.

    Raises:
        GitError: git is missing, refused or too slow.
        GitCancelled: `is_cancelled` said so.
    """
    output = _git(repository, directory, "ls-files", "-z", is_cancelled=is_cancelled, deadline_seconds=deadline_seconds)
    return tuple(output.decode("utf-8", "surrogateescape").split("\0")[:-1])


def read_head(root: str) -> Head:
    """Returns what HEAD of the repository around `root` says, from files; git is asked only for what files do not tell
    (reftable, a HEAD that is a symbolic link). Never raises: a broken repository reads like none."""
    try:
        repository = find_repository(os.path.realpath(root))
    except OSError:
        # A directory on the way became a link, or went, between two system calls.
        repository = None
    if repository is None:
        return Head(NO_REF)
    head_file = os.path.join(repository.git_directory, "HEAD")
    content = None if os.path.islink(head_file) else _read_small(head_file)
    if content is None or os.path.isdir(os.path.join(repository.common_directory, "reftable")):
        return _ask_head(repository)
    symbolic = _SYMBOLIC.fullmatch(content.rstrip())
    if symbolic is None:
        commit = content.strip()
        return Head(commit[:DETACHED_REF_LENGTH], commit) if _OBJECT_ID.fullmatch(commit) else Head(NO_REF)
    return Head(_short(symbolic[1]), _resolve(repository, symbolic[1]))


def _short(reference: str) -> str:
    return reference.removeprefix("refs/heads/").removeprefix("refs/")


def _resolve(repository: Repository, reference: str) -> str | None:
    for _ in range(_SYMBOLIC_DEPTH):
        for directory in dict.fromkeys((repository.git_directory, repository.common_directory)):
            content = _read_small(os.path.join(directory, reference))
            if content is not None:
                break
        else:
            return _packed(repository, reference)
        symbolic = _SYMBOLIC.fullmatch(content.rstrip())
        if symbolic is None:
            return content.strip() if _OBJECT_ID.fullmatch(content.strip()) else None
        reference = symbolic[1]
    return None


def _packed(repository: Repository, reference: str) -> str | None:
    wanted = b" " + reference.encode("utf-8", "surrogateescape") + b"\n"
    try:
        descriptor = open_regular_file(os.path.join(repository.common_directory, "packed-refs"), follows_link=True)
        with open(descriptor, "rb") as packed:
            lines = iter(lambda: packed.readline(_MAX_PACKED_LINE_BYTES), b"")
            line = next((line for line in lines if line.endswith(wanted) or packed.tell() > _MAX_PACKED_REFS_BYTES), b"")
    except OSError:
        return None
    commit = line.partition(b" ")[0].decode("ascii", "replace") if line.endswith(wanted) else ""
    return commit if _OBJECT_ID.fullmatch(commit) else None


def _ask_head(repository: Repository) -> Head:
    try:
        commit = _git(repository, repository.top, "rev-parse", "--quiet", "--verify", "HEAD").decode("ascii", "replace").strip()
    except GitError:
        commit = ""
    try:
        name = _git(repository, repository.top, "symbolic-ref", "--quiet", "HEAD").decode("utf-8", "surrogateescape").strip()
    except GitError:
        return Head(commit[:DETACHED_REF_LENGTH], commit) if commit else Head(NO_REF)
    return Head(_short(name), commit or None)


def _read_small(path: str) -> str | None:
    try:
        content = read_regular_file(path, _MAX_SMALL_FILE_BYTES, follows_link=True)
    except (OSError, ValueError):
        return None
    return content.decode("utf-8", "surrogateescape")


def _git(
    repository: Repository,
    directory: str,
    *arguments: str,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float = GIT_DEADLINE_SECONDS,
) -> bytes:
    unsafe = git_files.unsafe_file(repository.git_directory, repository.common_directory)
    if unsafe is not None:
        raise GitError(f"git was not started: {unsafe}")
    command = [
        "git",
        "--no-pager",
        "--literal-pathspecs",
        # The index of another person's checkout (a container mount, a shared disk) is still worth reading; what makes
        # that dangerous is running what the repository configures, which the rest of this list switches off.
        *("-c", "safe.directory=*"),
        *("-c", "core.fsmonitor=false"),
        *("-c", "core.hooksPath=/dev/null"),
        *("-C", directory),
        *arguments,
    ]
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=_environment(repository),
        )
    except OSError as error:
        raise GitError(f"git could not be started: {error.strerror}") from error
    with process:
        try:
            output, complaint = _communicate(process, is_cancelled, deadline_seconds)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        message = complaint.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitError(f"git {arguments[0]} failed with status {process.returncode}: {message}")
    return output


def _communicate(
    process: subprocess.Popen[bytes], is_cancelled: Callable[[], bool] | None, deadline_seconds: float
) -> tuple[bytes, bytes]:
    """Returns what the process writes until it closes its output. `Popen.communicate` would take any amount."""
    deadline = time.monotonic() + deadline_seconds
    assert process.stdout is not None
    assert process.stderr is not None
    output, complaint = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, complaint)
        while selector.get_map():
            for key, _ in selector.select(_POLL_SECONDS):
                piece = os.read(key.fd, _READ_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data is output or len(complaint) < _MAX_COMPLAINT_BYTES:
                    key.data.extend(piece)
            if is_cancelled is not None and is_cancelled():
                raise GitCancelled
            if time.monotonic() > deadline:
                raise GitError(f"git took longer than {deadline_seconds:.0f} seconds")
            if len(output) > _MAX_OUTPUT_BYTES:
                raise GitError(f"git wrote more than {_MAX_OUTPUT_BYTES // MIB} MiB")
    return bytes(output), bytes(complaint)


def _environment(repository: Repository) -> dict[str, str]:
    # GIT_DIR and its kin are set when we run inside a hook, and would make git answer for another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        # A directory whose `.git` git does not accept must not answer for the repository around it.
        "GIT_CEILING_DIRECTORIES": os.path.dirname(repository.top),
        "LC_ALL": "C",
    }
