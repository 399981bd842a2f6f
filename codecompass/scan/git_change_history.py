"""Which files the last commits changed together, read with one `git log`: names alone, no contents."""

import os
from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from codecompass.scan.files import is_utf8
from codecompass.scan.git_repository import GitRepository, run_git, shallow_boundary
from codecompass.units import MIB, SECONDS

MAX_COMMITS: Final = 2_000

MAX_FILES: Final = 50
"""A commit that changes more files says little about any two of them."""

DEADLINE_SECONDS: Final = 20 * SECONDS
MAX_OUTPUT_BYTES: Final = 32 * MIB


class ChangeHistory(Struct, frozen=True):
    """The files of each of the last commits before and at `head`, without merges."""

    head: str = ""
    paths: tuple[str, ...] = ()
    """Each once, relative to the workspace; not all of them still exist."""
    commits: tuple[tuple[int, ...], ...] = ()
    """The newest first: the places in `paths` of the files that it changed, none for one that changed too many."""


NO_HISTORY: Final = ChangeHistory()


def read_change_history(
    repository: GitRepository, root: str, head: str, *, is_cancelled: Callable[[], bool] | None = None
) -> ChangeHistory:
    """Returns what the last MAX_COMMITS commits up to `head` (a commit's id) changed below `root`. Raises GitError, GitCancelled.

    A shallow clone has the commits that it has, without those at its boundary, which seem to add all of their files; nothing is
    fetched.
    """
    boundary = "".join(f"^{each}\n" for each in sorted(shallow_boundary(repository)))
    prefix = "" if root == repository.top else os.path.relpath(root, repository.top) + "/"
    output = run_git(
        repository,
        repository.top,
        *("log", f"--max-count={MAX_COMMITS}", "--no-merges", "--name-only", "-z", "--format=%x01", "--no-renames"),
        *("--no-ext-diff", "--no-textconv", "--no-show-signature", "--no-mailmap", "--no-color", "--no-decorate"),
        *("--ignore-submodules=all", f"--relative={prefix}" if prefix else "--no-relative", *(["--stdin"] if boundary else [])),
        *(head, "--", *([prefix] if prefix else [])),
        standard_input=boundary.encode("ascii"),
        is_cancelled=is_cancelled,
        deadline_seconds=DEADLINE_SECONDS,
        max_output_bytes=MAX_OUTPUT_BYTES,
    )
    places: dict[str, int] = {}
    commits = tuple(tuple(places.setdefault(path, len(places)) for path in paths) for paths in _files_of_commits(output))
    return ChangeHistory(head, tuple(places), commits)


def _files_of_commits(output: bytes) -> Iterator[list[str]]:
    for record in output.decode("utf-8", "surrogateescape").split("\x01\0")[1:]:
        paths = [path for path in record.removeprefix("\n").split("\0") if path and is_utf8(path)]
        yield paths if len(paths) <= MAX_FILES else []
