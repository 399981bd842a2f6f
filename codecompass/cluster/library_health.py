"""The health of a server over the engine: for anybody without repositories, for a viewer with those that they may see."""

import time
from collections.abc import Sequence
from typing import Final

from codecompass import __version__
from codecompass.cluster import naming
from codecompass.cluster.engine_watch import EngineWatch
from codecompass.cluster.library import Library
from codecompass.cluster.repositories import Repository
from codecompass.errors import CodeCompassError
from codecompass.languages import SYMBOL_LANGUAGES
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.state_replies import Grammars, HealthProject, HealthReply, IndexCheck, StartupChecks, WarmsetReport
from codecompass.protocol.times import iso_time
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.transport.http.metrics import Gauge

_STATUS_VALUES: Final = {"green": 3, "yellow": 2, "red": 1}


class LibraryState:
    """Implements `services.ServerState` for one question of one viewer."""

    def __init__(self, library: Library, watch: EngineWatch, started_at: float) -> None:
        self._library = library
        self._watch = watch
        self._started_at = started_at

    async def health(self, *, about: Project | None, limit: int, metadata: BareMetadata) -> HealthReply:
        """Returns the state of the server and of the repositories that the viewer may see; without repositories while the engine
        is down."""
        try:
            repositories = await self._library.repositories()
        except CodeCompassError:
            repositories = ()
        on = naming.shelf(self._library.viewer, repositories)
        shown = [each for each in repositories if about is None or each.repo_id == about.project_id]
        # Repositories in trouble or without an index first, because these are why somebody checks.
        shown.sort(key=lambda each: (each.trouble is None, each.default_head is not None, each.name))
        entries = [_entry(each, naming.project_of(each, on.labels[each.repo_id], 0.0)) for each in shown]
        return health(self._watch, self._started_at, metadata, entries, limit)


def health(
    watch: EngineWatch,
    started_at: float,
    metadata: BareMetadata,
    projects: Sequence[HealthProject] = (),
    limit: int = 0,
) -> HealthReply:
    """Returns the state of a server, with the first `limit` of `projects`; `started_at` is monotonic. Never waits."""
    engine = watch.report()
    return HealthReply(
        status="ready" if watch.is_ready and engine.status in ("green", "yellow") else "error",
        version=__version__,
        uptime_seconds=int(time.monotonic() - started_at),
        tantivy_ok=True,
        sqlite_ok=True,
        grammars=Grammars(available=SYMBOL_LANGUAGES, missing=()),
        active_job=None,
        interrupted_recovery_report=None,
        workspace_warmset=WarmsetReport(False, 0, ()),
        prewarm_status="skipped",
        startup_checks=StartupChecks(
            IndexCheck(
                status="compatible",
                current_schema_version=SCHEMA_VERSION,
                required_schema_version=SCHEMA_VERSION,
                message=None,
            )
        ),
        engine=engine,
        projects=tuple(projects[:limit]),
        total_projects=len(projects),
        metadata=metadata,
    )


def gauges(watch: EngineWatch) -> tuple[Gauge, ...]:
    """Returns the gauges about the engine for `/metrics`. None is about a single repository."""
    engine, ago = watch.report(), watch.answered_seconds_ago
    return (
        Gauge("codecompass_engine_ready", "1 where the search engine answers.", float(watch.is_ready)),
        Gauge(
            "codecompass_engine_status",
            "3 green, 2 yellow (copies are missing), 1 red (data is missing), 0 unavailable.",
            _STATUS_VALUES.get(engine.status, 0),
        ),
        Gauge("codecompass_engine_nodes", "Nodes of the search engine.", engine.nodes),
        Gauge("codecompass_engine_missing_shards", "Shards of our indexes that no node has.", engine.missing_shards),
        Gauge("codecompass_engine_pending_tasks", "Changes that wait for the engine's manager.", engine.pending_tasks),
        Gauge(
            "codecompass_engine_answered_seconds",
            "How long ago the engine answered last; -1 where it never did.",
            -1.0 if ago is None else ago,
        ),
    )


def _entry(repository: Repository, project: Project) -> HealthProject:
    head, trouble = repository.default_head, repository.trouble
    is_failing = trouble is not None and trouble.failures > 0
    return HealthProject(
        project_id=project.name,
        repo_root=str(project.root),
        index_status="not_indexed" if head is None else "stale" if is_failing else "ready",
        residency="on_disk",
        schema_status="not_indexed" if head is None else "compatible",
        current_schema_version=0 if head is None else SCHEMA_VERSION,
        required_schema_version=SCHEMA_VERSION,
        freshness_status="stale" if is_failing or head is None else "fresh",
        last_indexed_at="" if head is None else iso_time(head.published_at),
        ref=repository.default_ref,
        file_count=0 if head is None else head.file_count,
        symbol_count=0 if head is None else head.symbol_count,
        last_error="" if trouble is None else trouble.message,
    )
