"""Who wrote lines of a committed file, and which commits changed them: `git blame` and `git log`, bounded in time and output.

Of the work tree nothing but attributes is read, and no program that a repository's configuration names is started: no filters, no
conversions to text, no signatures.
"""

import os
import re
from collections.abc import Callable
from stat import S_ISREG
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.scan.git_conversions import require_plain_attributes
from codecompass.scan.git_repository import GitError, GitFailed, GitRepository, run_git
from codecompass.units import MIB, SECONDS

MAX_BLAMED_LINES: Final = 400
MAX_COMMITS: Final = 50
DEADLINE_SECONDS: Final = 10 * SECONDS
MAX_OUTPUT_BYTES: Final = 4 * MIB
MAX_MAILMAP_BYTES: Final = 1 * MIB

_FIELDS: Final = 4
_HEAD: Final = lazy.pattern(r"([0-9a-f]{40,64}) (\d+) (\d+)(?: \d+)?")
_NO_FILES: Final = ("-c", "mailmap.file=", "-c", "mailmap.blob=")


class Commit(Struct, frozen=True, kw_only=True):
    """A commit. `at` is when it was written, in seconds since 1970."""

    commit: str
    author: str
    at: int
    subject: str


class BlamedLine(Struct, frozen=True):
    """A line of a file, counted from 1, and the commit that wrote it."""

    number: int
    text: str
    commit: Commit


class History(Struct, frozen=True):
    """The commits that changed something, newest first; `is_partial` if there are more."""

    commits: tuple[Commit, ...]
    is_partial: bool


def blame(
    repository: GitRepository,
    path: str,
    first: int,
    last: int,
    *,
    revision: str = "HEAD",
    is_cancelled: Callable[[], bool] | None = None,
) -> tuple[BlamedLine, ...]:
    """Returns these lines of a file, at most MAX_BLAMED_LINES, as a commit has them. `path` is relative to the top.

    Raises GitError, also if the commit has no such file or not so many lines.
    """
    last = min(last, first + MAX_BLAMED_LINES - 1)
    output = _git(
        repository,
        path,
        # An empty `blame.ignoreRevsFile` does not undo one of the configuration: git opens it, and quotes it in its error.
        *("blame", "--porcelain", "--no-textconv", "--no-ignore-revs-file", f"-L{first},{last}", _revision(revision), "--", path),
        is_cancelled=is_cancelled,
    )
    return _blamed(output)


def history(
    repository: GitRepository,
    path: str,
    lines: tuple[int, int] | None = None,
    *,
    revision: str = "HEAD",
    is_cancelled: Callable[[], bool] | None = None,
) -> History:
    """Returns the commits that changed a file, also under its former names, or `lines` (first and last) of it.

    `path` is relative to the top, the lines are those of `revision`. Raises GitError, also if there are not so many lines.
    """
    what: tuple[str, ...] = ("--follow", _revision(revision), "--", path)
    if lines is not None:
        what = (f"-L{lines[0]},{lines[1]}:{path}", _revision(revision))
    output = _git(
        repository,
        path,
        *("log", f"--max-count={MAX_COMMITS + 1}", "-z", "--format=%H%x1f%an%x1f%at%x1f%s", "--encoding=UTF-8"),
        *("--no-patch", "--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", "--no-color", "--no-decorate"),
        *what,
        is_cancelled=is_cancelled,
    )
    found = tuple(commit for each in output.split("\0") if (commit := _commit(each)) is not None)
    return History(found[:MAX_COMMITS], len(found) > MAX_COMMITS)


def _git(repository: GitRepository, path: str, *arguments: str, is_cancelled: Callable[[], bool] | None) -> str:
    require_plain_attributes(repository, (path,))
    _require_plain_mailmap(repository)
    try:
        output = run_git(
            repository,
            repository.top,
            *_NO_FILES,
            *arguments,
            is_cancelled=is_cancelled,
            deadline_seconds=DEADLINE_SECONDS,
            max_output_bytes=MAX_OUTPUT_BYTES,
        )
    except GitFailed as error:
        raise GitError(str(error).replace("git -c ", f"git {arguments[0]} ", 1)) from error
    return output.decode("utf-8", "surrogateescape")


def _require_plain_mailmap(repository: GitRepository) -> None:
    """Raises GitError if git would open anything but a small regular file to read the names of authors."""
    try:
        status = os.lstat(os.path.join(repository.top, ".mailmap"))
    except OSError:
        return
    if not S_ISREG(status.st_mode) or status.st_size > MAX_MAILMAP_BYTES:
        raise GitError(f"git was not started: .mailmap is not a regular file, or is larger than {MAX_MAILMAP_BYTES // MIB} MiB")


def _revision(name: str) -> str:
    if name != "HEAD" and re.fullmatch(r"[0-9a-f]{7,64}", name) is None:
        raise GitError("only a commit id or HEAD is taken")
    return name


def _commit(record: str) -> Commit | None:
    fields = record.strip("\n").split("\x1f", _FIELDS - 1)
    if len(fields) != _FIELDS or not fields[2].lstrip("-").isdecimal():
        return None
    return Commit(commit=fields[0], author=fields[1], at=int(fields[2]), subject=fields[3])


def _blamed(output: str) -> tuple[BlamedLine, ...]:
    """Reads the porcelain form: of each commit, what is known is written once, before its first line."""
    known: dict[str, dict[str, str]] = {}
    lines: list[BlamedLine] = []
    commit, number = "", 0
    for line in output.split("\n"):
        head = _HEAD.fullmatch(line)
        if line.startswith("\t"):
            facts = known.get(commit, {})
            at = facts.get("author-time", "0")
            author = facts.get("author", "")
            found = Commit(commit=commit, author=author, at=int(at) if at.isdecimal() else 0, subject=facts.get("summary", ""))
            lines.append(BlamedLine(number, line[1:], found))
        elif head is not None:
            commit, number = head[1], int(head[3])
            known.setdefault(commit, {})
        else:
            name, _, value = line.partition(" ")
            known.setdefault(commit, {})[name] = value
    return tuple(lines)
