"""The state of a project, read without a server, for `projects list`, `status` and `doctor`; also of a project that is not
registered, not indexed or not readable.
"""

from contextlib import nullcontext
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.asking import Standing, StoredIndex, ask_status
from codecompass.actors.commits import built_index, named_commit
from codecompass.actors.index_limits import index_limits
from codecompass.actors.question import Question
from codecompass.cli.invocation import Invocation
from codecompass.cli.readiness import drift_of
from codecompass.cli.semantic import semantic_report_of
from codecompass.cli.workspace import Choice
from codecompass.errors import CodeCompassError
from codecompass.formatting import count
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus
from codecompass.protocol.requests import IndexStatus
from codecompass.protocol.state_replies import IndexStatusReply
from codecompass.query.status import jobs_state
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
from codecompass.store.snapshot import IndexMeta

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
    known = Standing(
        ref=commit.name,
        commit=commit.commit,
        indexing="ready" if is_built else "indexing" if is_locked(layout) else "not_indexed",
        schema_status=found.status,
        schema_version=found.current_schema_version,
    )
    index = WorkspaceIndex(layout, choice.project_id)
    try:
        stored = StoredIndex(project=choice, open=index.snapshot if is_built else nullcontext, known=known)
        return ask_status(stored, Question(request=request), request)
    finally:
        index.close()


def index_status_reply(
    invocation: Invocation, registry: Registry, choice: Choice, settings: Settings, request: IndexStatus
) -> IndexStatusReply:
    """Returns the reply of the tool `index_status` for the project of `choice`. Raises RefNotIndexed."""
    layout = invocation.home.project(choice.project_id)
    found = compatibility(layout)
    jobs = jobs_state(JobLog(registry), choice.project_id)
    full = over_quota(disk_usage(invocation.home.root), settings.storage.max_size, ())
    ref = read_head(str(choice.root)).ref
    commit = None if request.ref is None else named_commit(choice.root, request.ref)
    if commit is not None:
        return _commit_status(invocation, choice, settings, request, commit)
    question = Question(request=request, names_project=invocation.options.project_id is not None)

    def known(freshness: FreshnessStatus, indexing: IndexingStatus, warning: str = "") -> Standing:
        is_busy = jobs.active_job is not None
        return Standing(
            ref=ref,
            freshness="syncing" if is_busy else freshness,
            indexing="indexing" if is_busy else indexing,
            schema_status=found.status,
            schema_version=found.current_schema_version,
            jobs=jobs,
        ).warned(warning, full)

    def without_index(known: Standing) -> IndexStatusReply:
        return ask_status(StoredIndex(project=choice, open=nullcontext, known=known), question, request)

    if found.status != "compatible":
        return without_index(known("stale", "not_indexed" if found.status == "not_indexed" else "failed"))
    index = WorkspaceIndex(layout, choice.project_id)
    try:
        with index.snapshot() as snapshot:
            drift = drift_of(snapshot, str(choice.root), settings)
            warning = ""
            if snapshot.meta.completeness == "partial":
                # A job counts files without symbols as changed, but the user has not changed them.
                warning = "the index is not complete: the last run ended before all symbols were there"
            elif not drift.is_fresh:
                warning = f"{count(drift.n_files, 'file')} changed since the index was built"
            standing = known("fresh" if drift.is_fresh else "syncing" if is_locked(layout) else "stale", "ready", warning)
            standing = replace(standing, semantic=semantic_report_of(invocation, snapshot, layout))
            opened = StoredIndex(project=choice, open=lambda: nullcontext(snapshot), known=standing)
            return ask_status(opened, question, request)
    except CodeCompassError as error:
        return without_index(known("stale", "failed", error.message))
    finally:
        index.close()
