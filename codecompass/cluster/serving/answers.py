"""Answers about repositories of an organisation: the workspaces and commits that tools see, for one question of one viewer.

Generations never change, so a workspace has no actor here: each question opens the newest generation in a thread and is answered
by the same query core as everywhere else. There are no pending changes to wait for, and no jobs. A
question to many repositories is put to those whose summaries of words say that they can have an answer.
"""

from collections.abc import Collection, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, overload

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import is_about_differences, timeout_seconds
from codecompass.actors.asking import Standing, StoredIndex, TimeLimit, ask, ask_status, options_for
from codecompass.actors.index_answers import caller_has_left
from codecompass.actors.job_state import JobHandle
from codecompass.actors.messages import CancelJob, Query, Settle, Settled, StartJob
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.commit_names import DEFAULT_NAMES, head_name, no_working_tree, not_indexed
from codecompass.cluster.serving.comparisons import Compared, Comparing, with_history
from codecompass.cluster.serving.concerned import concerned
from codecompass.cluster.serving.library import Library, unknown
from codecompass.cluster.serving.routing import indexed_by_workers, needs_history
from codecompass.errors import CodeCompassError, DeadlineExceeded, IndexNotReady
from codecompass.formatting import iso_time
from codecompass.nurseries import open_nursery
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.replies import Reply, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import IndexStatus, ListRefs, SearchCode
from codecompass.protocol.state_replies import IndexedRef, ListedRef, ListRefsReply, WorkingTree
from codecompass.query.merging import sample_evidence
from codecompass.query.options import QueryOptions
from codecompass.query.summarized import expected_of
from codecompass.scan.git_commit_search import SHALLOW
from codecompass.scan.git_repository import NO_REF
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.git_roots import GitRoots
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.actors.history_answers import HistoryLimits
    from codecompass.query.commit_question import CommitQuestion

GRACE_SECONDS: Final = 5 * SECONDS
"""How much longer than its `timeout_ms` a question may take, to fetch the files of a generation that are not here yet."""

SUMMARIES_SHARE: Final = 0.3
"""How much of the time for samples may go into reading the summaries."""

SAMPLE_SHARE: Final = 0.4
"""How much of the time for all samples one may take: two that cannot be read must leave time for the others."""

MAX_SAMPLES_AT_ONCE: Final = 4

RETRY_MS: Final = 5_000

OLDER_ELSEWHERE: Final = "older commits are not published here: workers publish the newest ones (cluster.history)"

NOT_INDEXED: Final = "no worker has indexed it yet"


class AnswerSettings(Struct, frozen=True, kw_only=True):
    """The server's settings for answering questions."""

    options: QueryOptions
    timeout: float
    """Default time limit of a question in seconds."""
    comparing: Comparing


