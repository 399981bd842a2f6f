"""Which remote repositories the projects here are checkouts of, so that another server need not answer for them too."""

from collections.abc import Mapping, Sequence
from typing import Final

import trio

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.errors import FileSystemUnresponsive
from codecompass.nurseries import open_nursery
from codecompass.scan.git_remotes import RepositoryUrl, checked_out_repositories
from codecompass.scan.git_roots import GitRoots
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, SECONDS

KNOWN_SECONDS: Final = 30 * SECONDS
"""How long the remotes of a project are cached: they hardly ever change."""

READ_SECONDS: Final = 500 * MILLISECONDS
"""How long a question waits for all projects: each takes 50 us. Projects that are late count as checkouts of nothing."""

READ_AT_ONCE: Final = 8


class Checkouts:
    """Finds the remotes of projects, and caches them. One instance a server."""

    def __init__(self, blocking: BlockingCalls, git_roots: GitRoots) -> None:
        self._blocking = blocking
        self._git_roots = git_roots
        self._known: dict[str, tuple[float, tuple[RepositoryUrl, ...]]] = {}

    async def of(self, projects: Sequence[Project]) -> Mapping[str, Sequence[RepositoryUrl]]:
        """Returns the repositories of each project, by project id, without projects that could not be read in time."""
        now = trio.current_time()
        missing = [each for each in projects if self._known.get(each.project_id, (-1.0,))[0] <= now]
        turns = trio.CapacityLimiter(READ_AT_ONCE)

        async def read(project: Project) -> None:
            root = str(project.root)
            roots = self._git_roots.and_root(root)
            try:
                async with turns:
                    found = await self._blocking.run(lambda _call: checked_out_repositories(root, roots), root)
            except FileSystemUnresponsive:
                return
            self._known[project.project_id] = (now + KNOWN_SECONDS, found)

        if missing:
            with trio.move_on_after(READ_SECONDS):
                async with open_nursery() as nursery:
                    for each in missing:
                        nursery.start_soon(read, each)
        told: dict[str, Sequence[RepositoryUrl]] = {
            each.project_id: self._known[each.project_id][1] for each in projects if each.project_id in self._known
        }
        for project_id in [each for each, (until, _) in self._known.items() if until <= now]:
            del self._known[project_id]
        return told
