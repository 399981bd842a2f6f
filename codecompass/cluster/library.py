"""What one viewer may read: the only way from a question to a repository, and to what stands in it.

    Libraries.of(viewer) -> Library -> repositories(), newest(id)      those that the viewer may see, and no others
                                    -> read(repository, head, work)    a snapshot of one generation, in a thread

One is made for each question. Which repositories there are is known from a list that is a moment old; which generation answers is
read when the question comes, once for each repository, with who may see it. No other module opens a snapshot for a server.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, TypeVar

import trio

from codecompass.actors.failures import panics_as_errors
from codecompass.cluster.access import Viewer, visible
from codecompass.cluster.across import Across
from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.generations import Generations
from codecompass.cluster.repositories import Head, Repositories, Repository
from codecompass.errors import IndexDamaged, IndexNotReady, ProjectNotFound
from codecompass.protocol.replies import SearchEvidence
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Narrowing
from codecompass.units import SECONDS

LISTED_SECONDS: Final = 2 * SECONDS
"""How long a list of the repositories holds. The engine shows what was written after up to a second more."""

LOOKUPS: Final = 8
QUESTIONS: Final = 16
"""Threads that read from snapshots. Each waits for the engine most of the time."""

T = TypeVar("T")


class Libraries:
    """All of a server: what is shared by the questions of all viewers, and shows nothing by itself."""

    def __init__(self, repositories: Repositories, generations: Generations, across: Across) -> None:
        self._repositories = repositories
        self._generations = generations
        self._across = across
        self.lookups: Final = EngineCalls(LOOKUPS)
        self.questions: Final = EngineCalls(QUESTIONS)
        self._listed: tuple[Repository, ...] = ()
        self._listed_until = float("-inf")

    def of(self, viewer: Viewer) -> "Library":
        """Returns what a viewer may read, for one question."""
        return Library(viewer, self)

    # for Library

    async def all(self) -> tuple[Repository, ...]:
        """Returns all repositories, as they were LISTED_SECONDS ago at most. Raises EngineUnavailable."""
        asked_at = trio.current_time()
        if asked_at >= self._listed_until:
            self._listed = await self.lookups.run_shared("repositories", self._repositories.listed)
            self._listed_until = asked_at + LISTED_SECONDS
        return self._listed

    async def find(self, repo_id: str) -> Repository | None:
        """Returns a repository as it is now; None where there is none any more."""
        found = await self.lookups.run(lambda: self._repositories.get(repo_id))
        return None if found is None or found.is_removed else found

    async def read(self, generation: str, work: Callable[[Snapshot], T], seconds: float) -> T:
        """Returns what `work` returns of a generation, in a thread."""

        def in_thread() -> T:
            with self._generations.snapshot(generation) as snapshot:
                return work(snapshot)

        return await self.questions.run(panics_as_errors(in_thread), seconds)

    async def ask_across(self, work: Callable[[Across], T], seconds: float) -> T:
        """Returns what `work` returns of many generations at once, in a thread."""
        return await self.questions.run(lambda: panics_as_errors(work)(self._across), seconds)


class Library:
    """What one viewer may read. Get one from `Libraries.of`, for one question: what it has read once it reads no more."""

    def __init__(self, viewer: Viewer, libraries: Libraries) -> None:
        self.viewer: Final = viewer
        self._libraries = libraries
        self._newest: dict[str, Repository] = {}

    async def repositories(self) -> tuple[Repository, ...]:
        """Returns the repositories that the viewer may see, by name, as they were a moment ago. Raises EngineUnavailable."""
        return visible(self.viewer, await self._libraries.all())

    async def newest(self, repo_id: str) -> Repository:
        """Returns a repository as it was when this question asked first.

        Raises ProjectNotFound where there is none that the viewer may see, with the same words whether or not there is one.
        """
        found = self._newest.get(repo_id)
        if found is None:
            now = await self._libraries.find(repo_id)
            if now is None or not visible(self.viewer, (now,)):
                raise unknown(repo_id)
            found = self._newest[repo_id] = now
        return found

    def known(self, repo_id: str) -> Repository | None:
        """Returns what `newest` has read of a repository; None where it was not asked. Never waits."""
        return self._newest.get(repo_id)

    async def read(self, repository: Repository, head: Head, work: Callable[[Snapshot], T], seconds: float) -> T:
        """Returns what `work` returns of the snapshot of one head, in a thread that is given up after `seconds`.

        A generation that was replaced so long ago that it is gone is read again from what has replaced it. Raises what
        `Generations.snapshot` and `work` raise, EngineUnavailable after `seconds`, ProjectNotFound as `newest` does.
        """
        self._require_visible(repository, head)
        try:
            return await self._libraries.read(head.generation, work, seconds)
        except (IndexNotReady, IndexDamaged):
            self._newest.pop(repository.repo_id, None)
            again = _successor(repository, head, await self.newest(repository.repo_id))
            if again is None or again.generation == head.generation:
                raise
            return await self._libraries.read(again.generation, work, seconds)

    async def sample(self, repositories: Iterable[Repository], words: str, seconds: float) -> Mapping[str, SearchEvidence]:
        """Returns what the repositories with most of a question in words have of it, by id. Raises EngineUnavailable."""
        generations = self._generations_of(repositories)
        return await self._libraries.ask_across(lambda across: across.sample(generations, words), seconds) if generations else {}

    async def defining(self, repositories: Iterable[Repository], names: Sequence[str], seconds: float) -> Collection[str]:
        """Returns the ids of those with a definition of one of these names, ignoring case. Raises EngineUnavailable."""
        generations = self._generations_of(repositories)
        return await self._libraries.ask_across(lambda across: across.defining(generations, names), seconds)

    async def holding(self, repositories: Iterable[Repository], narrowing: Narrowing, seconds: float) -> Collection[str]:
        """Returns the ids of those with texts that a scan would look through. Raises EngineUnavailable."""
        generations = self._generations_of(repositories)
        return await self._libraries.ask_across(lambda across: across.holding(generations, narrowing), seconds)

    def _generations_of(self, repositories: Iterable[Repository]) -> dict[str, str]:
        """What answers by default for each that the viewer may see and that has been indexed."""
        shown = visible(self.viewer, repositories)
        return {each.repo_id: head.generation for each in shown if (head := each.default_head) is not None}

    def _require_visible(self, repository: Repository, head: Head) -> None:
        if not visible(self.viewer, (repository,)) or head not in repository.heads.values():
            raise unknown(repository.repo_id)


def _successor(repository: Repository, head: Head, newest: Repository) -> Head | None:
    """What answers now for the ref that `head` answered for."""
    ref = next((ref for ref, each in repository.heads.items() if each == head), "")
    return newest.heads.get(ref)


def unknown(name: str) -> ProjectNotFound:
    """Returns the error for a repository that there is not, or that the viewer may not see."""
    return ProjectNotFound(
        f"no repository here is called {name[:200]!r}. health_check lists those that you may ask; workspace '*' means all.",
        project_id=name[:200],
    )
