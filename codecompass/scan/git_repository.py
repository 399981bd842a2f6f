"""Reads git repositories (which one holds a directory, its HEAD, its tracked files) and runs git commands.

Starts git only if no file of the repository can make it block for ever (`unsafe_file`). No command uses the network, hooks or
the terminal, or runs a program that the repository configures.
"""

import os
import re
import selectors
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from stat import S_ISBLK, S_ISCHR, S_ISFIFO
from typing import Final

from msgspec import Struct

from codecompass.identity import ObjectFormat
from codecompass.scan.files import open_regular_file, printable, read_regular_file
from codecompass.units import KIB, MIB, SECONDS

GIT_DEADLINE_SECONDS: Final = 30 * SECONDS
"""Deadline of one command. `ls-files` takes about 20 ms for 10,000 files; seconds on a cold disk or a network file system."""

DETACHED_REF_LENGTH: Final = 12
NO_REF: Final = "live"
"""The `ref` of a workspace without git."""

_POLL_SECONDS: Final = 0.1 * SECONDS
_MAX_SYMBOLIC_REFS: Final = 5
_OBJECT_ID: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_SYMBOLIC_REF: Final = re.compile(r"ref:\s*(\S.*)")
_MAX_SMALL_FILE_BYTES: Final = 4096
_MAX_PACKED_REFS_BYTES: Final = 64 * MIB
_MAX_PACKED_LINE_BYTES: Final = 8 * KIB
_MAX_OUTPUT_BYTES: Final = 256 * MIB
"""Limit of git's standard output: the names of a few million files."""

_MAX_ERROR_BYTES: Final = 64 * KIB
_READ_BYTES: Final = 256 * KIB


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

    @property
    def is_linked_worktree(self) -> bool:
        """Whether this work tree was made by `git worktree add`."""
        return os.path.basename(os.path.dirname(self.git_directory)) == "worktrees"


class GitError(Exception):
    """Git could not be started, failed or took too long. The text is for people."""


class GitFailed(GitError):
    """Git exited with a `status` other than 0. For most commands 1 and 128 mean that a named object does not exist."""

    def __init__(self, command: str, status: int, message: str) -> None:
        super().__init__(f"git {command} failed with status {status}: {message}")
        self.status = status


class GitOutputTooLarge(GitError):
    """Git wrote more than `max_output_bytes`."""


class GitCancelled(Exception):
    """`is_cancelled` returned true while git was running."""


def find_repository(directory: str) -> GitRepository | None:
    """Returns the innermost repository whose work tree, or which as a bare repository, holds `directory` (absolute), or None."""
    while True:
        repository = repository_at(directory) or bare_repository_at(directory)
        if repository is not None:
            return repository
        parent = os.path.dirname(directory)
        if parent == directory:
            return None
        directory = parent


def repository_at(top: str) -> GitRepository | None:
    """Returns the repository whose work tree has its top at `top`, or None.

    A top has a `.git` directory with a HEAD, or a `.git` file that names another directory (linked work tree, submodule),
    whether or not that exists.
    """
    dot_git = os.path.join(top, ".git")
    if os.path.lexists(os.path.join(dot_git, "HEAD")):
        return GitRepository(top, dot_git, dot_git)
    pointer = _read_small_file(dot_git)
    if pointer is None or not pointer.startswith("gitdir:"):
        return None
    git_directory = os.path.normpath(os.path.join(top, pointer.removeprefix("gitdir:").strip()))
    common = _read_small_file(os.path.join(git_directory, "commondir"))
    if "\0" in pointer or (common is not None and "\0" in common):
        return None
    if common is not None:
        return GitRepository(top, git_directory, os.path.normpath(os.path.join(git_directory, common.strip())))
    repository = GitRepository(top, git_directory, git_directory)
    if repository.is_linked_worktree:
        # The named directory is gone or not mounted here; its path still tells whose work tree this was.
        return GitRepository(top, git_directory, os.path.dirname(os.path.dirname(git_directory)))
    return repository


def bare_repository_at(directory: str) -> GitRepository | None:
    """Returns the repository without a work tree that `directory` is, or None: git's own marks, and `core.bare`."""
    if not os.path.lexists(os.path.join(directory, "HEAD")):
        return None
    if not all(os.path.isdir(os.path.join(directory, name)) for name in ("objects", "refs")):
        return None
    repository = GitRepository(directory, directory, directory)
    return repository if is_bare(repository) else None