class RepositoryWorkspace:
    """Implements `WorkspaceHandle` for a repository or one of its refs, for one question."""

    def __init__(self, library: Library, settings: AnswerSettings, project: Project, ref: str | None = None) -> None:
        """`ref` is the name of a head, None for the default ref."""
        self._library = library
        self._settings = settings
        self._project = project
        self._ref = ref

    @property
    def project(self) -> Project:
        """The repository as the project that tools see."""
        return self._project

    @property
    def observation(self) -> WorkspaceObservation:
        """The state of the repository as this question has read it so far."""
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
        """Returns at once: each question opens its own snapshot."""

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: Settle, *, request_id: str = "") -> Settled: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobHandle: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...
    async def ask(
        self, message: Query | Settle | StartJob | CancelJob, *, request_id: str = ""
    ) -> Reply | Settled | JobHandle | bool:
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
        """Returns the answer to a query, within `seconds` if given. Raises the same errors as `ask`."""
        request = asked.request
        repository = await self._library.newest(self._project.project_id)
        ref = self._ref or repository.default_ref
        head = repository.heads.get(ref)
        if head is None:
            return self._without_index(asked, repository, ref)
        limit = timeout_seconds(request, self._settings.timeout)
        about = Compared(repository=repository, ref=ref, head=head, root=self._project.root)
        options = options_for(asked, self._settings.options)
        most = min(limit, seconds or limit)
        prepared = await with_history(self._library, self._settings.comparing, about, asked, options, most)
        search = TimeLimit(seconds=most, is_dropped=caller_has_left)

        def work(snapshot: Snapshot) -> Reply:
            index = self._generation(snapshot, repository, ref, head, prepared.warnings)
            return ask(index, asked, prepared.options, search)

        longest = limit + GRACE_SECONDS if seconds is None else seconds
        is_compared = is_about_differences(request)
        return await self._library.read(repository, head, work, longest, or_successor=not is_compared)

    def _without_index(self, asked: Query, repository: Repository, ref: str) -> Reply:
        if isinstance(asked.request, IndexStatus):
            return ask_status(self._generation(None, repository, ref, None), asked, asked.request)
        trouble = "" if repository.trouble is None else f" The last attempt failed: {repository.trouble.message.rstrip('.')}."
        raise IndexNotReady(
            f"{self._project.name} was added, and no worker has indexed it yet.{trouble} Call again in {RETRY_MS} ms; "
            "index_status shows when it is there. If that takes long, ask whoever runs the workers.",
            retry_after_ms=RETRY_MS,
        )

    def _generation(
        self,
        snapshot: Snapshot | None,
        repository: Repository,
        ref: str,
        head: RefHead | None,
        warnings: tuple[str, ...] = (),
    ) -> StoredIndex:
        """Returns the newest generation of a ref as what is asked; without a head there is none."""
        trouble = repository.trouble
        known = Standing(ref=ref, indexing="not_indexed", schema_status="not_indexed", schema_version=0)
        if head is not None:
            known = Standing(ref=ref, commit=head.commit, warnings=warnings)
        if trouble is not None and trouble.failures:
            known = known.warned(f"it could not be brought up to date: {trouble.message}")
        return StoredIndex(project=self._project, open=lambda: nullcontext(snapshot), known=known)


class LibraryWorkspaces:
    """Implements `services.LiveWorkspaces` for the repositories that a question is routed to."""

    def __init__(self, library: Library, settings: AnswerSettings) -> None:
        self._library = library
        self._settings = settings

    def route(self, project: Project) -> WorkspaceHandle:
        """Returns the workspace handle of a repository."""
        return RepositoryWorkspace(self._library, self._settings, project)

    def find(self, project_id: str, commit: NamedCommit | None = None) -> WorkspaceObservation | None:
        """Returns None: no state of a repository is kept between questions."""
        return None


class LibraryCommits:
    """Implements `services.Commits` for the indexed refs of repositories."""

    def __init__(self, library: Library, settings: AnswerSettings) -> None:
        self._library = library
        self._settings = settings
        self._refs: dict[tuple[str, str], str] = {}

    async def resolve(self, project: Project, ref: str, field: str = "ref") -> NamedCommit | None:
        """Returns the commit of an indexed ref, or None for the default ref.

        `ref` is the name of a branch or tag, or the first characters of the id of a commit that one of them points to. A `head`
        of a comparison may be any commit of the history: then it is None too. Raises RefNotIndexed, and IndexedElsewhere for a
        head that is a working tree.
        """
        repository = await self._library.newest(project.project_id)
        if field == "head" and ref == NO_REF:
            raise no_working_tree(field)
        name = None if ref in DEFAULT_NAMES else head_name(repository, ref)
        if name is None:
            if ref in DEFAULT_NAMES or field == "head":
                return None
            raise not_indexed(repository, ref, field)
        commit = NamedCommit(ref, repository.heads[name].commit, "")
        self._refs[project.project_id, ref] = name
        return commit

    async def make_room(self, project: Project, commit: NamedCommit) -> None:
        """Does nothing: published generations are never evicted."""

    def route(self, project: Project, commit: NamedCommit) -> WorkspaceHandle:
        """Returns the workspace handle of a commit that `resolve` has returned."""
        return RepositoryWorkspace(self._library, self._settings, project, self._refs[project.project_id, commit.name])

    async def search_history(
        self, request: SearchCode, question: "CommitQuestion", project: Project, limits: "HistoryLimits", warnings: Sequence[str]
    ) -> SearchCodeReply:
        """Returns the commits of the default branch that a question asks for, of those that are published.

        Raises the same errors as `answer_from_history`, RefNotIndexed, EngineUnavailable, and IndexedElsewhere if no history is
        published.
        """
        from codecompass.actors.history_answers import answer_from_history  # only a question about commits needs it

        repository = await self._library.newest(project.project_id)
        head = repository.default_head
        if request.ref is not None and await self.resolve(project, request.ref) is not None:
            named = repository.heads[self._refs[project.project_id, request.ref]]
            head = head if head is not None and named.commit == head.commit else None
        field = f"type:{question.history}"
        if head is None:
            raise needs_history(field)

        def work(root: Path | None) -> SearchCodeReply:
            if root is None:
                raise needs_history(field)
            bounded = replace(limits, roots=GitRoots((str(root),)))
            asked = replace(request, ref=None)
            return answer_from_history(
                asked, question, root, bounded, name=project.name, warnings=warnings, is_cancelled=caller_has_left
            )

        seconds = timeout_seconds(request, limits.seconds) + GRACE_SECONDS
        reply = await self._library.read_history(repository, head, work, seconds)
        told = tuple(OLDER_ELSEWHERE if each == SHALLOW else each for each in reply.metadata.warnings)
        metadata = replace(
            reply.metadata, workspace=str(project.root), ref=repository.default_ref, commit=head.commit, warnings=told
        )
        return replace(reply, metadata=metadata)

    async def list_refs(self, request: ListRefs, project: Project, metadata: BareMetadata) -> ListRefsReply:
        """Returns the indexed refs, the most recently published first."""
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


