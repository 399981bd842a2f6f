"""The commits of projects that a server answers for besides their working trees: which commit a ref means, and how many are kept.

    a ref -> the commit that it names now -> room for its index -> an actor of its own, which builds the index or finds it

Concurrent first questions about one commit meet in its actor and build once. Resolving a ref starts one process of git.
"""

from typing import Final, Protocol

import structlog
import trio

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.commits import named_commit
from codecompass.actors.observation import WorkspaceHandle
from codecompass.projects.ref_listing import list_refs, refs_of
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.requests import ListRefs
from codecompass.protocol.state_replies import ListRefsReply
from codecompass.scan.git_repository import GIT_DEADLINE_SECONDS
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.commit_indexes import remove_commit, remove_leftovers, surplus_commits
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project


class CommitActors(Protocol):
    """The part of the supervisor that this module uses."""

    def route(self, project: Project, commit: NamedCommit | None = None) -> WorkspaceHandle:
        """Returns the live workspace of a project, or of one of its commits, started if need be."""

    async def evict_commit(self, project_id: str, commit: str) -> bool:
        """Ends the workspace of a commit and waits for its end. Returns False where it is busy."""


class CommitWorkspaces:
    """One for a server. `max_refs` is how many indexes of commits a project keeps."""

    def __init__(self, actors: CommitActors, home: HomeLayout, blocking: BlockingCalls, *, max_refs: int) -> None:
        self._actors: Final = actors
        self._home: Final = home
        self._blocking: Final = blocking
        self._max_refs: Final = max_refs
        self._making_room = trio.Lock()
        self._log = structlog.get_logger(__name__)

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit that `ref` names in the repository around a project; None for the name of a tree without git.

        Raises InvalidInput and RefNotIndexed as `resolve_commit` does, RefNotIndexed where there is no repository or git fails.
        """
        root = project.root
        return await self._blocking.run(lambda _call: named_commit(root, ref, field), root, patience=GIT_DEADLINE_SECONDS)

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the reply of the tool `list_refs`. Raises RefNotIndexed where git fails."""
        root, layout = project.root, self._home.project(project.project_id)
        refs = await self._blocking.run(lambda call: refs_of(root, call.is_over), root, patience=GIT_DEADLINE_SECONDS)
        return await self._blocking.run(
            lambda _call: list_refs(request, root, layout, refs, metadata), root, patience=GIT_DEADLINE_SECONDS
        )

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Removes indexes of commits of a project that are used least, until there is room for that of `commit`.

        What any process has open stays, and its turn comes when the next one needs room.
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
        """Returns the live workspace of a commit. Ask it before the next checkpoint."""
        return self._actors.route(project, commit)
