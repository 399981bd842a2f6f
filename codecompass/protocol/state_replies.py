"""The replies of the tools about indexes, jobs and the server. As in `replies`, absent data is omitted.

A field that is null if there is no value (`active_job`) has no default, so that it is written.
"""

from msgspec import Struct

from codecompass.protocol.job_views import JobView
from codecompass.protocol.metadata import BareMetadata, FreshnessStatus, Metadata, SchemaStatus


class InterruptedReport(Struct, frozen=True, kw_only=True):
    """Jobs that were interrupted by the end of their process. Present until the next successful job."""

    detected: bool
    interrupted_jobs: int
    last_interrupted_at: str
    recommended_action: str


class FileState(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of one file: `indexed`, `skipped` (for `reason`) or `unknown` to the index."""

    path: str
    status: str
    reason: str = ""
    language: str = ""
    size: int | None = None
    line_count: int | None = None
    symbol_count: int | None = None
    encoding: str = ""
    """Absent for UTF-8."""
    long_lines: int = 0
    """Lines that are left out because they are longer than `index.max_line_length`."""


class SemanticReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Search by meaning in one project, if it is on."""

    endpoint: str
    """The host that text is sent to."""
    model: str
    texts: int
    """Texts that have vectors."""
    pending_files: int
    """Files with texts that are still to be sent, or beyond `semantic.max_texts`."""
    last_error: str = ""
    """Set if the last attempt to make vectors failed."""


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
    encodings: dict[str, int] = {}
    """The number of files of each encoding other than UTF-8."""
    long_lines: int = 0
    """Lines that are left out of the files of the index."""
    file: FileState | None = None
    active_job: JobView | None
    recent_jobs: tuple[JobView, ...] = ()
    interrupted_recovery_report: InterruptedReport | None = None
    semantic: SemanticReport | None = None
    metadata: Metadata


class IndexRepoReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index job, started or joined. `status` is `running` until it has ended, which only callers see who wait for that.

    `file_count` is null until the files have been counted. The fields with defaults are present once the job has ended: what it
    found and did, or `error_code` and `error_message` if it failed.
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
    """Like `IndexRepoReply`, but `changed_files` is always present, null until the job has ended, and `file_count` is not."""

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
    """A directory that was indexed."""

    status: str
    """`success`, or `running` if the job takes longer than clients wait."""
    repository_id: int
    """A number of 48 bits derived from the project's id."""
    project_id: str | None
    """The name in the request, null if there is none."""
    schema_name: str
    files_indexed: int | None = None
    """All files of the index."""
    chunks_created: int | None = None
    """Chunks that this job wrote."""
    duration_seconds: float | None = None
    job_id: str
    progress_token: str
    metadata: Metadata


class WorkingTree(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is checked out, and what is indexed of it, from which questions without `ref` are answered.

    `indexed_ref` and `indexed_commit` differ from `ref` and `commit` while a checkout is being indexed, and are empty before the
    first index. Without git all four are empty.
    """

    ref: str
    commit: str = ""
    indexed_ref: str = ""
    indexed_commit: str = ""
    file_count: int
    symbol_count: int


class IndexedRef(Struct, frozen=True, kw_only=True):
    """A commit whose index is kept, so that questions with `ref` are answered at once. `names` are its branches and tags."""

    commit: str
    names: tuple[str, ...]
    file_count: int
    symbol_count: int
    disk_bytes: int


class ListedRef(Struct, frozen=True, kw_only=True):
    """A branch, a remote branch or a tag: a name that `ref` accepts."""

    name: str
    kind: str
    commit: str
    committed_at: str
    is_indexed: bool


class ListRefsReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The refs of a project.

    `refs` are sorted newest commit first, `indexed` most recently used first. `total_refs` counts those that match the filter.
    """

    current: WorkingTree
    default_branch: str = ""
    indexed: tuple[IndexedRef, ...]
    refs: tuple[ListedRef, ...]
    total_refs: int
    metadata: BareMetadata


class Grammars(Struct, frozen=True):
    """Languages whose symbols can be parsed, and those whose grammar is missing from the installation."""

    available: tuple[str, ...]
    missing: tuple[str, ...]


class WarmsetReport(Struct, frozen=True):
    """The recent workspaces that the server prepares at its start. `members` are roots, the most recent first."""

    enabled: bool
    capacity: int
    members: tuple[str, ...]


class IndexCheck(Struct, frozen=True, kw_only=True):
    """Whether this program can read an index on disk."""

    status: SchemaStatus
    current_schema_version: int
    required_schema_version: int
    message: str | None


class StartupChecks(Struct, frozen=True):
    """The checks at the start of the server, for the project of the request."""

    index: IndexCheck


class HealthProject(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A project of the server."""

    project_id: str
    repo_root: str
    index_status: str
    """`not_indexed`, `ready`, `indexing`, `stale` or `error`."""
    residency: str
    """`live` (in memory) or `on_disk`."""
    schema_status: SchemaStatus
    current_schema_version: int
    required_schema_version: int
    freshness_status: FreshnessStatus
    last_indexed_at: str = ""
    """Absent before the first index."""
    ref: str
    file_count: int
    symbol_count: int
    restarts: int = 0
    last_error: str = ""
    """Absent if nothing has failed."""
    semantic: str = ""
    """Present if search by meaning is on and the project live: `waiting` (for an index), `working`, `ready`, or why its vectors
    could not be made."""


class StorageReport(Struct, frozen=True):
    """A store over its quota; sizes in bytes. `message` says what to do."""

    used_bytes: int
    max_bytes: int
    message: str


class EngineReport(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The last known state of an organisation's search engine."""

    status: str
    """`green`, `yellow` (a copy is missing), `red` (data is missing) or `unavailable`."""
    nodes: int = 0
    missing_shards: int = 0
    pending_tasks: int = 0
    answered_seconds_ago: int | None = None
    """Absent if it has never answered."""
    error: str = ""
    """Why it does not answer."""


class HealthReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of the server. Live and failing projects come first, then sorted by root; `total_projects` counts all.

    `storage` is present if the store is over its quota, `engine` if answers come from a search engine.
    """

    status: str
    version: str
    uptime_seconds: int
    tantivy_ok: bool
    sqlite_ok: bool
    sqlite_error: str = ""
    grammars: Grammars
    active_job: JobView | None
    interrupted_recovery_report: InterruptedReport | None
    workspace_warmset: WarmsetReport
    prewarm_status: str
    startup_checks: StartupChecks
    storage: StorageReport | None = None
    engine: EngineReport | None = None
    projects: tuple[HealthProject, ...]
    total_projects: int
    metadata: BareMetadata
