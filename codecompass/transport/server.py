"""Assembles a server from the registry, the worker processes, the workspaces, the tools and the protocol.

    open_server -> Server.core --> sessions of all transports --> tools --> router --> supervisor --> workspaces

Nothing is opened before it is needed: a client's first message is answered before the registry or an index is touched. In the
background the server recovers interrupted jobs, surveys the known projects, and warms the recently used ones.
"""

import resource
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
import trio
from msgspec import Struct

from codecompass import query as core
from codecompass.actors.answer_readers import AnswerReaders, open_answer_readers
from codecompass.actors.answering import patience_of
from codecompass.actors.async_registry import AsyncRegistry, open_async_registry
from codecompass.actors.blocking_calls import BlockingCalls, Limits
from codecompass.actors.child_lifecycle import affordable
from codecompass.actors.cold_answers import ColdAnswers, open_cold_answers
from codecompass.actors.commit_workbench import CommitWorkbench
from codecompass.actors.failures import run_again_after_failure
from codecompass.actors.job_state import JobHandle
from codecompass.actors.messages import CancelJob, Query
from codecompass.actors.own_registrations import OwnRegistrations
from codecompass.actors.supervisor import SupervisorSettings, WorkspaceSupervisor, open_supervisor
from codecompass.actors.tools import Tools
from codecompass.actors.verifying import Verifier
from codecompass.actors.workbench import IndexWorkbench, Workbench
from codecompass.actors.worker_pool import WorkerPool, default_pool_size, open_worker_pool
from codecompass.actors.workspace import WorkspaceSettings
from codecompass.errors import CodeCompassError, FileSystemUnresponsive
from codecompass.memory import resident_bytes
from codecompass.nurseries import open_nursery
from codecompass.projects.commit_workspaces import CommitWorkspaces
from codecompass.projects.detection import RoutingRules
from codecompass.projects.eviction import AutoWorkspaces
from codecompass.projects.path_resolution import is_within
from codecompass.projects.router import Router
from codecompass.projects.storage_cleanup import StorageCleanup
from codecompass.projects.survey import ProjectSurvey, SurveyResult
from codecompass.projects.visibility import visible, visible_bases
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.requests import SearchCode
from codecompass.protocol.state_replies import HealthReply
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.git_roots import ANYWHERE
from codecompass.settings import Settings
from codecompass.store.job_log import JobLog, JobRecord
from codecompass.store.layout import HomeLayout
from codecompass.store.mapped_files import guard_mapped_files
from codecompass.store.nearest import Bases
from codecompass.store.registry import Project, Registry
from codecompass.tracing import Traces
from codecompass.transport.call_records import ActivityLog, Measures
from codecompass.transport.health import Moment, PrewarmStatus, health
from codecompass.transport.mcp.core import Core, SessionLimits
from codecompass.transport.product.product_surface import product_surface
from codecompass.transport.settling import settle_for_commands
from codecompass.transport.tools.catalog import Catalog
from codecompass.transport.tools.listing import listed_names
from codecompass.transport.tools.services import Elsewhere, Services
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.actors.semantic_lane import SemanticLane
    from codecompass.projects.checkouts import Checkouts
    from codecompass.semantic.target import SemanticTarget
    from codecompass.transport.organisation.link import OrganisationLink
    from codecompass.transport.organisation.target import OrganisationTarget

core.load()  # with this module, which is imported in a thread: no question then waits for it

ABANDONED_CALLS_SECONDS: Final = 1 * SECONDS
"""How long a stop waits for abandoned file system calls."""

SURVEY_SECONDS: Final = 0.7 * SECONDS
"""Interval between surveys of the known projects: another process may have registered or indexed one, or died doing so, and
health shows it within a second. A survey costs about 10 us of CPU a project if nothing has changed."""

PAGE_WORKERS: Final = 2
"""Worker processes that prepare code for the page, started when somebody opens one: a job leaves no worker free for seconds."""

PREWARM_QUERY: Final = "main init error"
"""Words that most repositories contain."""


class ServerOptions(Struct, frozen=True, kw_only=True):
    """The parameters of a server. `settings_for` reads the settings of the project with a root."""

    settings: Settings
    settings_for: Callable[[Path], Settings]
    home: HomeLayout
    rules: RoutingRules
    limits: SessionLimits = SessionLimits()
    semantic: "SemanticTarget | None" = None
    """The endpoint for search by meaning; None if it is off."""
    organisation: "OrganisationTarget | None" = None
    """The organisation's server; None if no other server is queried."""
    traces: Traces | None = None
    """What records requests; None if traces are off."""
    has_upkeep: bool = True
    """Whether projects are surveyed, warmed, verified and cleaned up in the background, and reader processes are started for
    questions about several and under load; False for a single question."""


