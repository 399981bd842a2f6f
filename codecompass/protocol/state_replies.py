"""What the tools about indexes, jobs and the server answer. As in `replies`, absent data is left out.

A field that is null when there is nothing (`active_job`) has no default, so that it is written.
"""

from msgspec import Struct

from codecompass.protocol.metadata import BareMetadata, FreshnessStatus, Metadata, SchemaStatus


class ActiveJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job in progress. Times are ISO 8601 in UTC."""

    job_id: str
    progress_token: str
    mode: str
    status: str
    files_scanned: int
    files_indexed: int
    symbols_extracted: int
    estimated_completion_pct: int
    started_at: str


class RecentJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A job of the past. `duration_ms` is wall time."""

    job_id: str
    ref: str
    mode: str
    status: str
    changed_files: int | None = None
    duration_ms: int | None = None
    created_at: str
    error_message: str = ""


class InterruptedReport(Struct, frozen=True, kw_only=True):
    """Jobs that ended with their process. Present until the next successful job."""

    detected: bool
    interrupted_jobs: int
    last_interrupted_at: str
    recommended_action: str


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What became of one file: `indexed`, `skipped` (why: `reason`) or `unknown` to the index."""

    path: str
    status: str
    reason: str = ""
    language: str = ""
    size: int | None = None
    line_count: int | None = None
    symbol_count: int | None = None


class SemanticReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Search by meaning in one project, where it is on. `endpoint` is the host that text is sent to.

    `texts` have vectors; `pending_files` have texts that are still to be sent, or beyond `semantic.max_texts`. `last_error` is
    there while the last attempt to make vectors has failed.
    """

    endpoint: str
    model: str
    texts: int
    pending_files: int
    last_error: str = ""


class IndexStatusReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of a project's index. `last_indexed_at` is ISO 8601 in UTC and absent before the first index."""

    project_id: str
    repo_root: str
    index_status: str
    ref: str
    schema_status: SchemaStatus
    current_schema_version: int
    required_schema_version: int
    last_indexed_at: str = ""
    file_count: int
    symbol_count: int
    source_bytes: int = 0
    pending_files: int = 0
    languages: dict[str, int] = {}
    skipped: dict[str, int] = {}
    text_only: dict[str, int] = {}
    file: FileState | None = None
    active_job: ActiveJob | None
    recent_jobs: tuple[RecentJob, ...] = ()
    interrupted_recovery_report: InterruptedReport | None = None
    semantic: SemanticReport | None = None
    metadata: Metadata


class IndexRepoReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index job, started or joined. `running` until it has ended, which only callers see who waited for it.

    `file_count` is null until the files have been counted. The fields with defaults are there once the job has ended:
    what it found and did, or `error_code` and `error_message` where it failed.
    """

    job_id: str
    progress_token: str
    status: str
    mode: str
    file_count: int | None
    changed_files: int | None = None
    symbol_count: int | None = None
    source_bytes: int | None = None
    duration_seconds: float | None = None
    error_code: str = ""
    error_message: str = ""
    metadata: Metadata


class SyncRepoReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As `IndexRepoReply`, but what is counted are the changed files: null until the job has ended."""

    job_id: str
    progress_token: str
    status: str
    mode: str
    changed_files: int | None
    file_count: int | None = None
    symbol_count: int | None = None
    source_bytes: int | None = None
    duration_seconds: float | None = None
    error_code: str = ""
    error_message: str = ""
    metadata: Metadata


class IndexRepositoryReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A directory that was indexed: `success`; `running` where that takes longer than clients wait.

    `repository_id` is a number made from the project's id (48 bits). `project_id` is what the caller named, null where
    nothing was named. `files_indexed` are all files of the index, `chunks_created` the pieces of text that this job wrote.
    """

    status: str
    repository_id: int
    project_id: str | None
    schema_name: str
    files_indexed: int | None = None
    chunks_created: int | None = None
    duration_seconds: float | None = None
    job_id: str
    progress_token: str
    metadata: Metadata


class WorkingTree(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is checked out, and what questions without `ref` are answered from; empty without git, or before the first index.

    `indexed_ref` and `indexed_commit` are another than `ref` and `commit` while a checkout is being taken in.
    """

    ref: str
    commit: str = ""
    indexed_ref: str = ""
    indexed_commit: str = ""
    file_count: int
    symbol_count: int


