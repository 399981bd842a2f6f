"""The state of the server, for the tool `health_check` and for `GET /health`: a pure function of what has been published.

    error > warming > indexing > ready        the worst state of all projects and of the server itself

Nothing here reads a disk or waits, so it answers under any load.
"""

from itertools import islice
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass import __version__
from codecompass.actors.blocking_calls import is_at
from codecompass.actors.observation import WorkspaceObservation
from codecompass.errors import REBUILD
from codecompass.formatting import iso_time
from codecompass.jobs import Interruption
from codecompass.languages import PARSED_LANGUAGES
from codecompass.projects.storage_cleanup import StorageState
from codecompass.projects.survey import SurveyedProject, SurveyResult
from codecompass.protocol.job_views import JobView, job_of_project
from codecompass.protocol.metadata import BareMetadata, FreshnessStatus, SchemaStatus
from codecompass.protocol.state_replies import (
    Grammars,
    HealthProject,
    HealthReply,
    IndexCheck,
    InterruptedReport,
    StartupChecks,
    StorageReport,
    WarmsetReport,
)
from codecompass.query.status import interrupted_report
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION

MAX_PROJECTS: Final = 20
"""Projects that the tool lists; `GET /health` lists all."""

MAX_SCAN_WARNINGS: Final = 5
"""Warnings of scans that the tool repeats."""

PrewarmStatus = Literal["pending", "warming", "complete", "failed", "skipped"]
IndexState = Literal["not_indexed", "ready", "indexing", "stale", "error"]
ServerStatus = Literal["ready", "warming", "indexing", "error"]


class Moment(Struct, frozen=True, kw_only=True):
    """Everything that the server publishes about itself, at one time.

    `live` are the workspaces in memory, `warmset` the ids of the projects warmed at the start, most recently used first; `home`
    is the id of the project that answers callers who name none. Seconds are wall time. `silent_places` are paths whose file
    systems do not answer.
    """

    uptime_seconds: float
    prewarm_status: PrewarmStatus
    prewarm_enabled: bool
    warmset_capacity: int
    warmset: tuple[str, ...] = ()
    home: str | None = None
    known: SurveyResult = SurveyResult()
    live: tuple[WorkspaceObservation, ...] = ()
    storage: StorageState = StorageState()
    silent_places: frozenset[str] = frozenset()


class _Standing(Struct, frozen=True, kw_only=True):
    """The state of a project: from its live workspace, else as last seen on disk."""

    entry: HealthProject
    job: JobView | None = None
    interruption: Interruption | None = None
    is_damaged: bool = False
    is_newer: bool = False
    """Whether a newer program wrote its index."""


def health(moment: Moment, *, about: Project | None = None, limit: int | None = None, metadata: BareMetadata) -> HealthReply:
    """Returns the state of the server, or of one of its projects. `limit` bounds the projects listed, not those counted."""
    standings = _standings(moment, about)
    ordered = sorted(standings, key=lambda each: (_urgency(each.entry), each.entry.repo_root))
    jobs = [standing.job for standing in ordered if standing.job is not None]
    storage = moment.storage
    return HealthReply(
        status=_status(moment, ordered),
        version=__version__,
        uptime_seconds=int(moment.uptime_seconds),
        tantivy_ok=not any(standing.is_damaged for standing in ordered),
        sqlite_ok=not moment.known.registry_error,
        sqlite_error=moment.known.registry_error,
        grammars=Grammars(
            available=tuple(name for name in PARSED_LANGUAGES if name not in moment.known.missing_grammars),
            missing=moment.known.missing_grammars,
        ),
        active_job=jobs[0] if jobs else None,
        interrupted_recovery_report=_interrupted(ordered),
        workspace_warmset=WarmsetReport(moment.prewarm_enabled, moment.warmset_capacity, _warmset_roots(moment)),
        prewarm_status=moment.prewarm_status,
        startup_checks=StartupChecks(_index_check(moment, standings, about)),
        storage=StorageReport(storage.used_bytes, storage.max_bytes, storage.report) if storage.report else None,
        projects=tuple(standing.entry for standing in ordered[:limit]),
        total_projects=len(ordered),
        metadata=replace(metadata, warnings=(*metadata.warnings, *_warnings(moment, ordered[:limit]))),
    )