class Server:
    """A running server; opened by `open_server`. Several can exist in one process.

    Implements `services.ServerState` for its tools, and `calls.OpenServer` and `calls.ServerAccess` for sessions.
    """

    def __init__(
        self,
        launch: ServerOptions,
        registry: AsyncRegistry,
        own: OwnRegistrations,
        supervisor: WorkspaceSupervisor,
        blocking: BlockingCalls,
        cold_answers: ColdAnswers,
        page_workers: WorkerPool,
        organisation: "OrganisationLink | None" = None,
    ) -> None:
        self.launch: Final = launch
        self._blocking = blocking
        self.registry: Final = registry
        self.supervisor: Final = supervisor
        self.page_workers: Final = page_workers
        self.auto_workspaces: Final = AutoWorkspaces(launch.rules, registry, own, supervisor, launch.home)
        self.router: Final = Router(launch.rules, registry, own, self.auto_workspaces, blocking)
        served = launch.settings.server
        self.commits: Final = CommitWorkspaces(
            supervisor, launch.home, blocking, launch.rules.git_roots, max_refs=launch.settings.storage.max_refs
        )
        self._checkouts: Checkouts | None = None
        services = Services(
            workspaces=supervisor,
            router=self.router,
            commits=self.commits,
            cold_answers=cold_answers,
            state=self,
            default_limit=launch.settings.query.default_limit,
            repository_ids=self._repository_ids,
            elsewhere=None if organisation is None else self._elsewhere(organisation),
        )
        self.measures: Final = Measures()
        self.tools: Final = Catalog(services, self.measures, launch.traces)
        listed_names(served.tools)
        self.activity: Final = ActivityLog() if served.activity and served.transport == "http" else None
        self.core: Final = Core(product_surface(self, served.tools, served.answers, self.activity), launch.limits)
        self.started_at: Final = time.monotonic()
        self._survey = ProjectSurvey(registry, launch.home, blocking, launch.rules)
        self.storage_cleanup: Final = StorageCleanup(
            registry,
            self.auto_workspaces,
            launch.home,
            launch.rules,
            max_bytes=launch.settings.storage.max_size,
            blocking=blocking,
        )
        self._verifier = Verifier(launch.home, lambda: tuple(seen.project_id for seen in supervisor.observe()))
        self._known = SurveyResult()
        self._pinned: tuple[Project, ...] = ()
        self._warmset: tuple[str, ...] = ()
        self._prewarm_status: PrewarmStatus = "pending" if launch.settings.server.prewarm else "skipped"
        self._log = structlog.get_logger(__name__)

    def moment(self) -> Moment:
        """Returns the currently published state. Never waits."""
        settings = self.launch.settings.server
        default = next((each.project for each in self._known.projects if each.project.is_default), None)
        allowed = self.launch.rules.visible_roots(None if default is None else default.root)
        home = self._pinned[0] if self._pinned else default
        return Moment(
            uptime_seconds=time.monotonic() - self.started_at,
            prewarm_status=self._prewarm_status,
            prewarm_enabled=settings.prewarm,
            warmset_capacity=settings.warmset_capacity,
            warmset=self._warmset,
            home=None if home is None else home.project_id,
            known=self._known,
            live=tuple(each for each in self.supervisor.observe() if is_within(Path(each.root), allowed)),
            silent_places=self._blocking.silent_places(),
            storage=self.storage_cleanup.state,
        )

    async def health(self, *, about: Project | None, limit: int, metadata: BareMetadata) -> HealthReply:
        """Returns the state of the server, or of one of its projects. Never waits."""
        return health(self.moment(), about=about, limit=limit, metadata=metadata)

    @property
    def server(self) -> "Server":
        """Itself, as it is open."""
        return self

    async def opened(self) -> "Server":
        """Returns itself."""
        return self

    def tools_listed(self) -> None:
        """Does nothing, as it is open."""

    def find_job(self, job_id: str) -> JobHandle | None:
        """Returns the job if it is running or has ended recently. Never waits."""
        return self.supervisor.find_job(job_id)

    async def recorded_job(self, job_id: str) -> JobRecord | None:
        """Returns the record of a job of any process and age; None if there is none of a visible project or the registry cannot
        be read."""
        try:
            found = await self.registry.run_jobs(JobLog.find, job_id)
            projects = await self.registry.run(Registry.projects)
        except CodeCompassError:
            return None
        here = {each.project_id for each in visible(projects, self.launch.rules)}
        return found if found is not None and found.project_id in here else None

    async def cancel_job(self, job_id: str) -> bool:
        """Stops the job; returns False if it does not run in this server."""
        job = self.supervisor.find_job(job_id)
        if job is None or job.state.has_ended:
            return False
        try:
            project = await self.registry.run(Registry.require, job.state.project_id)
            commit = job.state.commit
            child = self.supervisor.route(project, NamedCommit(commit, commit, "") if commit else None)
            return await child.ask(CancelJob(job_id=job_id))
        except CodeCompassError:
            return False

    def _elsewhere(self, organisation: "OrganisationLink") -> Elsewhere:
        from codecompass.transport.organisation.answers import Organisation  # only if one is configured

        return Organisation(organisation, self.router, self._known_checkouts(), self.launch.settings)

    async def _repository_ids(self, projects: Sequence[Project]) -> Mapping[str, frozenset[str]]:
        known = await self._known_checkouts().of(projects)
        return {project_id: frozenset(each.repo_id for each in found) for project_id, found in known.items()}

    def _known_checkouts(self) -> "Checkouts":
        from codecompass.projects.checkouts import Checkouts  # only if another server is queried or queries this one

        self._checkouts = self._checkouts or Checkouts(self._blocking, self.launch.rules.git_roots)
        return self._checkouts

    async def work_in_background(self) -> None:
        """Runs until cancelled. No failure in here stops the server from answering."""
        await run_again_after_failure("start", self._begin)
        async with open_nursery() as nursery:
            if self._prewarm_status == "pending":
                nursery.start_soon(run_again_after_failure, "prewarm", self._prewarm)
            nursery.start_soon(run_again_after_failure, "storage care", self.storage_cleanup.work)
            nursery.start_soon(run_again_after_failure, "survey", self._keep_surveying)
            if self.launch.rules.git_roots == ANYWHERE:
                # Otherwise a command, which has no such limits, may count files as tracked that this server does not.
                nursery.start_soon(run_again_after_failure, "commands", self._settle_for_commands)
            nursery.start_soon(run_again_after_failure, "verification", self._verifier.work)

    async def _settle_for_commands(self) -> None:
        await settle_for_commands(self.launch.home, self.supervisor)

    async def _begin(self) -> None:
        try:
            lost = await self.registry.run_jobs(JobLog.recover, self.launch.home)
            if lost:
                self._log.info("interrupted_jobs_found", count=len(lost))
            self._pinned = await self.router.register_pinned()
        except CodeCompassError as error:
            self._log.error("registry_unavailable", cause=error.message)
        self._known = await self._survey.refresh()

    async def _keep_surveying(self) -> None:
        while True:
            await trio.sleep(SURVEY_SECONDS)
            self._known = await self._survey.refresh()

    async def _prewarm(self) -> None:
        """Starts the workspaces that are likely to be queried first; each opens its own index."""
        self._prewarm_status = "warming"
        pinned = {project.project_id for project in self._pinned}
        there = [entry.project for entry in self._known.projects if entry.exists and entry.schema_status == "compatible"]
        there.sort(key=lambda project: (project.project_id not in pinned, -project.last_used_at))
        chosen = there[: self.launch.settings.server.warmset_capacity]
        self._warmset = tuple(project.project_id for project in chosen)
        for project in chosen:
            handle = self.supervisor.route(project)
            await handle.wait_open()
            try:
                # Only the first query pays for loading modules, reading pages of the index and scanning the tree.
                request = SearchCode(query=PREWARM_QUERY, limit=1, freshness_policy="balanced")
                await handle.ask(Query(request=request, is_internal=True))
            except CodeCompassError as error:
                self._log.info("prewarm_question_failed", project=project.project_id, cause=error.message)
        self._prewarm_status = "complete"