class LibraryAnswers:
    """Implements `services.ManyAnswers` for the repositories of a viewer."""

    def __init__(self, library: Library, settings: AnswerSettings) -> None:
        self._library = library
        self._settings = settings

    @property
    def are_fresh(self) -> bool:
        """True: each answer is of the newest generation."""
        return True

    async def prepare(self, project: Project, seconds: float) -> None:
        """Waits until the files of a repository's newest generation are here. Raises EngineUnavailable after `seconds`,
        ProjectNotFound."""
        repository = await self._library.newest(project.project_id)
        if (head := repository.default_head) is not None:
            await self._library.fetch(repository, head, seconds)

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Returns the answer of one repository within `seconds`. Raises the same errors as `RepositoryWorkspace.ask`."""
        return await RepositoryWorkspace(self._library, self._settings, project).answer(asked, seconds)

    def late(self, project: Project) -> CodeCompassError:
        """Returns the error for a repository that did not answer in time, and has its index fetched if it is not here."""
        known = self._library.known(project.project_id)
        if known is not None and self._library.fetch_later(known):
            return EngineUnavailable("this server is still fetching its index; ask again in a moment", retry_after_ms=RETRY_MS)
        return DeadlineExceeded("it did not answer in time")

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns the ids of the repositories that can have an answer (see `concerned.concerned`), and of those without an
        index; None if every repository has to be asked."""
        wanted = {project.project_id for project in projects}
        repositories = [each for each in await self._library.repositories() if each.repo_id in wanted]
        found = await concerned(self._library, repositories, asked, seconds)
        await self._library.look_up([each.repo_id for each in repositories] if found is None else found)
        # A repository without an index is asked too: its answer says so.
        others = wanted - {each.repo_id for each in repositories if each.default_head is not None}
        return None if found is None else {*found, *others}

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Puts a sample of each repository, or an error, into `found`, from the indexes of those that have most of the words by
        their summaries."""
        wanted = {project.project_id for project in projects}
        repositories = [each for each in await self._library.repositories() if each.repo_id in wanted]
        gone = wanted - {each.repo_id for each in repositories}
        found.update({repo_id: unknown(repo_id) for repo_id in gone})
        best, others = expected_of(words, await self._library.summaries(repositories, SUMMARIES_SHARE * seconds))
        found.update(others)
        # What is known to have the words comes first: the others may take all the time.
        ordered = sorted(repositories, key=lambda each: each.repo_id not in best)
        waiting = [each.repo_id for each in ordered if each.repo_id not in others]
        await self._library.look_up(waiting)
        turns = iter(waiting)

        async def sample_in_turn() -> None:
            for repo_id in turns:
                try:
                    repository = await self._library.newest(repo_id)
                    head = repository.default_head
                    if head is None:
                        raise IndexNotReady(NOT_INDEXED)
                    work = partial(sample_evidence, query=words)
                    found[repo_id] = await self._library.read(repository, head, work, SAMPLE_SHARE * seconds)
                except CodeCompassError as error:
                    found[repo_id] = error

        async with open_nursery() as nursery:
            for _ in range(MAX_SAMPLES_AT_ONCE):
                nursery.start_soon(sample_in_turn)