def _warnings(moment: Moment, shown: list["_Standing"]) -> tuple[str, ...]:
    """Returns what is wrong with the machine, and what the scans of the projects shown could not find out."""
    ids = {standing.entry.repo_root for standing in shown}
    scans = (f"{each.root}: {warning}" for each in moment.live if each.root in ids for warning in each.scan_warnings)
    return (*moment.known.problems, *islice(scans, MAX_SCAN_WARNINGS))


def _standings(moment: Moment, about: Project | None) -> list[_Standing]:
    known: dict[str, SurveyedProject] = {entry.project.project_id: entry for entry in moment.known.projects}
    live = {observation.project_id: observation for observation in moment.live}
    if about is not None:
        wanted = [str(about.project_id)]
        if about.project_id not in known:
            # Registered since the last survey, so nothing is known of its index on disk.
            known[about.project_id] = SurveyedProject(project=about, schema_status="not_indexed", current_schema_version=0)
    else:
        wanted = sorted({*known, *live})
    standings = []
    for project_id in wanted:
        observation, entry = live.get(project_id), known.get(project_id)
        if observation is not None:
            standings.append(_of_live(observation, entry))
        elif entry is not None:
            standings.append(_of_disk(entry))
    return [_with_silence(standing, moment.silent_places) for standing in standings]


def _with_silence(standing: _Standing, silent: frozenset[str]) -> _Standing:
    """Returns the project as failed if its file system does not answer, else unchanged."""
    place = next((place for place in silent if is_at(standing.entry.repo_root, place)), None)
    if place is None:
        return standing
    error = f"the file system of {place} does not answer"
    return replace(standing, entry=replace(standing.entry, index_status="error", freshness_status="stale", last_error=error))


def _of_live(seen: WorkspaceObservation, entry: SurveyedProject | None) -> _Standing:
    schema: SchemaStatus = seen.schema_status
    if seen.generation and schema == "compatible":
        current = SCHEMA_VERSION
    else:
        current = entry.current_schema_version if entry is not None else 0
    # Another process may write this index. Questions are answered from what it has published, which the workspace here may not
    # have noticed yet.
    meta = None if entry is None else entry.meta
    is_later = meta is not None and meta.published_at > (seen.last_indexed_at or 0.0)
    last_indexed_at = meta.published_at if meta and is_later else seen.last_indexed_at
    job = None if seen.active_job is None else job_of_project(seen.active_job, seen.project_name)
    if entry is not None and entry.active_job is not None and entry.is_elsewhere and (job is None or job.status == "queued"):
        job = job_of_project(entry.active_job, entry.project.name)
    state_of_index: IndexState
    is_refused = entry is not None and entry.is_newer and schema == "reindex_required"
    if seen.lifecycle == "failed" or seen.indexing_status == "failed" or schema == "corrupt_manifest" or is_refused:
        state_of_index = "error"
    elif job is not None or seen.indexing_status == "indexing":
        state_of_index = "indexing"
    elif seen.indexing_status == "not_indexed" and meta is None:
        state_of_index = "not_indexed"
    elif seen.indexing_status == "not_indexed" or seen.freshness_status == "stale" or schema == "reindex_required":
        state_of_index = "stale"
    else:
        state_of_index = "ready"
    failure = seen.last_job.error if seen.last_job is not None and seen.last_job.status == "failed" else ""
    return _Standing(
        entry=HealthProject(
            project_id=seen.project_name,
            repo_root=seen.root,
            index_status=state_of_index,
            residency="live",
            schema_status=schema,
            current_schema_version=current,
            required_schema_version=SCHEMA_VERSION,
            freshness_status=seen.freshness_status,
            last_indexed_at="" if last_indexed_at is None else iso_time(last_indexed_at),
            ref=meta.ref if meta and is_later else seen.ref,
            file_count=meta.file_count if meta and is_later else seen.file_count,
            symbol_count=meta.symbol_count if meta and is_later else seen.symbol_count,
            restarts=seen.restarts,
            last_error=(seen.last_error if seen.lifecycle == "failed" else "") or failure or seen.refusal,
            semantic=seen.semantic,
        ),
        job=job,
        # The job log covers all processes; the workspace only knows what was in it at its last read.
        interruption=seen.interruption if entry is None else entry.interruption,
        is_damaged=schema == "corrupt_manifest",
        is_newer=is_refused,
    )