@asynccontextmanager
async def open_server(launch: ServerOptions) -> AsyncIterator[Server]:
    """Yields a server, and closes all its workspaces, processes and files afterwards.

    Raises InvalidInput if the settings name tools that do not exist.
    """
    settings = launch.settings
    limits = Limits()
    supervision = SupervisorSettings(
        workspace=WorkspaceSettings(patience=patience_of(settings), idle=settings.server.idle_seconds * SECONDS),
        max_live=affordable(settings.server.max_live_workspaces, n_handles=file_limit(), n_watchers=watcher_limit()),
        max_memory=settings.server.max_memory,
    )
    with guard_mapped_files(launch.home.root) as mapped_files:
        async with (
            _wait_for_calls(limits.blocking),
            open_async_registry(launch.home, limits, busy_timeout_ms=settings.storage.busy_timeout_ms) as registry,
            open_worker_pool(settings.index.workers or default_pool_size()) as pool,
            open_worker_pool(PAGE_WORKERS) as page_workers,
            _answer_readers(launch) as readers,
            _semantic_lane(launch.semantic) as lane,
            _organisation_link(launch.organisation) as organisation,
        ):
            own = OwnRegistrations(registry, launch.home)

            async def settings_of(project: Project) -> Settings:
                try:
                    return await limits.blocking.run(lambda _call: _settings_of(launch, project.root), project.root)
                except FileSystemUnresponsive as error:
                    # The first job that reads the tree reads them again.
                    structlog.get_logger(__name__).warning("project_settings_unread", cause=error.message)
                    return settings

            async def bases() -> Bases:
                return await visible_bases(registry, launch.rules)

            tools = Tools(
                home=launch.home,
                pool=pool,
                limits=limits,
                registry=registry,
                mapped_files=mapped_files,
                answers=settings.server.answers,
                lane=lane,
                readers=readers,
                registrations=own,
                bases=bases,
            )

            async def make_commit_workbench(project: Project, commit: NamedCommit) -> Workbench:
                project_settings = await settings_of(project)
                git_roots = launch.rules.git_roots.and_root(str(project.root))
                return CommitWorkbench(tools, project, commit, project_settings, git_roots)

            async def make_workbench(project: Project) -> Workbench:
                project_settings = await settings_of(project)
                git_roots = launch.rules.git_roots.and_root(str(project.root))
                return await trio.to_thread.run_sync(
                    lambda: IndexWorkbench(
                        tools, project, project_settings, lambda: _settings_of(launch, project.root), git_roots
                    ),
                    limiter=limits.checks,
                )

            async with (
                _forgetting(own),
                open_supervisor(
                    make_workbench, supervision, memory=resident_bytes, make_commit_workbench=make_commit_workbench
                ) as supervisor,
                open_cold_answers(
                    launch.home, settings, limits, launch.rules.git_roots, in_processes=launch.has_upkeep
                ) as cold_answers,
                open_nursery() as nursery,
            ):
                server = Server(launch, registry, own, supervisor, limits.blocking, cold_answers, page_workers, organisation)
                if launch.has_upkeep:
                    nursery.start_soon(server.work_in_background)
                try:
                    yield server
                finally:
                    server.core.stop()
                    nursery.cancel_scope.cancel()


