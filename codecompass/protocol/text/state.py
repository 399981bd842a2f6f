"""The state of projects, jobs and the server as text, and the notes below every answer.

Only deviations from the normal are mentioned: an answer that is fresh and complete says neither.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.errors import ErrorBody
from codecompass.formatting import count, duration, size
from codecompass.protocol.job_views import JobView
from codecompass.protocol.metadata import BareMetadata, Metadata
from codecompass.protocol.replies import NextAction
from codecompass.protocol.state_replies import (
    HealthReply,
    IndexRepoReply,
    IndexRepositoryReply,
    IndexStatusReply,
    ListRefsReply,
    SemanticReport,
    SyncRepoReply,
)
from codecompass.protocol.text.code import one_line

MAX_CANDIDATES: Final = 20
"""How many candidates of an ambiguous name are listed."""

SHOWN_LANGUAGES: Final = 6
SHOWN_COMMIT: Final = 12
"""Characters of a commit id that are shown: enough to identify it."""

_NOT_INDEXED: Final = "warning: there is no index yet; the first question builds it"
_STALE: Final = "warning: files have changed since the index was built; this answer is of the tree before that"
_SYNCING: Final = "warning: files have changed and are being indexed; this answer may lack them"
_INDEXING: Final = "warning: the first index is still being built; this answer may be incomplete, ask again later"
_PARTIAL: Final = "warning: this answer is not complete"


def note_lines(metadata: Metadata | BareMetadata) -> Iterator[str]:
    """Yields the notes of an answer: its commit, the projects with hits, warnings, and that it is stale or partial if no warning
    says why."""
    if isinstance(metadata, Metadata) and metadata.commit:
        yield f"of {one_line(metadata.ref)}, commit {metadata.commit}"
    if isinstance(metadata, Metadata):
        for part in metadata.projects:
            total = f" ({part.total_candidates:,})" if part.total_candidates else ""
            commit = f" at {part.commit[:SHOWN_COMMIT]}" if part.commit else ""
            yield f"{one_line(part.name)} = {one_line(part.root)}{commit}{total}"
    for warning in metadata.warnings:
        yield f"warning: {one_line(warning)}"
    if isinstance(metadata, BareMetadata) or metadata.warnings:
        return
    if metadata.indexing_status == "not_indexed":
        yield _NOT_INDEXED
    elif metadata.indexing_status == "indexing" and metadata.result_completeness == "partial":
        yield _INDEXING
    elif metadata.freshness_status == "syncing":
        yield _SYNCING
    elif metadata.freshness_status == "stale":
        yield _STALE
    elif metadata.result_completeness == "partial" and not metadata.remaining_candidates:
        yield _PARTIAL


def next_lines(actions: tuple[NextAction, ...]) -> Iterator[str]:
    """Yields the suggested next calls, each as tool and arguments."""
    for action in actions:
        arguments = [
            *(f'{key} "{one_line(value)}"' for key in ("name", "query", "path", "mode") if (value := getattr(action, key))),
            *(f"{key} {value}" for key in ("limit", "offset") if (value := getattr(action, key))),
        ]
        yield f"try: {action.tool} {', '.join(arguments)}".rstrip()


def error_lines(error: ErrorBody) -> Iterator[str]:
    """Yields an error: its code and message, then the candidates of an ambiguous name."""
    yield f"error {error.code}: {one_line(error.message)}"
    candidates = (error.data or {}).get("candidates")
    if isinstance(candidates, list):
        for candidate in candidates[:MAX_CANDIDATES]:
            if isinstance(candidate, Mapping):
                yield one_line(f"{candidate['path']}:{candidate['line']} {candidate['kind']} {candidate['qualified_name']}")


def status_lines(reply: IndexStatusReply) -> Iterator[str]:
    """Yields the state of a project: what is indexed, its freshness, what was left out, its jobs."""
    metadata = reply.metadata
    yield f"{one_line(reply.repo_root)}: {reply.index_status}, {metadata.freshness_status}, on {one_line(reply.ref)}"
    yield f"{count(reply.file_count, 'file')}, {count(reply.symbol_count, 'symbol')}, {size(reply.source_bytes)} of source"
    if reply.schema_status != "compatible":
        yield f"index on disk: {reply.schema_status.replace('_', ' ')}"
    if reply.languages:
        yield f"languages: {_counts(reply.languages, SHOWN_LANGUAGES)}"
    if reply.skipped:
        yield f"left out: {_counts(reply.skipped)}"
    if reply.text_only:
        yield f"without symbols: {_counts(reply.text_only)}"
    if reply.encodings:
        yield f"encodings: {_counts(reply.encodings)}"
    if reply.long_lines:
        yield f"lines left out: {reply.long_lines:,}, too long"
    if reply.pending_files:
        yield f"symbols still to come: {count(reply.pending_files, 'file')}"
    if reply.last_indexed_at:
        yield f"last indexed: {reply.last_indexed_at}"
    if reply.file is not None:
        file = reply.file
        details = [file.status, file.reason, file.language]
        details += [count(file.line_count, "line")] if file.line_count is not None else []
        details += [count(file.symbol_count, "symbol")] if file.symbol_count is not None else []
        details += [file.encoding] if file.encoding else []
        details += [f"without {count(file.long_lines, 'line')} that are too long"] if file.long_lines > 1 else []
        details += ["without one line that is too long"] if file.long_lines == 1 else []
        yield f"{one_line(file.path)}: {', '.join(one_line(each) for each in details if each)}"
    if reply.active_job is not None:
        yield _active(reply.active_job)
    for job in reply.recent_jobs[:1]:
        if job.status == "failed":
            yield f"last job {job.job_id}: failed: {one_line(job.error_message)}"
    if reply.interrupted_recovery_report is not None:
        yield f"warning: {one_line(reply.interrupted_recovery_report.recommended_action)}"
    if reply.semantic is not None:
        yield f"by meaning: {semantic_line(reply.semantic)}"


def semantic_line(report: SemanticReport) -> str:
    """Returns the state of search by meaning in one line."""
    facts = [f"{count(report.texts, 'text')} by {one_line(report.model)} at {one_line(report.endpoint)}"]
    facts += [f"{count(report.pending_files, 'file')} to go"] if report.pending_files else []
    facts += [f"unavailable ({one_line(report.last_error)})"] if report.last_error else []
    return ", ".join(facts)


def job_lines(reply: IndexRepoReply | SyncRepoReply) -> Iterator[str]:
    """Yields the state or the outcome of an index job."""
    facts = [f"{reply.mode} job {reply.job_id} {reply.status}"]
    facts += [count(reply.changed_files, "changed file")] if reply.changed_files is not None else []
    facts += [count(reply.file_count, "file")] if reply.file_count is not None else []
    facts += [count(reply.symbol_count, "symbol")] if reply.symbol_count is not None else []
    facts += [duration(reply.duration_seconds)] if reply.duration_seconds is not None else []
    yield ", ".join(facts)
    if reply.error_code:
        yield f"error {reply.error_code}: {one_line(reply.error_message)}"
    elif reply.status == "running":
        yield "searches answer meanwhile; index_status says how far it is"


def repository_lines(reply: IndexRepositoryReply) -> Iterator[str]:
    """Yields the outcome of `index_repository`."""
    facts = [f"{one_line(reply.metadata.workspace)}: {reply.status}, job {reply.job_id}"]
    facts += [count(reply.files_indexed, "file")] if reply.files_indexed is not None else []
    facts += [duration(reply.duration_seconds)] if reply.duration_seconds is not None else []
    yield ", ".join(facts)


def health_lines(reply: HealthReply) -> Iterator[str]:
    """Yields the state of the server, then a line for each project."""
    yield f"{reply.status}, version {reply.version}, up {duration(reply.uptime_seconds)}"
    if not reply.tantivy_ok or not reply.sqlite_ok:
        yield f"the store cannot be used: {one_line(reply.sqlite_error) or 'the search library failed'}"
    if reply.grammars.missing:
        yield f"languages without grammar: {', '.join(reply.grammars.missing)}"
    if reply.active_job is not None:
        yield f"job {reply.active_job.job_id}: {reply.active_job.mode} {reply.active_job.status}"
    if reply.interrupted_recovery_report is not None:
        yield f"warning: {one_line(reply.interrupted_recovery_report.recommended_action)}"
    if reply.storage is not None:
        yield f"warning: {one_line(reply.storage.message)}"
    if reply.engine is not None:
        missing = f", {count(reply.engine.missing_shards, 'shard')} missing" if reply.engine.missing_shards else ""
        error = f", {one_line(reply.engine.error)}" if reply.engine.error else ""
        yield f"search engine: {reply.engine.status}, {count(reply.engine.nodes, 'node')}{missing}{error}"
    for project in reply.projects:
        facts = [project.index_status, project.freshness_status, project.residency.replace("_", " ")]
        facts += [count(project.file_count, "file"), f"id {project.project_id}"]
        facts += [f"error: {one_line(project.last_error)}"] if project.last_error else []
        facts += [f"by meaning: {one_line(project.semantic)}"] if project.semantic else []
        yield f"{one_line(project.repo_root)}: {', '.join(facts)}"
    if reply.total_projects > len(reply.projects):
        yield f"{len(reply.projects)} of {count(reply.total_projects, 'project')}"


def ref_lines(reply: ListRefsReply) -> Iterator[str]:
    """Yields what is checked out, the indexed commits, then a line for each branch and tag."""
    current = reply.current
    files = f", {count(current.file_count, 'file')}, {count(current.symbol_count, 'symbol')}"
    yield f"working tree: {one_line(current.ref)} {current.commit[:SHOWN_COMMIT]}".rstrip() + files
    if current.indexed_commit and current.indexed_commit != current.commit:
        yield f"indexed as it was on {one_line(current.indexed_ref)} {current.indexed_commit[:SHOWN_COMMIT]}"
    if reply.default_branch:
        yield f"default branch: {one_line(reply.default_branch)}"
    for index in reply.indexed:
        names = f" ({', '.join(one_line(name) for name in index.names)})" if index.names else ""
        facts = f"{count(index.file_count, 'file')}, {count(index.symbol_count, 'symbol')}"
        yield f"indexed {index.commit[:SHOWN_COMMIT]}{names}: {facts}"
    for ref in reply.refs:
        indexed = ", indexed" if ref.is_indexed else ""
        yield f"{ref.kind} {one_line(ref.name)}: {ref.commit[:SHOWN_COMMIT]} of {ref.committed_at}{indexed}"
    if reply.total_refs > len(reply.refs):
        yield f"{len(reply.refs)} of {reply.total_refs}; more: a filter, or a larger limit"


def _active(job: JobView) -> str:
    return (
        f"{job.mode} job {job.job_id} {job.status}: {job.estimated_completion_pct} %, "
        f"{count(job.files_indexed or 0, 'file')}, {count(job.symbols_extracted or 0, 'symbol')} so far"
    )


def _counts(counts: Mapping[str, int], limit: int | None = None) -> str:
    shown = list(counts.items())[:limit]
    more = len(counts) - len(shown)
    return ", ".join(f"{one_line(name)} {number:,}" for name, number in shown) + (f", {more} more" if more else "")
