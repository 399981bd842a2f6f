"""The server over an organisation's code: puts together the engine, authentication, tools and protocol. It is stateless, so any
number of servers can answer behind one address.

    open_library_server -> LibraryServer.core --> sessions --> tools --> services of the caller --> Library --> engine

`http_routes.py` serves it over HTTP.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.actors.asking import query_settings
from codecompass.actors.failures import run_again_after_failure
from codecompass.actors.index_limits import index_limits
from codecompass.actors.job_state import JobHandle
from codecompass.actors.worker_pool import WorkerPool, open_worker_pool
from codecompass.cluster.access.audit import audit_of, traced_as
from codecompass.cluster.access.authentication import Authenticator, trusted_proxy
from codecompass.cluster.access.sign_in import sign_in
from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.access.viewer_limits import ViewerLimits
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.engine.login import engine_login
from codecompass.cluster.hosts.members import Members, ReaderGroups
from codecompass.cluster.hosts.sources import Sources
from codecompass.cluster.page.own_requests import page_address
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.serving.answers import AnswerSettings, LibraryAnswers, LibraryCommits, LibraryWorkspaces
from codecompass.cluster.serving.comparisons import Comparing
from codecompass.cluster.serving.generations import Generations, open_generations
from codecompass.cluster.serving.health import EngineMonitor, LibraryState
from codecompass.cluster.serving.library import LOOKUPS, Libraries
from codecompass.cluster.serving.routing import KeptViews, LibraryRouter
from codecompass.cluster.serving.webhook import (
    lists_otherwise,
    note_listed,
    note_pushed,
    pushed_urls,
)
from codecompass.cluster.stores.measures import MeasuredStore, StoreMeasures, watch_store
from codecompass.cluster.stores.opening import open_store
from codecompass.nurseries import open_nursery
from codecompass.projects.caller import Caller
from codecompass.protocol.requests import DiffContext
from codecompass.settings import Settings
from codecompass.store.job_log import JobRecord
from codecompass.store.mapped_files import guard_mapped_files
from codecompass.tracing import Traces
from codecompass.transport.call_records import Measures
from codecompass.transport.http.exposition import Family
from codecompass.transport.mcp.core import Core, SessionLimits
from codecompass.transport.product.product_surface import product_surface
from codecompass.transport.tools.catalog import Catalog
from codecompass.transport.tools.listing import TOOLS, listed_names, with_files_elsewhere
from codecompass.transport.tools.services import Services
from codecompass.units import MILLISECONDS, SECONDS

READ_SECONDS: Final = 4 * SECONDS
"""Deadline of one request to one node. Then another node is asked, so a hanging node delays a question by this once."""

PAGE_WORKERS: Final = 2
"""Worker processes that prepare code for the page, and parse what is compared."""

WEBHOOKS: Final = 2
"""Webhook messages processed at a time. They have their own limit, so that questions never wait for them."""

NOT_LISTED: Final = frozenset({"index_repo", "sync_repo", "index_repository"})
"""Tools that cannot work here and are not listed. If called, each returns an error that says what to do instead."""

WHAT_IT_IS: Final = """\
CodeCompass: code search over the repositories of this organisation that you may see, each as its newest indexed commit. Use \
search_code and locate_symbol to find how others do it, who uses an interface, and where something is defined.

