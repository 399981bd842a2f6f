"""The indexed commits of projects that a server serves besides the working trees: which commit a ref means, how many are kept.

    a ref -> the commit that it names now -> room for its index -> a separate actor, which finds or builds the index

Concurrent first questions about a commit meet in its actor and build once. Resolving a ref starts one git process.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import structlog
import trio
from msgspec.structs import replace

from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.commits import list_refs, named_commit, refs_of
from codecompass.actors.observation import WorkspaceHandle
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.replies import SearchCodeReply
from codecompass.protocol.requests import ListRefs, SearchCode
from codecompass.protocol.state_replies import ListRefsReply
from codecompass.scan.git_repository import GIT_DEADLINE_SECONDS, GitError, GitRepository, find_repository
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.git_roots import GitRoots
from codecompass.store.commit_indexes import remove_commit, remove_leftovers, surplus_commits
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project

if TYPE_CHECKING:
    from codecompass.actors.history_answers import HistoryLimits
    from codecompass.query.commit_question import CommitQuestion

T = TypeVar("T")


class CommitActors(Protocol):
    """The part of the supervisor that this module uses."""

    def route(self, project: Project, commit: NamedCommit | None = None) -> WorkspaceHandle:
        """Returns the live workspace of a project, or of one of its commits, started if necessary."""

    async def evict_commit(self, project_id: str, commit: str) -> bool:
        """Ends the workspace of a commit and waits for its end. Returns False if it is busy."""


class CommitWorkspaces:
    """Routes to indexed commits. One instance a server. `max_refs` is how many indexes of commits a project keeps."""

    def __init__(
        self, actors: CommitActors, home: HomeLayout, blocking: BlockingCalls, git_roots: GitRoots, *, max_refs: int
    ) -> None:
        self._actors: Final = actors
        self._home: Final = home
        self._blocking: Final = blocking
        self._git_roots: Final = git_roots
        self._max_refs: Final = max_refs
        self._making_room = trio.Lock()
        self._log = structlog.get_logger(__name__)

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit that `ref` names; see `named_commit`, whose errors it raises, and FileSystemUnresponsive."""
        root, roots = project.root, self._git_roots.and_root(str(project.root))
        return await self._blocking.run(lambda _call: named_commit(root, ref, field, roots), root, patience=GIT_DEADLINE_SECONDS)

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the reply of the tool `list_refs`. Raises RefNotIndexed if git fails."""
        root, layout = project.root, self._home.project(project.project_id)
        roots = self._git_roots.and_root(str(root))
        refs = await self._blocking.run(lambda call: refs_of(root, call.is_over, roots), root, patience=GIT_DEADLINE_SECONDS)
        return await self._blocking.run(
            lambda _call: list_refs(request, root, layout, refs, metadata, roots), root, patience=GIT_DEADLINE_SECONDS
        )

    async def search_history(
        self, request: SearchCode, question: "CommitQuestion", project: Project, limits: "HistoryLimits", warnings: Sequence[str]
    ) -> SearchCodeReply:
        """Returns the commits of a project that a question asks for. Raises the same errors as `answer_from_history`, and
        FileSystemUnresponsive."""
        from codecompass.actors.history_answers import answer_from_history  # only a question about commits needs it

        root = project.root
        bounded = replace(limits, roots=self._git_roots.and_root(str(root)))
        return await self._blocking.run(
            lambda call: answer_from_history(
                request, question, root, bounded, name=project.name, warnings=warnings, is_cancelled=call.is_over
            ),
            root,
            patience=limits.seconds + GIT_DEADLINE_SECONDS,
        )

    async def read_repository(self, root: Path, read: Callable[[GitRepository, Callable[[], bool]], T]) -> T:
        """Returns what `read` returns for the repository around `root`; its second argument says whether nobody waits any more.

        Raises GitError if there is no repository, and the errors of `read`.
        """
        roots = self._git_roots.and_root(str(root))

        def work(call: BlockingCall) -> T:
            repository = find_repository(os.path.realpath(root), roots)
            if repository is None:
                raise GitError("this project is in no git repository")
            return read(repository, call.is_over)

        return await self._blocking.run(work, root, patience=GIT_DEADLINE_SECONDS)

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Removes a project's least recently used indexes of commits until there is room for that of `commit`.

        Indexes that any process has open are kept until room is needed again.
        """
        layout = self._home.project(project.project_id)
        async with self._making_room:
            others, surplus = await trio.to_thread.run_sync(surplus_commits, layout, commit.commit, self._max_refs)
            if not surplus:
                return
            for each in others:
                if surplus > 0 and await self._actors.evict_commit(project.project_id, each.root.name):
                    freed = await trio.to_thread.run_sync(remove_commit, each)
                    surplus -= freed > 0
                    self._log.info("commit_index_removed", project=project.project_id, commit=each.root.name, freed_bytes=freed)
            await trio.to_thread.run_sync(remove_leftovers, layout)

    def route(self, project: Project, commit: NamedCommit) -> WorkspaceHandle:
        """Returns the live workspace of a commit. To be asked before the next checkpoint."""
        return self._actors.route(project, commit)