@asynccontextmanager
async def _forgetting(own: OwnRegistrations) -> AsyncIterator[None]:
    """Forgets at the end the projects that were registered by the server and of which nothing was published."""
    try:
        yield
    finally:
        with trio.CancelScope(shield=True):
            await own.forget_unfinished()


@asynccontextmanager
async def _answer_readers(launch: ServerOptions) -> AsyncIterator[AnswerReaders | None]:
    if not launch.has_upkeep:
        yield None
        return
    async with open_answer_readers() as readers:
        yield readers


@asynccontextmanager
async def _semantic_lane(target: "SemanticTarget | None") -> "AsyncIterator[SemanticLane | None]":
    if target is None:
        yield None
        return
    from codecompass.actors.semantic_lane import open_semantic_lane  # only if search by meaning is on

    async with open_semantic_lane(target) as lane:
        yield lane


@asynccontextmanager
async def _organisation_link(target: "OrganisationTarget | None") -> "AsyncIterator[OrganisationLink | None]":
    if target is None:
        yield None
        return
    from codecompass.transport.organisation.link import OrganisationLink  # only if one is configured

    link = OrganisationLink(target)
    try:
        yield link
    finally:
        await link.close()


@asynccontextmanager
async def _wait_for_calls(blocking: BlockingCalls) -> AsyncIterator[None]:
    """Waits afterwards for the file system calls begun in the block, except those that do not return."""
    try:
        yield
    finally:
        with trio.CancelScope(shield=True):
            await blocking.wait_returned(ABANDONED_CALLS_SECONDS)


def _settings_of(launch: ServerOptions, root: Path) -> Settings:
    """Returns the project's settings, or those of the server if its file is invalid: the index must not be lost over that."""
    try:
        return launch.settings_for(root)
    except CodeCompassError as error:
        structlog.get_logger(__name__).warning("project_settings_ignored", workspace=str(root), cause=error.message)
        return launch.settings


def file_limit() -> int | None:
    """Returns how many files this process may have open; None if unlimited."""
    soft, _hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return None if soft == resource.RLIM_INFINITY else soft


def watcher_limit() -> int | None:
    """Returns how many watchers all processes of this user may have together; None if the system does not say."""
    try:
        return int(Path("/proc/sys/fs/inotify/max_user_instances").read_text())
    except (OSError, ValueError):
        return None
