"""What each tool answers: Structs in the order in which their fields are written. Absent data is left out, never null.

A field that is null when there is nothing (`active_job`) has no default, so that it is written. Lines are 1-based and
inclusive, paths relative to the workspace root.
"""

from msgspec import Struct

from codecompass.errors import ErrorBody
from codecompass.protocol.metadata import BareMetadata, FreshnessStatus, Metadata, SchemaStatus


class SymbolReference(Struct, frozen=True, kw_only=True):
    """A symbol named in passing: the one around a result, or one near it."""

    kind: str
    name: str
    path: str
    line: int


class MatchedLine(Struct, frozen=True, kw_only=True):
    """A line of a file: one that a literal or a regular expression matched, or that was asked for.

    `text` is shortened where it is long, around the match.
    """

    line: int
    text: str


class Enclosing(Struct, frozen=True, kw_only=True):
    """The innermost definition around a piece of text."""

    kind: str
    name: str
    qualified_name: str
    line_start: int
    line_end: int


class Excerpt(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The lines of a hit that are shown to a reader. `is_whole`: they are all of it; `n_omitted` behind them had no room."""

    lines: tuple[MatchedLine, ...] = ()
    is_whole: bool = False
    n_omitted: int = 0
    enclosing: Enclosing | None = None


class Result(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One hit of `search_code` or `locate_symbol`; the detail level decides which fields are there.

    `location`: up to `match`, and one handle (`symbol_id`, else `result_id`). `signature`: up to `lines`, without
    `symbol_stable_id`. `body`: that, and the fields of the body. `context`: all but these. `compact` leaves what `location`
    has and the score, at any level. A result that is no symbol has a `result_type` (`snippet`, `file`, `import`), the `kind`
    and `name` of the definition around it, and its best line as `snippet`. `content`, `start_line` and `end_line` repeat the
    place for callers that name a project.

    `match` says how a hit of `locate_symbol` has the name asked for: `exact` (or the end of a qualified name), `case` (but for
    case), `parts` (its words), `similar` (a guess). `lines` are those around the `asked_line` that `path:line` named.
    `body` is the whole definition without its indentation, from `body_line_start` on (left out where that is `line_start`);
    `body_lines_omitted` counts the lines at its end, or all of them, that had no room.

    `excerpt` is there for answers as text alone, in place of all other code. `stale` says that the file has changed since it
    was indexed.
    """

    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    match: str = ""
    qualified_name: str = ""
    signature: str = ""
    language: str = ""
    visibility: str = ""
    symbol_id: str = ""
    symbol_stable_id: str = ""
    result_id: str = ""
    result_type: str = ""
    score: float | None = None
    snippet: str = ""
    matched_lines: tuple[MatchedLine, ...] = ()
    asked_line: int = 0
    lines: tuple[MatchedLine, ...] = ()
    body: str = ""
    body_line_start: int = 0
    body_lines_omitted: int = 0
    body_preview: str = ""
    parent: SymbolReference | None = None
    related_symbols: tuple[SymbolReference, ...] = ()
    content: str = ""
    start_line: int = 0
    end_line: int = 0
    excerpt: Excerpt | None = None
    stale: bool = False


class NextAction(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A call that would help further: the tool and its arguments."""

    tool: str
    name: str = ""
    query: str = ""
    path: str = ""
    mode: str = ""
    limit: int = 0


class SearchCodeReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Hits, best first. `total_candidates` counts what matched before the page was cut."""

    results: tuple[Result, ...]
    query_intent: str
    total_candidates: int
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata


class LocateSymbolReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Definitions, best first. Nothing found is an empty list, not an error."""

    results: tuple[Result, ...]
    total_candidates: int
    suggested_next_actions: tuple[NextAction, ...] = ()
    metadata: Metadata


class OutlineNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol or an import of a file, with what it encloses in source order."""

    kind: str
    name: str
    line_start: int
    line_end: int
    visibility: str = ""
    signature: str = ""
    children: tuple["OutlineNode", ...] = ()


class FileOutlineReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The tree of a file. `metadata.symbol_count` counts the nodes shown."""

    file_path: str
    language: str
    symbols: tuple[OutlineNode, ...]
    metadata: Metadata


class HierarchyNode(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol of a hierarchy; `depth` counts from the symbol asked for, which is 0."""

    symbol_id: str
    symbol_stable_id: str
    name: str
    kind: str
    qualified_name: str
    path: str
    line_start: int
    line_end: int
    signature: str = ""
    depth: int
    children: tuple["HierarchyNode", ...] = ()


class SymbolHierarchyReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Ancestors: a flat list from the symbol outwards. Descendants: one root with nested `children`."""

    hierarchy: tuple[HierarchyNode, ...]
    direction: str
    chain_length: int
    metadata: Metadata


class RelatedAnchor(Struct, frozen=True, kw_only=True):
    """The symbol whose surroundings were asked for."""

    symbol_id: str
    symbol_stable_id: str
    kind: str
    name: str
    path: str
    line_start: int


class RelatedSymbol(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A symbol near the anchor. `relation`: same_file, same_module (directory), same_package or imported."""

    symbol_id: str
    symbol_stable_id: str
    kind: str
    name: str
    qualified_name: str
    path: str
    line_start: int
    line_end: int
    signature: str = ""
    relation: str
    language: str


class RelatedSymbolsReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Related symbols, nearest relation first, then by path and line."""

    anchor: RelatedAnchor
    related: tuple[RelatedSymbol, ...]
    scope_used: str
    total_found: int
    metadata: Metadata


class ContextItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of context; `body` with the strategy `depth` or the detail level `body`. `body_lines_omitted` counts the lines
    at its end that had no room. `excerpt` is there for answers as text, in place of `body`. `stale` as in `Result`."""

    path: str
    line_start: int
    line_end: int
    kind: str = ""
    name: str = ""
    qualified_name: str = ""
    signature: str = ""
    language: str = ""
    symbol_id: str = ""
    symbol_stable_id: str = ""
    result_id: str = ""
    score: float
    body: str = ""
    body_lines_omitted: int = 0
    excerpt: Excerpt | None = None
    stale: bool = False


class CodeContextReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Context within the budget. `estimated_tokens` is that of this whole answer, from above."""

    context_items: tuple[ContextItem, ...]
    estimated_tokens: int
    truncated: bool
    metadata: Metadata


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

    `last_indexed_at` is absent before the first index, `last_error` where nothing has failed.
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


class StorageReport(Struct, frozen=True):
    """A store that does not fit its quota; bytes. `message` says what to do."""

    used_bytes: int
    max_bytes: int
    message: str


class HealthReply(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The state of the server. Projects: live and failing ones first, then by root; `total_projects` counts all.

    `storage` is there where the store does not fit its quota.
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
    projects: tuple[HealthProject, ...]
    total_projects: int
    metadata: BareMetadata


class ErrorReply(Struct, frozen=True, kw_only=True):
    """The answer of a tool that failed."""

    error: ErrorBody
    metadata: Metadata | BareMetadata


Reply = (
    SearchCodeReply
    | LocateSymbolReply
    | FileOutlineReply
    | SymbolHierarchyReply
    | RelatedSymbolsReply
    | CodeContextReply
    | IndexStatusReply
    | IndexRepoReply
    | SyncRepoReply
    | IndexRepositoryReply
    | HealthReply
    | ErrorReply
)