- workspace names the repository: its name (owner/name, or the last part), or "*" for all, a group, or a list.
- Answers are of the commit in metadata, not of files on disk. ref: another indexed branch or tag (list_refs).
- get_file_outline before reading a large file, read_file for its lines; get_code_context for a first look at a topic.
"""

WHAT_IT_COMPARES: Final = """\
- diff_context and changed_since compare commits of the default branch: ids, indexed refs, steps (main~3). There is no working \
tree: head left out is the newest indexed commit, base the one before.
"""
"""For listings with `diff_context`, whose arguments are described for a clone."""


class LibraryLaunch(Struct, frozen=True, kw_only=True):
    """Options of a server over the engine."""

    settings: Settings
    cache: Path
    """A directory for this server alone. What an earlier one has left there is used or deleted."""
    limits: SessionLimits = SessionLimits()
    traces: Traces | None = None
    """What records requests; None if traces are off."""
    webhook_secret: str = ""
    """The secret with which git servers sign their messages. If empty, all messages are rejected."""


class LibraryServer:
    """A server; get one from `open_library_server`. Implements `calls.OpenServer` and `calls.ServerAccess` for its sessions and
    `services.ServiceSource` for its tools."""

    def __init__(
        self, launch: LibraryLaunch, engine: Engine, generations: Generations, store: StoreMeasures, page_workers: WorkerPool
    ) -> None:
        """`store` are the counters of the store of segments that `generations` read. `page_workers` prepare code for the page
        and parse what is compared; none is started before somebody opens it or compares."""
        settings = launch.settings
        self._generations = generations
        self._store = store
        self.page_workers: Final = page_workers
        self.page_address: Final = page_address(settings.access)
        self.launch: Final = launch
        self._repositories = Repositories(engine)
        self._sources = Sources(engine)
        self._writes = EngineCalls(WEBHOOKS)
        self._views = KeptViews()
        self.libraries: Final = Libraries(self._repositories, generations)
        self.tokens: Final = Tokens(engine)
        self.authenticator: Final = Authenticator(
            self.tokens.find_for_use,
            trusted_proxy(settings.access),
            EngineCalls(LOOKUPS),
            ReaderGroups(Members(engine), EngineCalls(LOOKUPS), settings.access.host_permissions_seconds)
            if settings.access.host_permissions
            else None,
        )
        self.sign_in: Final = sign_in(settings.access, self.tokens)
        self.monitor: Final = EngineMonitor(engine, self.libraries)
        self.measures: Final = Measures()
        self.tools: Final = Catalog(self, self.measures, launch.traces)
        self.viewer_limits: Final = ViewerLimits(settings.access)
        self.started_at: Final = time.monotonic()
        self._answer_settings = AnswerSettings(
            options=query_settings(settings, settings.server.answers),
            timeout=settings.query.timeout_ms * MILLISECONDS,
            comparing=Comparing(index_limits(settings.index), page_workers),
        )
        listed = listed_names(with_files_elsewhere(settings.server.tools)) - NOT_LISTED
        listing = ",".join(tool.name for tool in TOOLS if tool.name in listed)
        what_it_is = WHAT_IT_IS + (WHAT_IT_COMPARES if DiffContext.tool in listed else "")
        self.core: Final = Core(product_surface(self, listing, settings.server.answers, what_it_is=what_it_is), launch.limits)

    async def of(self, caller: Caller) -> Services:
        """Returns the services of a call, which show only what its caller may see. Raises Unauthorized, EngineUnavailable."""
        viewer = await self.authenticator.viewer(caller.identity)
        library = self.libraries.of(viewer)
        return Services(
            admit=partial(self.viewer_limits.admitted, viewer),
            traced_as=traced_as(caller.identity, viewer),
            audit=audit_of(caller.identity, viewer, shows_queries=self.launch.settings.access.audit_queries),
            workspaces=LibraryWorkspaces(library, self._answer_settings),
            router=LibraryRouter(library, self._views),
            commits=LibraryCommits(library, self._answer_settings),
            cold_answers=LibraryAnswers(library, self._answer_settings),
            state=LibraryState(library, self.monitor, self.started_at),
            default_limit=self.launch.settings.query.default_limit,
        )

    def segment_metrics(self) -> tuple[Family, ...]:
        """Returns the metrics of the store of segments and of the copies here."""
        return (*self._store.metrics(), *self._generations.metrics())

    async def note_message(self, body: bytes) -> None:
        """Requests what a git server's message asks for: turns at repositories, looks at sources. Raises InvalidInput,
        EngineUnavailable."""
        urls, (is_listed, path) = pushed_urls(body), lists_otherwise(body)

        def note() -> None:
            known = note_pushed(self._repositories, urls)
            if is_listed or (urls and not known):
                # An organisation may have no index of sources yet; polling finds what is missed.
                with suppress(EngineUnavailable):
                    note_listed(self._sources, urls, path)

        await self._writes.run(note)

    @property
    def server(self) -> "LibraryServer":
        """The server itself, because it is already open."""
        return self

    async def opened(self) -> "LibraryServer":
        """Returns itself."""
        return self

    def tools_listed(self) -> None:
        """Does nothing, because the server is already open."""

    def find_job(self, job_id: str) -> JobHandle | None:
        """Returns None: no jobs run here."""
        return None

    async def recorded_job(self, job_id: str) -> JobRecord | None:
        """Returns None: workers do not record jobs."""
        return None

    async def cancel_job(self, job_id: str) -> bool:
        """Returns False: no jobs run here."""
        return False


@asynccontextmanager
async def open_library_server(launch: LibraryLaunch) -> AsyncIterator[LibraryServer]:
    """Yields a server, even while the engine is down; its cache is deleted at the end.

    Raises InvalidInput if the settings name no engine, an invalid proxy or address of the page, or unknown tools.
    """
    settings = launch.settings
    login = engine_login(settings.cluster)
    engine = Engine(settings.cluster.url, prefix=settings.cluster.prefix, login=login, timeout=READ_SECONDS)
    measures = StoreMeasures()
    store = MeasuredStore(open_store(settings.cluster), measures)
    try:
        with guard_mapped_files(launch.cache) as mapped_files:
            opened = open_generations(engine, store, launch.cache, settings.server.cache_bytes, mapped_files)
            workers = open_worker_pool(PAGE_WORKERS)
            async with opened as generations, workers as page_workers, open_nursery() as nursery:
                server = LibraryServer(launch, engine, generations, measures, page_workers)
                nursery.start_soon(watch_store, store, measures)
                nursery.start_soon(run_again_after_failure, "engine watch", server.monitor.work)
                nursery.start_soon(run_again_after_failure, "fetches", server.libraries.work)
                try:
                    yield server
                finally:
                    server.core.stop()
                    nursery.cancel_scope.cancel()
    finally:
        engine.close()
