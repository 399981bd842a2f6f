"""The commit that is released: its files, without anything that is only in the working tree, and its time."""

import io
import subprocess
import tarfile
from pathlib import Path

from msgspec import Struct


class ReleaseError(Exception):
    """The release cannot be made. The message says why, and what to do."""


class Commit(Struct, frozen=True, kw_only=True):
    """A commit. `seconds` since 1970 is its committer's time; `changed` are tracked files that differ in the working tree."""

    id: str
    seconds: int
    changed: tuple[str, ...] = ()


def read_commit(repository: Path, revision: str = "HEAD") -> Commit:
    """Returns the commit that `revision` names.

    Raises ReleaseError if the directory is not in a repository, or has no such commit.
    """
    told = _git(repository, "show", "--no-patch", "--format=%H %ct", f"{revision}^{{commit}}").decode().split()
    status = _git(repository, "status", "--porcelain", "--untracked-files=no", "-z").decode(errors="replace")
    return Commit(id=told[0], seconds=int(told[1]), changed=tuple(line[3:] for line in status.split("\0") if line))


def export(repository: Path, commit: Commit, target: Path) -> None:
    """Writes the files of a commit into the empty directory `target`."""
    packed = _git(repository, "archive", "--format=tar", commit.id)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")


def _git(repository: Path, *arguments: str) -> bytes:
    done = subprocess.run(["git", "-C", str(repository), *arguments], capture_output=True, check=False)
    if done.returncode:
        raise ReleaseError(f"git {arguments[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout
