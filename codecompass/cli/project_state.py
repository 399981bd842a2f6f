"""The state of a project, read without a server, for `projects list`, `status` and `doctor`; also of a project that is not
registered, not indexed or not readable.
"""

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.commits import built_index, named_commit
from codecompass.actors.index_limits import index_limits
from codecompass.cli.answering import drift_of
from codecompass.cli.invocation import Invocation
from codecompass.cli.semantic import semantic_report_of
from codecompass.cli.workspace import Choice
from codecompass.errors import CodeCompassError
from codecompass.formatting import count
from codecompass.protocol.metadata import AnswerState, FreshnessStatus, IndexingStatus
from codecompass.protocol.requests import IndexStatus
from codecompass.protocol.state_replies import IndexStatusReply
from codecompass.query.status import JobsState, index_status
from codecompass.query.status import jobs_state as logged_jobs
from codecompass.scan.git_repository import read_head
from codecompass.scan.git_revisions import NamedCommit
from codecompass.settings import Settings
from codecompass.store.epochs import compatibility
from codecompass.store.filesystem import disk_usage
from codecompass.store.housekeeping import over_quota
from codecompass.store.index import WorkspaceIndex
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import is_locked
from codecompass.store.registry import Project, Registry
from codecompass.store.snapshot import IndexMeta, Snapshot

StateName = Literal["ready", "partial", "indexing", "not_indexed", "reindex_required", "damaged", "newer", "root_missing"]


class ProjectState(Struct, frozen=True):
    """The state of a project on disk. `meta` is None unless the index can be read."""

    name: StateName
    meta: IndexMeta | None


def project_state(home: HomeLayout, project: Project) -> ProjectState:
    """Returns the state of a project. Never raises: an unreadable index is a state too."""
    layout = home.project(project.project_id)
    meta = _meta(WorkspaceIndex(layout, project.project_id))
    if not project.root.is_dir():
        return ProjectState("root_missing", meta)
    if is_locked(layout):
        return ProjectState("indexing", meta)
    found = compatibility(layout)
    match found.status:
        case "not_indexed":
            return ProjectState("not_indexed", None)
        case "reindex_required":
            return ProjectState("newer" if found.is_newer else "reindex_required", None)
        case "corrupt_manifest":
            return ProjectState("damaged", None)
        case "compatible":
            if meta is None:
                return ProjectState("damaged", None)
            return ProjectState("ready" if meta.completeness == "complete" else "partial", meta)


def _meta(index: WorkspaceIndex) -> IndexMeta | None:
    try:
        with index.snapshot() as snapshot:
            return snapshot.meta
    except CodeCompassError:
        return None
    finally:
        index.close()


def _commit_status(
    invocation: Invocation, choice: Choice, settings: Settings, request: IndexStatus, commit: NamedCommit
) -> IndexStatusReply:
    """Returns the state of the index of a commit, without building one: only a question does."""
    layout = invocation.home.project(choice.project_id).commit(commit.commit)
    found = compatibility(layout)
    is_built = built_index(layout, commit, index_limits(settings.index)) is not None
    state = AnswerState(
        workspace=str(choice.root),
        project_id=choice.name,
        ref=commit.name,
        commit=commit.commit,
        indexing_status="ready" if is_built else "indexing" if is_locked(layout) else "not_indexed",
        schema_status=found.status,
    )
    versions = {
        "current_schema_version": found.current_schema_version,
        "required_schema_version": found.required_schema_version,
    }
    if not is_built:
        return index_status(None, request, state, JobsState(), **versions)
    index = WorkspaceIndex(layout, choice.project_id)
    try:
        with index.snapshot() as snapshot:
            return index_status(snapshot, request, state, JobsState(), **versions)
    finally:
        index.close()


RECENT_JOBS = 5
"""Finished jobs that `status` lists."""


def index_status_reply(
    invocation: Invocation, registry: Registry, choice: Choice, settings: Settings, request: IndexStatus
) -> IndexStatusReply:
    """Returns the reply of the tool `index_status` for the project of `choice`. Raises RefNotIndexed."""
    layout = invocation.home.project(choice.project_id)
    found = compatibility(layout)
    jobs = jobs_state(registry, choice.project_id)
    index = WorkspaceIndex(layout, choice.project_id)
    warnings: tuple[str, ...] = ()
    full = over_quota(disk_usage(invocation.home.root), settings.storage.max_size, ())
    ref = read_head(str(choice.root)).ref
    commit = None if request.ref is None else named_commit(choice.root, request.ref)
    if commit is not None:
        return _commit_status(invocation, choice, settings, request, commit)

    def reply(snapshot: Snapshot | None, freshness: FreshnessStatus, indexing: IndexingStatus) -> IndexStatusReply:
        state = AnswerState(
            workspace=str(choice.root),
            project_id=choice.name,
            ref=ref,
            freshness_status="syncing" if jobs.active_job is not None else freshness,
            indexing_status="indexing" if jobs.active_job is not None else indexing,
            schema_status=found.status,
            schema_name="" if invocation.options.project_id is None else f"project_{choice.name.replace('-', '_')}",
            warnings=(*warnings, full) if full else warnings,
        )
        status = index_status(
            snapshot,
            request,
            state,
            jobs,
            current_schema_version=found.current_schema_version,
            required_schema_version=found.required_schema_version,
        )
        semantic = None if snapshot is None else semantic_report_of(invocation, snapshot, layout)
        return status if semantic is None else replace(status, semantic=semantic)

    if found.status != "compatible":
        return reply(None, "stale", "not_indexed" if found.status == "not_indexed" else "failed")
    try:
        with index.snapshot() as snapshot:
            drift = drift_of(snapshot, str(choice.root), settings)
            freshness: FreshnessStatus = "fresh" if drift.is_fresh else "syncing" if is_locked(layout) else "stale"
            if snapshot.meta.completeness == "partial":
                # A job counts files without symbols as changed, but the user has not changed them.
                warnings = ("the index is not complete: the last run ended before all symbols were there",)
            elif not drift.is_fresh:
                warnings = (f"{count(drift.n_files, 'file')} changed since the index was built",)
            return reply(snapshot, freshness, "ready")
    except CodeCompassError as error:
        warnings = (error.message,)
        return reply(None, "stale", "failed")
    finally:
        index.close()


def jobs_state(registry: Registry, project_id: str) -> JobsState:
    """Returns the jobs of a project in the job log, as `index_status` reports them."""
    log = JobLog(registry)
    return logged_jobs(log.active(project_id), log.recent(project_id, RECENT_JOBS), log.interruption(project_id))