def _of_disk(known: SurveyedProject) -> _Standing:
    job = None if known.active_job is None else job_of_project(known.active_job, known.project.name)
    is_damaged = known.schema_status == "corrupt_manifest" or (known.schema_status == "compatible" and known.meta is None)
    state: IndexState
    if job is not None:
        state = "indexing"
    elif not known.exists:
        # A missing directory is not a failure of the server, which cannot repair it either.
        state = "stale"
    elif is_damaged or known.is_newer:
        state = "error"
    elif known.schema_status == "reindex_required":
        # An older program wrote it: the first question rebuilds it.
        state = "stale"
    else:
        state = "not_indexed" if known.meta is None else "ready"
    freshness: FreshnessStatus = "syncing" if job is not None else "stale" if state != "ready" else "fresh"
    meta = known.meta
    return _Standing(
        entry=HealthProject(
            project_id=known.project.name,
            repo_root=str(known.project.root),
            index_status=state,
            residency="on_disk",
            schema_status=known.schema_status,
            current_schema_version=known.current_schema_version,
            required_schema_version=SCHEMA_VERSION,
            freshness_status=freshness,
            last_indexed_at="" if meta is None else iso_time(meta.published_at),
            ref="" if meta is None else meta.ref,
            file_count=0 if meta is None else meta.file_count,
            symbol_count=0 if meta is None else meta.symbol_count,
            last_error="" if known.exists else "the directory is gone",
        ),
        job=job,
        interruption=known.interruption,
        is_damaged=is_damaged and known.exists,
        is_newer=known.is_newer,
    )


def _urgency(entry: HealthProject) -> int:
    """Returns the sort key of a project: failing ones first, then those being indexed, then live ones, then the rest."""
    if entry.index_status == "error":
        return 0
    if entry.index_status == "indexing":
        return 1
    return 2 if entry.residency == "live" else 3


def _status(moment: Moment, standings: list[_Standing]) -> ServerStatus:
    states = {standing.entry.index_status for standing in standings}
    if "error" in states or moment.known.registry_error or moment.prewarm_status == "failed":
        return "error"
    if moment.prewarm_status in ("pending", "warming"):
        return "warming"
    return "indexing" if "indexing" in states else "ready"


def _interrupted(standings: list[_Standing]) -> InterruptedReport | None:
    found = [standing.interruption for standing in standings if standing.interruption is not None]
    if not found:
        return None
    return interrupted_report(Interruption(sum(each.n_jobs for each in found), max(each.last_at for each in found)))


def _warmset_roots(moment: Moment) -> tuple[str, ...]:
    roots = {str(entry.project.project_id): str(entry.project.root) for entry in moment.known.projects}
    roots |= {observation.project_id: observation.root for observation in moment.live}
    return tuple(roots[project_id] for project_id in moment.warmset if project_id in roots)


def _index_check(moment: Moment, standings: list[_Standing], about: Project | None) -> IndexCheck:
    names = {str(entry.project.project_id): entry.project.name for entry in moment.known.projects}
    wanted = about.name if about is not None else names.get(moment.home or "")
    standing = next((standing for standing in standings if standing.entry.project_id == wanted), None)
    if standing is None:
        return IndexCheck(
            status="not_indexed",
            current_schema_version=0,
            required_schema_version=SCHEMA_VERSION,
            message="no project is the default one; name one with workspace",
        )
    messages: dict[SchemaStatus, str | None] = {
        "compatible": None,
        "not_indexed": "not indexed yet; its first question indexes it",
        "reindex_required": f"written by an older version; its next question rebuilds it. {REBUILD}",
        "corrupt_manifest": f"cannot be read. {REBUILD}",
    }
    entry = standing.entry
    newer = "written by a newer version. Upgrade this program, or set CODECOMPASS_HOME to a store of its own"
    return IndexCheck(
        status=entry.schema_status,
        current_schema_version=entry.current_schema_version,
        required_schema_version=SCHEMA_VERSION,
        message=newer if standing.is_newer else messages[entry.schema_status],
    )
