"""The files of a worker on its machine: mirrors of repositories and the indexes built from them. All of it can be built again.

    <home>/cluster/<prefix>/projects/<repo_id>/mirror/.git    commits of the remote
    <home>/cluster/<prefix>/projects/<repo_id>/history/.git   the newest commits of its default branch, to be searched
    <home>/cluster/<prefix>/projects/<repo_id>/refs/<commit>/ the index of a commit, of which the next one is a fork

It is apart from other indexes, because nothing in it belongs to a project of the registry. Workers on one machine may share it.
"""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codecompass.errors import CodeCompassError, IndexInProgress
from codecompass.store.commit_indexes import remove_commit, remove_leftovers
from codecompass.store.filesystem import disk_space
from codecompass.store.housekeeping import orphans, remove_orphan, remove_project
from codecompass.store.layout import HomeLayout, ProjectLayout, commit_layouts
from codecompass.store.lock import LockHeld, writer_lock


class WorkerHome:
    """The files of all repositories of one cluster. All methods block."""

    def __init__(self, home: HomeLayout, prefix: str) -> None:
        self.layout: Final = home.cluster(prefix)

    def project(self, repo_id: str) -> ProjectLayout:
        """Returns the paths of the indexes of a repository."""
        return self.layout.project(repo_id)

    def mirror(self, repo_id: str) -> Path:
        """Returns the path of a repository's mirror."""
        return self.project(repo_id).root / "mirror"

    def history(self, repo_id: str) -> Path:
        """Returns the path of the newest commits of a repository."""
        return self.project(repo_id).root / "history"

    def has(self, repo_id: str) -> bool:
        """Returns whether this machine has an index of any commit of a repository."""
        return bool(commit_layouts(self.project(repo_id)))

    @contextmanager
    def locked(self, repo_id: str, owner: str) -> Iterator[None]:
        """Locks the files of a repository against all other processes of this machine.

        Raises IndexInProgress if another process has the lock: a paused worker that has lost its lease may still hold it.
        """
        try:
            with writer_lock(self.project(repo_id), owner):
                yield
        except LockHeld as error:
            raise IndexInProgress(
                f"another worker on the same machine is still at this repository ({error.owner or 'unknown'}). Workers try again "
                "by themselves; if that process is stopped, end it."
            ) from error

    def keep_commits(self, repo_id: str, commits: Collection[str]) -> None:
        """Removes the indexes of all other commits."""
        for layout in commit_layouts(self.project(repo_id)):
            if layout.root.name not in commits:
                remove_commit(layout)
        remove_leftovers(self.project(repo_id))

    def forget_all_but(self, known: Collection[str]) -> int:
        """Removes the files of all other repositories. Returns the bytes freed."""
        return sum(remove_orphan(orphan) for orphan in orphans(self.layout, frozenset(known)))

    def trim(self, max_bytes: int) -> int:
        """Removes the files of the least recently used repositories until all files take at most `max_bytes`; 0 is no limit.

        Skips repositories that a process is using. Returns the bytes freed.
        """
        if not max_bytes:
            return 0
        found = []
        with suppress(OSError):
            for path in (self.layout.root / "projects").iterdir():
                layout = ProjectLayout(path)
                space = disk_space(path)
                found.append((_used_at(layout), path.name, space.total))
        used = sum(n_bytes for _, _, n_bytes in found)
        freed = 0
        for _, name, n_bytes in sorted(found):
            if used <= max_bytes:
                break
            with suppress(CodeCompassError):
                if remove_project(self.layout.project(name), spare_readers=True):
                    freed += n_bytes
                    used -= n_bytes
        return freed


def _used_at(layout: ProjectLayout) -> float:
    with suppress(OSError):
        return os.stat(layout.lock).st_mtime
    return 0.0
