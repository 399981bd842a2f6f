"""The history of a default branch, published beside its index: the newest commits, as the files of a git repository.

    worker: fetch --depth=cluster.history -> packs, ids of cut commits  --segments-->  history/.git/...
    server: copies of these files are a repository, in which git answers as it does beside a clone

Packs never change, so that a push writes and copies a small one. No setting or hook of the remote's or of a machine's repository
is among the files: what git reads besides the objects is written here. Without a checkout, git reads attributes (`-diff`) from
its index, so that the files of attributes of the commit are in one.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.indexing.remote_refs import RemoteRef
from codecompass.cluster.indexing.remotes import Mirror, RemoteLimits
from codecompass.errors import CodeCompassError
from codecompass.log import get_logger
from codecompass.scan.git_conversions import MAX_ATTRIBUTES_BYTES
from codecompass.scan.git_objects import read_blobs, read_tree
from codecompass.scan.git_repository import GitError, repository_at, run_git
from codecompass.scan.git_revisions import resolve_commit
from codecompass.units import MIB, MINUTES

HISTORY: Final = "history"
"""The directory of the repository among the files of a generation."""

_GIT: Final = f"{HISTORY}/.git"
_PACKS: Final = "objects/pack"
_BRANCH: Final = "refs/heads/published"

_CONFIG: Final = "[core]\n\trepositoryformatversion = {version}\n\tbare = false\n{more}"
_LONG: Final = "[extensions]\n\tobjectformat = sha256\n"
"""What git needs to read a repository whose ids have 64 digits."""

_SHORT_ID: Final = 40

_ATTRIBUTES: Final = ".gitattributes"
_REGULAR: Final = ("100644", "100755")

MAX_ATTRIBUTE_FILES: Final = 10_000
"""Files of attributes of one commit that are published, the first by path."""

MAX_BYTES: Final = 512 * MIB
FETCH_SECONDS: Final = 10 * MINUTES
"""Limits of a history. One that is larger or slower is not published."""


class History(Struct, frozen=True):
    """What is published of the history up to a commit."""

    git: Path
    """The git directory with its objects, of which nobody changes anything meanwhile."""
    commit: str


async def fetch_history(
    root: Path, limits: RemoteLimits, generations: int, url: str, ref: RemoteRef, commit: str
) -> History | None:
    """Fetches the newest `generations` of a ref into `root`, and returns their history up to `commit`; None if it cannot be had,
    which is logged: a repository can be searched without it."""
    bounded = replace(limits, max_bytes=min(limits.max_bytes, MAX_BYTES), fetch_seconds=min(limits.fetch_seconds, FETCH_SECONDS))
    mirror = Mirror(root, bounded, generations)
    cause = "the remote has moved on without it"
    try:
        await mirror.fetch(url, [ref])
        await mirror.keep_only([ref])
        repository = mirror.repository()
        if repository is not None:
            await trio.to_thread.run_sync(partial(resolve_commit, repository, commit))
            return History(mirror.root / ".git", commit)
    except (CodeCompassError, GitError, OSError) as error:
        cause = str(error)
    get_logger(__name__).warning("history_failed", url=url, ref=ref.name, cause=cause)
    return None


def history_files(history: History, scratch: Path) -> Iterator[tuple[str, Path]]:
    """Yields the name and path of each file to publish; those that are not of the mirror are written to `scratch`."""
    for path in sorted((history.git / _PACKS).glob("pack-*")):
        if path.suffix in (".pack", ".idx"):
            yield f"{_GIT}/{_PACKS}/{path.name}", path
    shallow = history.git / "shallow"
    if shallow.exists():
        yield f"{_GIT}/shallow", shallow
    is_long = len(history.commit) > _SHORT_ID
    own = {
        "HEAD": f"ref: {_BRANCH}\n",
        "config": _CONFIG.format(version=int(is_long), more=_LONG if is_long else ""),
        _BRANCH: f"{history.commit}\n",
    }
    for name, text in own.items():
        path = scratch / name.replace("/", "-")
        path.write_text(text, encoding="ascii")
        yield f"{_GIT}/{name}", path
    try:
        index = _index_of_attributes(history, scratch)
    except GitError as error:
        get_logger(__name__).warning("history_without_attributes", commit=history.commit, cause=str(error))
    else:
        if index is not None:
            yield f"{_GIT}/index", index


def _index_of_attributes(history: History, scratch: Path) -> Path | None:
    """Returns git's index with the files of attributes of the commit, None if it has none. Raises GitError."""
    repository = repository_at(str(history.git.parent))
    if repository is None:
        return None
    tree = read_tree(repository, repository.top, history.commit)
    listed = {path: file for path, file in tree.items() if path.rpartition("/")[2] == _ATTRIBUTES and file.mode in _REGULAR}
    ids = list(dict.fromkeys(file.object_id for file in listed.values()))
    usable = {each.object_id for each in read_blobs(repository, ids, MAX_ATTRIBUTES_BYTES) if each.content is not None}
    entries = [(path, file) for path, file in sorted(listed.items()) if file.object_id in usable][:MAX_ATTRIBUTE_FILES]
    if not entries:
        return None
    (scratch / "objects").mkdir(exist_ok=True)
    lines = "".join(f"{file.mode} {file.object_id}\t{path}\0" for path, file in entries)
    run_git(
        replace(repository, scratch=str(scratch)),
        repository.top,
        *("update-index", "--no-split-index", "-z", "--index-info"),
        standard_input=lines.encode("utf-8", "surrogateescape"),
    )
    return scratch / "index"


def is_of_history(name: str) -> bool:
    """Whether a file of a generation is one of its history."""
    return name.startswith(f"{_GIT}/")