def is_bare(repository: GitRepository) -> bool:
    """Whether the repository's configuration says `core.bare`."""
    config = _read_small_file(os.path.join(repository.common_directory, "config"))
    return config is not None and re.search(r"^\s*bare\s*=\s*true\s*$", config, re.MULTILINE) is not None


def object_format(repository: GitRepository | None) -> ObjectFormat:
    """Returns the hash algorithm of the repository's object ids; git's default (sha1) if its configuration names none."""
    config = None if repository is None else _read_small_file(os.path.join(repository.common_directory, "config"))
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


def read_head(root: str) -> Head:
    """Returns the HEAD of the repository that holds `root`. Never raises: a broken repository is treated like none.

    Reads files; starts git only for a reftable or a HEAD that is a symbolic link or unreadable.
    """
    try:
        repository = find_repository(os.path.realpath(root))
    except OSError:
        # A directory of the path became a link or was removed between two system calls.
        repository = None
    if repository is None:
        return Head(NO_REF)
    head_file = os.path.join(repository.git_directory, "HEAD")
    content = None if os.path.islink(head_file) else _read_small_file(head_file)
    if content is None or os.path.isdir(os.path.join(repository.common_directory, "reftable")):
        return _head_from_git(repository)
    symbolic = _SYMBOLIC_REF.fullmatch(content.rstrip())
    if symbolic is None:
        commit = content.strip()
        return Head(commit[:DETACHED_REF_LENGTH], commit) if _OBJECT_ID.fullmatch(commit) else Head(NO_REF)
    return Head(_short_ref(symbolic[1]), _resolve_ref(repository, symbolic[1]))


def _short_ref(reference: str) -> str:
    return reference.removeprefix("refs/heads/").removeprefix("refs/")


def _resolve_ref(repository: GitRepository, reference: str) -> str | None:
    for _ in range(_MAX_SYMBOLIC_REFS):
        for directory in dict.fromkeys((repository.git_directory, repository.common_directory)):
            content = _read_small_file(os.path.join(directory, reference))
            if content is not None:
                break
        else:
            return _packed_commit(repository, reference)
        symbolic = _SYMBOLIC_REF.fullmatch(content.rstrip())
        if symbolic is None:
            return content.strip() if _OBJECT_ID.fullmatch(content.strip()) else None
        reference = symbolic[1]
    return None


def _packed_commit(repository: GitRepository, reference: str) -> str | None:
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


