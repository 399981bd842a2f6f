"""What a worker keeps on its machine: mirrors of repositories and the indexes made of them. All of it can be made again.

    <home>/cluster/<prefix>/projects/<repo_id>/mirror/.git    commits of the remote
    <home>/cluster/<prefix>/projects/<repo_id>/refs/<commit>/ the index of a commit, which the next one is begun as
    <home>/cluster/<prefix>/facts-<process>/                  facts of generations, while the process lives

A home of its own, because nothing in it belongs to a project of the registry. Workers on one machine may share it.
"""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codecompass.errors import CodeCompassError, IndexInProgress
from codecompass.store.commit_indexes import remove_commit, remove_leftovers
from codecompass.store.filesystem import disk_space
from codecompass.store.housekeeping import orphans, remove_orphan, remove_project
from codecompass.store.layout import HomeLayout, ProjectLayout, commit_layouts, make_private_directory
from codecompass.store.lock import LockHeld, ProcessMark, is_alive, this_process, writer_lock

_FACTS: Final = "facts-"


class WorkerHome:
    """The files of all repositories of one cluster. All methods block."""

    def __init__(self, home: HomeLayout, prefix: str) -> None:
        self.layout: Final = home.cluster(prefix)

    def project(self, repo_id: str) -> ProjectLayout:
        """Returns the paths of the indexes of a repository."""
        return self.layout.project(repo_id)

    def mirror(self, repo_id: str) -> Path:
        """Returns where the mirror of a repository is."""
        return self.project(repo_id).root / "mirror"

    def has(self, repo_id: str) -> bool:
        """Returns whether this machine has the index of some commit of a repository."""
        return bool(commit_layouts(self.project(repo_id)))

    @contextmanager
    def alone(self, repo_id: str, owner: str) -> Iterator[None]:
        """Keeps all other processes of this machine from the files of a repository.

        Raises IndexInProgress where one is at them: a worker that was stopped and has lost its lease may still be.
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
        """Removes the indexes of other commits than these."""
        for layout in commit_layouts(self.project(repo_id)):
            if layout.root.name not in commits:
                remove_commit(layout)
        remove_leftovers(self.project(repo_id))

    def forget_all_but(self, known: Collection[str]) -> int:
        """Removes the files of repositories that are not `known`, and leftovers of earlier processes. Returns the bytes freed."""
        freed = sum(remove_orphan(orphan) for orphan in orphans(self.layout, frozenset(known)))
        with suppress(OSError):
            for path in self.layout.root.iterdir():
                if path.name.startswith(_FACTS) and not is_alive(_mark(path.name)):
                    shutil.rmtree(path, ignore_errors=True)
        return freed

    def trim(self, max_bytes: int) -> int:
        """Removes the files of the repositories that were worked on longest ago, until all take `max_bytes` at most.

        0 is no limit. What a process is at stays. Returns the bytes freed.
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

    def facts_directory(self) -> Path:
        """Returns a directory for this process alone, which `forget_all_but` of a later one removes."""
        mark = this_process()
        path = self.layout.root / f"{_FACTS}{mark.pid}-{mark.started.replace('/', '-')}"
        make_private_directory(path)
        return path


def _mark(name: str) -> ProcessMark:
    pid, _, started = name.removeprefix(_FACTS).partition("-")
    return ProcessMark(int(pid) if pid.isdecimal() else 0, started)


def _used_at(layout: ProjectLayout) -> float:
    with suppress(OSError):
        return os.stat(layout.lock).st_mtime
    return 0.0