class IndexedRef(Struct, frozen=True, kw_only=True):
    """A commit whose index is kept, so that questions with `ref` are answered at once. `names` are branches and tags of it."""

    commit: str
    names: tuple[str, ...]
    file_count: int
    symbol_count: int
    disk_bytes: int


class ListedRef(Struct, frozen=True, kw_only=True):
    """A branch, a remote branch or a tag: what `ref` takes."""

    name: str
    kind: str
    commit: str
    committed_at: str
    is_indexed: bool


class ListRefsReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The refs of a project, newest commit first; `indexed`, most recently used first. `total_refs` fit the filter."""

    current: WorkingTree
    default_branch: str = ""
    indexed: tuple[IndexedRef, ...]
    refs: tuple[ListedRef, ...]
    total_refs: int
    metadata: BareMetadata


class Grammars(Struct, frozen=True):
    """Languages whose symbols can be read, and those whose grammar is missing from the installation."""

    available: tuple[str, ...]
    missing: tuple[str, ...]


class HealthJob(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index job that is running. `changed_files` are known once the tree has been compared."""

    job_id: str
    project_id: str
    mode: str
    status: str
    changed_files: int | None = None
    started_at: str


class WarmsetReport(Struct, frozen=True):
    """The recent workspaces that are made ready at the start. `members` are roots, the most recent first."""

    enabled: bool
    capacity: int
    members: tuple[str, ...]


class IndexCheck(Struct, frozen=True, kw_only=True):
    """How an index on disk fits this program."""

    status: SchemaStatus
    current_schema_version: int
    required_schema_version: int
    message: str | None


class StartupChecks(Struct, frozen=True):
    """What was looked at when the server started, for the project that is meant."""

    index: IndexCheck


class HealthProject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project. `index_status`: not_indexed, ready, indexing, stale or error; `residency`: live (in memory) or on_disk.

    `last_indexed_at` is absent before the first index, `last_error` where nothing has failed. `semantic` is there where search by
    meaning is on and the project live: waiting (for an index), working, ready, or why its vectors could not be made.
    """

    project_id: str
    repo_root: str
    index_status: str
    residency: str
    schema_status: SchemaStatus
    current_schema_version: int
    required_schema_version: int
    freshness_status: FreshnessStatus
    last_indexed_at: str = ""
    ref: str
    file_count: int
    symbol_count: int
    restarts: int = 0
    last_error: str = ""
    semantic: str = ""


class StorageReport(Struct, frozen=True):
    """A store that does not fit its quota; bytes. `message` says what to do."""

    used_bytes: int
    max_bytes: int
    message: str


class EngineReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The search engine of an organisation, as it was heard of last. `status` is green, yellow (a copy is missing), red (data is
    missing) or unavailable. `answered_seconds_ago` is absent where it has never answered, `error` says why it does not.
    """

    status: str
    nodes: int = 0
    missing_shards: int = 0
    pending_tasks: int = 0
    answered_seconds_ago: int | None = None
    error: str = ""


class HealthReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of the server. Projects: live and failing ones first, then by root; `total_projects` counts all.

    `storage` is there where the store does not fit its quota, `engine` where answers come from one.
    """

    status: str
    version: str
    uptime_seconds: int
    tantivy_ok: bool
    sqlite_ok: bool
    sqlite_error: str = ""
    grammars: Grammars
    active_job: HealthJob | None
    interrupted_recovery_report: InterruptedReport | None
    workspace_warmset: WarmsetReport
    prewarm_status: str
    startup_checks: StartupChecks
    storage: StorageReport | None = None
    engine: EngineReport | None = None
    projects: tuple[HealthProject, ...]
    total_projects: int
    metadata: BareMetadata
