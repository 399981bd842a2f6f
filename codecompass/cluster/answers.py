"""Answers from an organisation's repositories: what tools ask of a workspace and of a commit, for one question of one viewer.

A generation never changes, so a workspace has no actor here: each question opens the generation that is the newest when it comes,
in a thread, and is answered by the same query core as everywhere. There is nothing to let land, and no job.
"""

from typing import Final, overload

from msgspec import Struct

from codecompass.actors.answering import asked_for, query, timeout_seconds
from codecompass.actors.index_answers import deadline
from codecompass.actors.messages import CancelJob, JobTicket, Query, Settle, Settled, StartJob
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.cluster.library import Library
from codecompass.cluster.repositories import Head, Repository
from codecompass.cluster.routing import indexed_by_workers, needs_clone
from codecompass.errors import IndexNotReady, RefNotIndexed
from codecompass.protocol.metadata import AnswerState, BareMetadata
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import DiffContext, IndexStatus, ListRefs
from codecompass.protocol.state_replies import IndexedRef, ListedRef, ListRefsReply, WorkingTree
from codecompass.protocol.times import iso_time
from codecompass.query.options import QueryOptions
from codecompass.query.status import index_status
from codecompass.scan.git_repository import NO_REF
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.units import SECONDS

GRACE_SECONDS: Final = 5 * SECONDS
"""How much longer than its `timeout_ms` a question may take, for what is not searching: fetching the facts of a generation that
was not asked for here before."""

RETRY_MS: Final = 5_000

SHORTEST_COMMIT: Final = 7
"""Characters of a commit's id by which it can be named."""

SHOWN_REFS: Final = 20
NOT_INDEXED: Final = "no worker has indexed it yet"
_DEFAULT_NAMES: Final = frozenset({"HEAD", NO_REF, ""})


class Answering(Struct, frozen=True, kw_only=True):
    """How questions are answered: the settings of the server. Seconds."""

    options: QueryOptions
    timeout: float


class RepositoryWorkspace:
    """A repository, or one of its refs, as the `WorkspaceHandle` of one question."""

    def __init__(self, library: Library, answering: Answering, project: Project, ref: str | None = None) -> None:
        """`ref` is the name of a head, None for the one that answers where no ref is asked for."""
        self._library = library
        self._answering = answering
        self._project = project
        self._ref = ref

    @property
    def project(self) -> Project:
        """The repository as tools know it."""
        return self._project

    @property
    def observation(self) -> WorkspaceObservation:
        """What was read of it for this question."""
        known = self._library.known(self._project.project_id)
        head = None if known is None else known.heads.get(self._ref or known.default_ref)
        return WorkspaceObservation(
            project_id=self._project.project_id,
            project_name=self._project.name,
            root=str(self._project.root),
            lifecycle="running",
            indexing_status="not_indexed" if head is None else "ready",
            freshness_status="fresh",
            schema_status="not_indexed" if head is None else "compatible",
            warm_status="warm",
            ref="" if known is None else self._ref or known.default_ref,
            file_count=0 if head is None else head.file_count,
            symbol_count=0 if head is None else head.symbol_count,
            last_indexed_at=None if head is None else head.published_at,
        )

    async def wait_open(self) -> None:
        """Nothing: it is opened by each question."""

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: Settle, *, request_id: str = "") -> Settled: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobTicket: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...
    async def ask(
        self, message: Query | Settle | StartJob | CancelJob, *, request_id: str = ""
    ) -> Reply | Settled | JobTicket | bool:
        """Answers a question. Raises IndexNotReady where no worker has published the ref yet, IndexedElsewhere for what needs a
        clone or would index, EngineUnavailable, ProjectNotFound, and what the query raises."""
        match message:
            case Query():
                return await self.answer(message)
            case Settle():
                return Settled("fresh")
            case StartJob():
                raise indexed_by_workers()
            case CancelJob():
                return False

    async def answer(self, asked: Query, seconds: float | None = None) -> Reply:
        """Does that for a question, within `seconds` where they are given."""
        request = asked.request
        if isinstance(request, DiffContext):
            raise needs_clone("diff_context")
        if getattr(request, "changed_since", None) is not None:
            raise needs_clone("changed_since")
        repository = await self._library.newest(self._project.project_id)
        ref = self._ref or repository.default_ref
        head = repository.heads.get(ref)
        if head is None:
            return self._without_index(asked, repository, ref)
        options = asked_for(asked, self._answering.options)
        limit = timeout_seconds(request, self._answering.timeout)
        state = self._state(asked, repository, ref, head)

        def work(snapshot: Snapshot) -> Reply:
            if isinstance(request, IndexStatus):
                return index_status(
                    snapshot, request, state, current_schema_version=SCHEMA_VERSION, required_schema_version=SCHEMA_VERSION
                )
            return query(snapshot, request, state, options, deadline(min(limit, seconds or limit)))

        return await self._library.read(repository, head, work, limit + GRACE_SECONDS if seconds is None else seconds)

    def _without_index(self, asked: Query, repository: Repository, ref: str) -> Reply:
        if isinstance(asked.request, IndexStatus):
            state = self._state(asked, repository, ref, None)
            return index_status(None, asked.request, state, current_schema_version=0, required_schema_version=SCHEMA_VERSION)
        trouble = "" if repository.trouble is None else f" The last attempt failed: {repository.trouble.message.rstrip('.')}."
        raise IndexNotReady(
            f"{self._project.name} was added, and no worker has indexed it yet.{trouble} Call again in {RETRY_MS} ms; "
            "index_status shows when it is there. If that takes long, ask whoever runs the workers.",
            retry_after_ms=RETRY_MS,
        )

    def _state(self, asked: Query, repository: Repository, ref: str, head: Head | None) -> AnswerState:
        trouble = repository.trouble
        troubles = () if trouble is None or not trouble.failures else (f"it could not be brought up to date: {trouble.message}",)
        return AnswerState(
            workspace=str(self._project.root),
            project_id=self._project.name,
            ref=ref,
            commit="" if head is None else head.commit,
            indexing_status="not_indexed" if head is None else "ready",
            schema_status="not_indexed" if head is None else "compatible",
            schema_name=self._project.schema_name if asked.names_project else "",
            warnings=(*asked.warnings, *troubles),
            hint=asked.hint,
        )


