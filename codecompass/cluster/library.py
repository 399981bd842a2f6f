"""What one viewer may read: the only way from a question to a repository, and to what stands in it.

    Libraries.of(viewer) -> Library -> repositories(), newest(id)      those that the viewer may see, and no others
                                    -> read(repository, head, work)    a snapshot of one generation, in a thread

One is made for each question. Which repositories there are is known from a list that is a moment old; which generation answers is
read when the question comes, once for each repository, with who may see it. No other module opens a snapshot for a server.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol, TypeVar

import trio

from codecompass.actors.background import panics_as_errors
from codecompass.cluster.access import Viewer, visible
from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.generations import Generations
from codecompass.cluster.repositories import Head, Repositories, Repository
from codecompass.errors import CodeCompassError, IndexDamaged, IndexNotReady, ProjectNotFound
from codecompass.protocol.replies import SearchEvidence
from codecompass.query.merge_evidence import sample_evidence
from codecompass.store.snapshot import Snapshot
from codecompass.units import SECONDS

LISTED_SECONDS: Final = 2 * SECONDS
"""How long a list of the repositories holds. The engine shows what was written after up to a second more."""

LOOKUPS: Final = 8
QUESTIONS: Final = 16
"""Threads that read from snapshots. Each waits for the engine most of the time."""

T = TypeVar("T")


Sampled = Mapping[str, SearchEvidence | CodeCompassError]
"""By repository id: what its generation has of a question in words, or why that cannot be told."""


class Sampler(Protocol):
    """Tells which repositories have most of a question in words. Blocking."""

    def __call__(self, heads: Mapping[str, Head], words: str) -> Sampled:
        """Returns what each generation has of the words."""


class Libraries:
    """All of a server: what is shared by the questions of all viewers, and shows nothing by itself."""

    def __init__(self, repositories: Repositories, generations: Generations, sampler: Sampler | None = None) -> None:
        self._repositories = repositories
        self._generations = generations
        self._sampler: Sampler = sampler or self._sample_one_by_one
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

    async def sample(self, heads: Mapping[str, Head], words: str, seconds: float) -> Sampled:
        """Returns what each generation has of a question in words, by repository id."""
        return await self.questions.run(lambda: panics_as_errors(self._sampler)(heads, words), seconds)

    def _sample_one_by_one(self, heads: Mapping[str, Head], words: str) -> Sampled:
        told: dict[str, SearchEvidence | CodeCompassError] = {}
        for repo_id, head in heads.items():
            trio.from_thread.check_cancelled()
            try:
                with self._generations.snapshot(head.generation) as snapshot:
                    told[repo_id] = sample_evidence(snapshot, words)
            except CodeCompassError as error:
                told[repo_id] = error
        return told


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

    async def sample(self, repositories: Iterable[Repository], words: str, seconds: float) -> Sampled:
        """Returns what the default head of each has of a question in words; nothing for those without one."""
        heads = {each.repo_id: head for each in visible(self.viewer, repositories) if (head := each.default_head) is not None}
        return await self._libraries.sample(heads, words, seconds) if heads else {}

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
