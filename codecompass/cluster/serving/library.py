"""The repositories that one viewer may read: the only way from a question to a repository and its content.

    Libraries.of(viewer) -> Library -> repositories(), newest(id)      only those that the viewer may see
                                    -> read(repository, head, work)    a snapshot of one generation, in a thread

One is made for each question. The list of repositories is cached for a moment; the groups and the newest generation of a
repository are read once for each question. No other module opens a snapshot for a server.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import trio

from codecompass.actors.failures import panics_as_errors
from codecompass.cluster.access.visibility import Viewer, visible
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.generations import Generations
from codecompass.cluster.serving.index_fetches import IndexFetches
from codecompass.cluster.serving.summaries import Summaries
from codecompass.errors import IndexDamaged, IndexNotReady, ProjectNotFound
from codecompass.nurseries import open_nursery
from codecompass.store.snapshot import Snapshot
from codecompass.store.word_summary import WordSummary
from codecompass.tracing import part
from codecompass.units import SECONDS

LISTED_SECONDS: Final = 2 * SECONDS
"""How long the list of repositories is cached. The engine itself may show a change up to a second late."""

LOOKUPS: Final = 8

HISTORIES: Final = 4
"""Threads that search histories with git. They may wait for the store of segments."""

SUMMARIES_SHARE: Final = 0.5
"""How much of the time for choosing repositories may go into fetching their summaries; of the others nothing is known then."""

QUESTIONS: Final = 16
"""Threads that read snapshots."""

T = TypeVar("T")


class Libraries:
    """State that the questions of all viewers share. Its methods check no access; `Library` does."""

    def __init__(self, repositories: Repositories, generations: Generations) -> None:
        self._repositories = repositories
        self._generations = generations
        self.lookups: Final = EngineCalls(LOOKUPS)
        self.questions: Final = EngineCalls(QUESTIONS)
        self.histories: Final = EngineCalls(HISTORIES, "history")
        self.fetches: Final = IndexFetches(generations.fetch)
        self.summaries: Final = Summaries(generations.summaries, generations.fetch_summaries)
        self._listed: tuple[Repository, ...] = ()
        self._listed_until = float("-inf")

    def of(self, viewer: Viewer) -> "Library":
        """Returns the library of a viewer, for one question."""
        return Library(viewer, self)

    # for Library

    async def all(self) -> tuple[Repository, ...]:
        """Returns all repositories, at most LISTED_SECONDS old. Raises EngineUnavailable."""
        asked_at = trio.current_time()
        if asked_at >= self._listed_until:
            self._listed = await self.lookups.run_shared("repositories", self._repositories.listed)
            self._listed_until = asked_at + LISTED_SECONDS
            self.summaries.heads_are({head.generation for each in self._listed if (head := each.default_head) is not None})
        return self._listed

    async def find(self, repo_id: str) -> Repository | None:
        """Returns the current state of a repository, or None if it does not exist or was removed. Raises EngineUnavailable."""
        found = await self.lookups.run(lambda: self._repositories.get(repo_id))
        return None if found is None or found.is_removed else found

    async def find_several(self, repo_ids: Sequence[str]) -> list[Repository]:
        """Returns the current states of repositories, as `find` does, without those that have to be asked for alone."""
        found = await self.lookups.run(lambda: self._repositories.get_several(repo_ids))
        return [each for each in found if not each.is_removed]

    async def fetch(self, head: RefHead, seconds: float) -> None:
        """Returns once the files of a generation are here, fetched once for all questions that wait for them."""
        if not self._generations.is_here(head.generation):
            with part("fetch_segments", kind="client"):
                await self.fetches.wait(head.generation, seconds)

    async def read(self, head: RefHead, work: Callable[[Snapshot], T], seconds: float) -> T:
        """Runs `work` on a snapshot of a generation in a thread and returns its result. The files of the generation are fetched
        first."""
        generation, until = head.generation, trio.current_time() + seconds
        await self.fetch(head, seconds)

        def in_thread() -> T:
            with self._generations.snapshot(generation) as snapshot:
                return work(snapshot)

        def in_thread_again() -> T:
            try:
                return panics_as_errors(in_thread)()
            except IndexDamaged:
                if not self._generations.discard(generation):
                    raise
            return panics_as_errors(in_thread)()

        return await self.questions.run(in_thread_again, max(0.0, until - trio.current_time()))

    async def read_history(self, head: RefHead, work: Callable[[Path | None], T], seconds: float) -> T:
        """Runs `work` on the repository with the history of a generation, None if none was published, in a thread."""

        def in_thread() -> T:
            with self._generations.history(head.generation) as root:
                return work(root)

        return await self.histories.run(in_thread, seconds)

    def fetch_later(self, head: RefHead) -> bool:
        """Has the files of a generation fetched without waiting for them. Returns whether they are being fetched then: not if
        they are here, or if too many others are waiting for that."""
        return not self._generations.is_here(head.generation) and self.fetches.want(head.generation)

    async def work(self) -> None:
        """Fetches what questions want, and before the first one the summaries of all repositories. Runs until cancelled."""
        async with open_nursery() as nursery:
            nursery.start_soon(self.fetches.serve)
            nursery.start_soon(self.summaries.serve)
            with suppress(EngineUnavailable):
                await self.all()


class Library:
    """The repositories that one viewer may read. Get one from `Libraries.of` for each question: it caches what it has read."""

    def __init__(self, viewer: Viewer, libraries: Libraries) -> None:
        self.viewer: Final = viewer
        self._libraries = libraries
        self._newest: dict[str, Repository] = {}

    async def repositories(self) -> tuple[Repository, ...]:
        """Returns the repositories that the viewer may see, by name, a moment old. Raises EngineUnavailable."""
        return visible(self.viewer, await self._libraries.all())

    async def newest(self, repo_id: str) -> Repository:
        """Returns a repository as of its first use by this question.

        Raises ProjectNotFound if the viewer may not see it, with the same message as if it did not exist; EngineUnavailable.
        """
        found = self._newest.get(repo_id)
        if found is None:
            now = await self._libraries.find(repo_id)
            if now is None or not visible(self.viewer, (now,)):
                raise unknown(repo_id)
            found = self._newest[repo_id] = now
        return found

    def known(self, repo_id: str) -> Repository | None:
        """Returns what `newest` has returned for a repository, or None if it was not called. Never waits."""
        return self._newest.get(repo_id)

    async def read(
        self,
        repository: Repository,
        head: RefHead,
        work: Callable[[Snapshot], T],
        seconds: float,
        *,
        or_successor: bool = True,
    ) -> T:
        """Runs `work` on a snapshot of one head in a thread and returns its result.

        If the generation was replaced and removed meanwhile, its successor is read instead, unless `or_successor` is false.
        Raises what `Generations.snapshot` and `work` raise, EngineUnavailable after `seconds`, ProjectNotFound as `newest` does.
        """
        self._require_visible(repository, head)
        try:
            return await self._libraries.read(head, work, seconds)
        except (IndexNotReady, IndexDamaged):
            self._newest.pop(repository.repo_id, None)
            again = _successor(repository, head, await self.newest(repository.repo_id))
            if not or_successor or again is None or again.generation == head.generation:
                raise
            return await self._libraries.read(again, work, seconds)

    async def fetch(self, repository: Repository, head: RefHead, seconds: float) -> None:
        """Returns once the files of a head are here, or will not be, as `read` finds out. Raises EngineUnavailable after
        `seconds`, ProjectNotFound as `newest` does."""
        self._require_visible(repository, head)
        with suppress(IndexNotReady, IndexDamaged):
            await self._libraries.fetch(head, seconds)

    async def read_history(self, repository: Repository, head: RefHead, work: Callable[[Path | None], T], seconds: float) -> T:
        """Runs `work` on the repository with the history of one head, None if none was published, in a thread. Raises the same
        errors as `read`."""
        self._require_visible(repository, head)
        return await self._libraries.read_history(head, work, seconds)

    async def look_up(self, repo_ids: Collection[str]) -> None:
        """Reads the states of repositories at once, for `newest`. Raises EngineUnavailable."""
        missing = [repo_id for repo_id in repo_ids if repo_id not in self._newest]
        if missing:
            newest = await self._libraries.find_several(missing)
            self._newest.update({each.repo_id: each for each in visible(self.viewer, newest)})

    async def summaries(self, repositories: Iterable[Repository], seconds: float) -> Mapping[str, WordSummary]:
        """Returns the word summaries of the newest generations of repositories, by id, as far as they can be had in time. Raises
        EngineUnavailable."""
        shown = visible(self.viewer, repositories)
        generations = {each.repo_id: head.generation for each in shown if (head := each.default_head) is not None}
        return await self._libraries.summaries.known(generations, seconds * SUMMARIES_SHARE)

    def fetch_later(self, repository: Repository) -> bool:
        """Has the files of the newest generation of a repository fetched, if they are not here. Returns whether they are being
        fetched then: too many others may be waiting for that."""
        head = repository.default_head
        if head is None:
            return False
        self._require_visible(repository, head)
        return self._libraries.fetch_later(head)

    def _require_visible(self, repository: Repository, head: RefHead) -> None:
        if not visible(self.viewer, (repository,)) or head not in repository.heads.values():
            raise unknown(repository.repo_id)


def _successor(repository: Repository, head: RefHead, newest: Repository) -> RefHead | None:
    """Returns the newest head of the ref that `head` belonged to, or None if the ref has none."""
    ref = next((ref for ref, each in repository.heads.items() if each == head), "")
    return newest.heads.get(ref)


def unknown(name: str) -> ProjectNotFound:
    """Returns the error for a repository that does not exist or that the viewer may not see."""
    return ProjectNotFound(
        f"no repository here is called {name[:200]!r}. health_check lists those that you may ask; workspace '*' means all.",
        project_id=name[:200],
    )
