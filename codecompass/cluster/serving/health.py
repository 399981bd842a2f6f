"""The health of a server over the engine: for anybody without repositories, for a viewer with those that they may see.

The engine is polled in the background (`EngineMonitor`), so that health checks are answered without waiting.
"""

import itertools
import time
from collections.abc import Sequence
from typing import Final

import trio

from codecompass import __version__
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.client import Engine, EngineHealth
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.library import Libraries, Library
from codecompass.cluster.serving.routing import project_of, visible_repositories
from codecompass.errors import CodeCompassError
from codecompass.formatting import iso_time
from codecompass.languages import PARSED_LANGUAGES
from codecompass.log import get_logger
from codecompass.protocol.metadata import BareMetadata
from codecompass.protocol.state_replies import (
    EngineReport,
    Grammars,
    HealthProject,
    HealthReply,
    IndexCheck,
    StartupChecks,
    WarmsetReport,
)
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.transport.http.exposition import Family, gauge
from codecompass.units import SECONDS

LOOK_SECONDS: Final = 2 * SECONDS
"""Between two polls."""

PATIENCE_SECONDS: Final = 3 * SECONDS
"""Deadline of one poll."""

DISK_LOOKS: Final = 15
"""The disks of the nodes are asked for with every so many polls."""

READY_SECONDS: Final = 10 * SECONDS
"""A server whose engine has not answered for this long is not ready, so that a load balancer uses others."""

_STATUS_VALUES: Final = {"green": 3, "yellow": 2, "red": 1}


class EngineMonitor:
    """The engine's last known health. Only `work` waits."""

    def __init__(self, engine: Engine, libraries: Libraries) -> None:
        self._engine = engine
        self._libraries = libraries
        self._calls = EngineCalls(1)
        self._health: EngineHealth | None = None
        self._error = "it was not asked yet"
        self.free_disk: float | None = None
        """The free part of the fullest disk of a node, from 0 to 1; None before it is known."""

    @property
    def answered_seconds_ago(self) -> float | None:
        """Seconds since the engine last answered any call of this server; None if it never did."""
        calls = (self._calls, self._libraries.lookups, self._libraries.questions)
        answered = [each.answered_at for each in calls if each.answered_at is not None]
        return trio.current_time() - max(answered) if answered else None

    @property
    def is_ready(self) -> bool:
        """Whether the engine has answered within READY_SECONDS."""
        ago = self.answered_seconds_ago
        return ago is not None and ago < READY_SECONDS

    def report(self) -> EngineReport:
        """Returns the last known health, for `health_check`."""
        ago = self.answered_seconds_ago
        seconds = None if ago is None else int(ago)
        if self._health is None:
            return EngineReport(status="unavailable", answered_seconds_ago=seconds, error=self._error)
        return EngineReport(
            status=self._health.status,
            nodes=self._health.nodes,
            missing_shards=self._health.missing_shards,
            pending_tasks=self._health.pending_tasks,
            answered_seconds_ago=seconds,
        )

    async def work(self) -> None:
        """Polls until cancelled."""
        for number in itertools.count():
            was_there = self._health is not None
            try:
                self._health = await self._calls.run(self._engine.health, PATIENCE_SECONDS)
                self._error = ""
                if number % DISK_LOOKS == 0 or self.free_disk is None:
                    self.free_disk = await self._calls.run(self._engine.free_disk, PATIENCE_SECONDS)
            except CodeCompassError as error:
                self._health, self._error = None, error.message
                if was_there:
                    get_logger(__name__).error("engine_unavailable", cause=error.message)
            else:
                if not was_there:
                    get_logger(__name__).info("engine_available", status=self._health.status, nodes=self._health.nodes)
            await trio.sleep(LOOK_SECONDS)


class LibraryState:
    """Implements `services.ServerState` for one question of one viewer."""

    def __init__(self, library: Library, monitor: EngineMonitor, started_at: float) -> None:
        self._library = library
        self._monitor = monitor
        self._started_at = started_at

    async def health(self, *, about: Project | None, limit: int, metadata: BareMetadata) -> HealthReply:
        """Returns the state of the server and of the repositories that the viewer may see; without repositories while the engine
        is down."""
        try:
            repositories = await self._library.repositories()
        except CodeCompassError:
            repositories = ()
        on = visible_repositories(self._library.viewer, repositories)
        shown = [each for each in repositories if about is None or each.repo_id == about.project_id]
        # Repositories in trouble or without an index first, because these are why somebody checks.
        shown.sort(key=lambda each: (each.trouble is None, each.default_head is not None, each.name))
        entries = [_entry(each, project_of(each, on.labels[each.repo_id], 0.0)) for each in shown]
        return health(self._monitor, self._started_at, metadata, entries, limit)


def health(
    monitor: EngineMonitor,
    started_at: float,
    metadata: BareMetadata,
    projects: Sequence[HealthProject] = (),
    limit: int = 0,
) -> HealthReply:
    """Returns the state of a server, with the first `limit` of `projects`; `started_at` is monotonic. Never waits."""
    engine = monitor.report()
    return HealthReply(
        status="ready" if monitor.is_ready and engine.status in ("green", "yellow") else "error",
        version=__version__,
        uptime_seconds=int(time.monotonic() - started_at),
        tantivy_ok=True,
        sqlite_ok=True,
        grammars=Grammars(available=PARSED_LANGUAGES, missing=()),
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


def gauges(monitor: EngineMonitor) -> tuple[Family, ...]:
    """Returns the gauges about the engine for `/metrics`. None is about a single repository."""
    engine, ago, free = monitor.report(), monitor.answered_seconds_ago, monitor.free_disk
    disk = "codecompass_engine_disk_free_ratio"
    return (
        *(() if free is None else (gauge(disk, "The free part of the fullest disk of a node, from 0 to 1.", free),)),
        gauge("codecompass_engine_ready", "1 where the search engine answers.", float(monitor.is_ready)),
        gauge(
            "codecompass_engine_status",
            "3 green, 2 yellow (copies are missing), 1 red (data is missing), 0 unavailable.",
            _STATUS_VALUES.get(engine.status, 0),
        ),
        gauge("codecompass_engine_nodes", "Nodes of the search engine.", engine.nodes),
        gauge("codecompass_engine_missing_shards", "Shards of our indexes that no node has.", engine.missing_shards),
        gauge("codecompass_engine_pending_tasks", "Changes that wait for the engine's manager.", engine.pending_tasks),
        gauge(
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