class LibraryWorkspaces:
    """A `services.LiveWorkspaces`: each repository that the question has been routed to."""

    def __init__(self, library: Library, answering: Answering) -> None:
        self._library = library
        self._answering = answering

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the workspace of a repository."""
        return RepositoryWorkspace(self._library, self._answering, project)

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """None: nothing is kept of a repository between two questions."""
        return None


class LibraryCommits:
    """A `services.Commits`: the refs of repositories that are indexed."""

    def __init__(self, library: Library, answering: Answering) -> None:
        self._library = library
        self._answering = answering
        self._refs: dict[tuple[str, str], str] = {}

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit of an indexed ref; None for the one that answers where no ref is asked for.

        `ref` is a name of a branch or tag, or the beginning of the id of a commit that one of them is at. Raises RefNotIndexed,
        and IndexedElsewhere for a comparison.
        """
        if field == "head":
            raise needs_clone("diff_context")
        repository = await self._library.newest(project.project_id)
        if ref in _DEFAULT_NAMES:
            return None
        name = _head_name(repository, ref)
        if name is None:
            names = sorted(repository.heads)
            shown = ", ".join(names[:SHOWN_REFS]) + (", ..." if len(names) > SHOWN_REFS else "")
            raise RefNotIndexed(
                f"{field}: {ref[:255]!r} is not indexed here. Indexed are: {shown or 'none yet'}. Whoever runs the workers can "
                f"have others indexed (codecompass cluster add URL --ref NAME).",
                field=field,
                ref=ref[:255],
            )
        commit = NamedCommit(ref, repository.heads[name].commit, "")
        self._refs[project.project_id, ref] = name
        return commit

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Nothing: the engine keeps what is published."""

    def route(self, project: Project, commit: NamedCommit) -> WorkspaceHandle:
        """Returns the workspace of a commit that `resolve` has named."""
        return RepositoryWorkspace(self._library, self._answering, project, self._refs[project.project_id, commit.name])

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the refs that are indexed, those first that were published last."""
        repository = await self._library.newest(project.project_id)
        wanted = (request.filter or "").lower()
        heads = sorted(repository.heads.items(), key=lambda each: (-each[1].published_at, each[0]))
        found = [(name, head) for name, head in heads if wanted in name.lower()]
        default = repository.default_head
        return ListRefsReply(
            current=WorkingTree(
                ref=repository.default_ref,
                commit="" if default is None else default.commit,
                indexed_ref=repository.default_ref,
                indexed_commit="" if default is None else default.commit,
                file_count=0 if default is None else default.file_count,
                symbol_count=0 if default is None else default.symbol_count,
            ),
            default_branch=repository.default_ref,
            indexed=tuple(
                IndexedRef(
                    commit=head.commit,
                    names=(name,),
                    file_count=head.file_count,
                    symbol_count=head.symbol_count,
                    disk_bytes=head.source_bytes,
                )
                for name, head in heads
            ),
            refs=tuple(
                ListedRef(name=name, kind="ref", commit=head.commit, committed_at=iso_time(head.published_at), is_indexed=True)
                for name, head in found[: request.limit]
            ),
            total_refs=len(found),
            metadata=metadata,
        )


def _head_name(repository: Repository, ref: str) -> str | None:
    """Returns the name of the head that `ref` means."""
    for prefix in ("", "refs/heads/", "refs/tags/", "refs/remotes/origin/", "origin/"):
        if ref.startswith(prefix) and ref[len(prefix) :] in repository.heads:
            return ref[len(prefix) :]
    commit = ref.lower()
    if len(commit) >= SHORTEST_COMMIT:
        found = [name for name, head in repository.heads.items() if head.commit.startswith(commit)]
        if found:
            return min(found, key=lambda name: (name != repository.default_ref, name))
    return None