def _read_small_file(path: str) -> str | None:
    try:
        content = read_regular_file(path, _MAX_SMALL_FILE_BYTES, follows_link=True)
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
        GitError: git is missing, failed (GitFailed), took too long or wrote too much (GitOutputTooLarge), or starting it on this
            repository is unsafe.
        GitCancelled: `is_cancelled` returned true.
    """
    unsafe = unsafe_file(repository.git_directory, repository.common_directory)
    if unsafe is not None:
        raise GitError(f"git was not started: {unsafe}")
    command = [
        "git",
        "--no-pager",
        "--literal-pathspecs",
        # Checkouts of other users (a container mount, a shared disk) are read too. The danger would be running programs that the
        # repository configures, which the other options prevent.
        *("-c", "safe.directory=*"),
        *("-c", "core.fsmonitor=false"),
        *("-c", "core.hooksPath=/dev/null"),
        *("-C", directory),
        *arguments,
    ]
    # A file, not a pipe, so that writing its input and reading its output need no interleaving.
    with tempfile.TemporaryFile() if standard_input else open(os.devnull, "rb") as given:
        if standard_input:
            given.write(standard_input)
            given.seek(0)
        try:
            process = subprocess.Popen(
                command,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=_environment(repository),
            )
        except OSError as error:
            raise GitError(f"git could not be started: {error.strerror}") from error
    with process:
        try:
            output, errors = _communicate(process, is_cancelled, deadline_seconds, max_output_bytes)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        message = errors.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitFailed(arguments[0], process.returncode, message)
    return output


def _communicate(
    process: subprocess.Popen[bytes],
    is_cancelled: Callable[[], bool] | None,
    deadline_seconds: float,
    max_output_bytes: int,
) -> tuple[bytes, bytes]:
    """Returns the output and errors of the process when it has closed both. `Popen.communicate` has no size limit."""
    deadline = time.monotonic() + deadline_seconds
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            for key, _ in selector.select(_POLL_SECONDS):
                piece = os.read(key.fd, _READ_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data is output or len(errors) < _MAX_ERROR_BYTES:
                    key.data.extend(piece)
            if is_cancelled is not None and is_cancelled():
                raise GitCancelled
            if time.monotonic() > deadline:
                raise GitError(f"git took longer than {deadline_seconds:.0f} seconds")
            if len(output) > max_output_bytes:
                raise GitOutputTooLarge(f"git wrote more than {max_output_bytes // MIB} MiB")
    return bytes(output), bytes(errors)


def _environment(repository: GitRepository) -> dict[str, str]:
    # GIT_DIR and others are set inside a hook and would make git use another repository.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return environment | {
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
        # An id must always name the same content, which `git replace` would break.
        "GIT_NO_REPLACE_OBJECTS": "1",
        # If git rejects this `.git`, it must not fall back to an enclosing repository.
        "GIT_CEILING_DIRECTORIES": os.path.dirname(repository.top),
        "LC_ALL": "C",
        **(_scratch_environment(repository) if repository.scratch else {}),
    }


def _scratch_environment(repository: GitRepository) -> dict[str, str]:
    stored = os.path.join(repository.common_directory, "objects")
    # Quoted as in C: unquoted, a colon in the path would separate two directories.
    quoted = stored.replace("\\", "\\\\").replace('"', '\\"')
    return {
        "GIT_OBJECT_DIRECTORY": os.path.join(repository.scratch, "objects"),
        "GIT_ALTERNATE_OBJECT_DIRECTORIES": f'"{quoted}"',
        "GIT_INDEX_FILE": os.path.join(repository.scratch, "index"),
    }


# Files of a repository that make starting git unsafe: pipes and devices block it, huge files exhaust its memory.

MAX_CONFIG_BYTES: Final = 1 * MIB
"""Git never writes a larger `config`."""

MAX_INDEX_BYTES: Final = 1024 * MIB
"""Size of the index of ten million files."""

MAX_CONFIG_FILES: Final = 20
"""Configuration files in all, with those that they include directly or indirectly."""

_MAX_ENTRIES: Final = 10_000
_DIRECTORIES: Final = ("", "info", "objects/info", "reftable", "refs")
_SIZES: Final = {"config": MAX_CONFIG_BYTES, "config.worktree": MAX_CONFIG_BYTES, "index": MAX_INDEX_BYTES}
_INCLUDE_PATH: Final = re.compile(r"^[ \t]*path[ \t]*=[ \t]*\"?([^\n\"]*)", re.MULTILINE | re.IGNORECASE)


def unsafe_file(git_directory: str, common_directory: str) -> str | None:
    """Returns a sentence about the file that makes starting git on a repository unsafe, or None."""
    directories = tuple(dict.fromkeys((git_directory, common_directory)))
    for directory in directories:
        for path, size in _repository_files(directory):
            reason = _unsafe_reason(path, size)
            if reason is not None:
                return reason
    return _unsafe_include([os.path.join(directory, name) for directory in directories for name in ("config", "config.worktree")])


def _repository_files(directory: str) -> Iterator[tuple[str, int | None]]:
    """Yields the entries of the directories in which git opens files, and the size limit of each."""
    for name in _DIRECTORIES:
        try:
            with os.scandir(os.path.join(directory, name)) as entries:
                for _, entry in zip(range(_MAX_ENTRIES), entries, strict=False):
                    yield entry.path, None if name else _SIZES.get(entry.name)
        except (OSError, ValueError):
            continue


def _unsafe_include(pending: list[str]) -> str | None:
    seen: set[str] = set()
    while pending:
        path = pending.pop()
        if path in seen:
            continue
        seen.add(path)
        if len(seen) > MAX_CONFIG_FILES:
            return f"its configuration includes more than {MAX_CONFIG_FILES} files"
        reason = _unsafe_reason(path, MAX_CONFIG_BYTES)
        if reason is not None:
            return reason
        try:
            content = read_regular_file(path, MAX_CONFIG_BYTES, follows_link=True)
        except (OSError, ValueError):
            continue
        # Any `path` of any section: checking too many is harmless.
        for written in _INCLUDE_PATH.findall(content.decode("utf-8", "surrogateescape")):
            included = os.path.expanduser(written.strip())
            if included:
                pending.append(os.path.join(os.path.dirname(path), included))
    return None


def _unsafe_reason(path: str, max_bytes: int | None) -> str | None:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None  # git fails on it without waiting
    mode = status.st_mode
    if S_ISFIFO(mode) or S_ISCHR(mode) or S_ISBLK(mode):
        reason = "is not a regular file"
    elif max_bytes is not None and status.st_size > max_bytes:
        reason = f"is larger than {max_bytes // MIB} MiB"
    else:
        return None
    return f"{printable('/'.join(path.split('/')[-3:]))} {reason}"
