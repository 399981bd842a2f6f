"""One server over an organisation's code: the engine, who asks, the tools and the protocol, put together. It keeps no state that
another one would miss: any number of them answer behind one address.

    open_library_server -> LibraryServer.core --> sessions --> tools --> services of the caller --> Library --> engine
"""

import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from codecompass.actors.answering import query_settings
from codecompass.actors.background import run_again_after_failure
from codecompass.actors.job_model import JobView
from codecompass.cluster.access import Tokens
from codecompass.cluster.across import Across
from codecompass.cluster.answers import Answering, LibraryCommits, LibraryWorkspaces
from codecompass.cluster.calls import EngineCalls
from codecompass.cluster.doorkeeper import Doorkeeper, trusted_proxy
from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_watch import EngineWatch
from codecompass.cluster.generations import Generations
from codecompass.cluster.library import LOOKUPS, Libraries
from codecompass.cluster.library_health import LibraryState
from codecompass.cluster.many_answers import LibraryAnswers
from codecompass.cluster.rarities import EngineRarities
from codecompass.cluster.repositories import Repositories
from codecompass.cluster.routing import LibraryRouter
from codecompass.cluster.webhook import note_pushed
from codecompass.projects.caller import Caller
from codecompass.settings import Settings
from codecompass.store.job_log import JobRecord
from codecompass.transport.call_records import Measures
from codecompass.transport.mcp.core import Core, SessionLimits
from codecompass.transport.product.product_surface import product_surface
from codecompass.transport.tools.catalog import Catalog
from codecompass.transport.tools.listing import TOOLS, listed_names
from codecompass.transport.tools.services import Services
from codecompass.units import MILLISECONDS, SECONDS

READ_SECONDS: Final = 4 * SECONDS
"""Of one request to one node. Another node is asked then, so one that hangs costs a question this long once."""

WEBHOOKS: Final = 2
"""Messages of git servers at a time: they wait for each other, and never a question for them."""

NOT_LISTED: Final = frozenset({"index_repo", "sync_repo", "index_repository", "diff_context"})
"""Tools that have nothing to do here. Called all the same, each says who does it."""

WHAT_IT_IS: Final = """\
CodeCompass: code search over the repositories of this organisation that you may see, each as its newest indexed commit. Use \
search_code and locate_symbol to find how others do it, who uses an interface, and where something is defined.

- workspace names the repository: its name (owner/name, or the last part), or "*" for all, a group, or a list.
- Answers are of the commit in metadata, not of files on disk. ref: another indexed branch or tag (list_refs).
- get_file_outline before reading a large file; get_code_context for a first look at a topic.
"""


class LibraryLaunch(Struct, frozen=True, kw_only=True):
    """What a server over an engine is started with. `cache` is a directory of its own, which is emptied; `webhook_secret` is what
    git servers sign their messages with, empty where none is believed."""

    settings: Settings
    cache: Path
    limits: SessionLimits = SessionLimits()
    webhook_secret: str = ""


class LibraryServer:
    """Get one from `open_library_server`. The `calls.OpenServer` of its sessions, their `calls.ServerAccess` and the
    `services.ServiceSource` of its tools."""

    def __init__(self, launch: LibraryLaunch, engine: Engine, generations: Generations) -> None:
        settings = launch.settings
        self.launch: Final = launch
        self._repositories = Repositories(engine)
        self._writes = EngineCalls(WEBHOOKS)
        self.libraries: Final = Libraries(self._repositories, generations, Across(engine, EngineRarities(engine)))
        self.doorkeeper: Final = Doorkeeper(Tokens(engine).find, trusted_proxy(settings.access), EngineCalls(LOOKUPS))
        self.watch: Final = EngineWatch(engine, self.libraries)
        self.measures: Final = Measures()
        self.tools: Final = Catalog(self, self.measures)
        self.started_at: Final = time.monotonic()
        self._answering = Answering(
            options=query_settings(settings, settings.server.answers), timeout=settings.query.timeout_ms * MILLISECONDS
        )
        listed = listed_names(settings.server.tools) - NOT_LISTED
        listing = ",".join(tool.name for tool in TOOLS if tool.name in listed)
        self.core: Final = Core(product_surface(self, listing, settings.server.answers, what_it_is=WHAT_IT_IS), launch.limits)

    async def of(self, caller: Caller) -> Services:
        """Returns the parts of a call: in them is nothing but what its caller may see. Raises Unauthorized, EngineUnavailable."""
        library = self.libraries.of(await self.doorkeeper.viewer(caller.identity))
        return Services(
            workspaces=LibraryWorkspaces(library, self._answering),
            router=LibraryRouter(library),
            commits=LibraryCommits(library, self._answering),
            cold_answers=LibraryAnswers(library, self._answering),
            state=LibraryState(library, self.watch, self.started_at),
            default_limit=self.launch.settings.query.default_limit,
        )

    async def note_pushed(self, urls: Sequence[str]) -> None:
        """Has workers look soon at the repositories at these addresses. Raises EngineUnavailable."""
        await self._writes.run(lambda: note_pushed(self._repositories, urls))

    @property
    def server(self) -> "LibraryServer":
        """Itself: it is open."""
        return self

    async def opened(self) -> "LibraryServer":
        """Returns itself."""
        return self

    def tools_listed(self) -> None:
        """Nothing: it is open."""

    def find_job(self, job_id: str) -> JobView | None:
        """None: nothing is indexed here."""
        return None

    async def recorded_job(self, job_id: str) -> JobRecord | None:
        """None: what the workers do is not recorded by jobs."""
        return None

    async def cancel_job(self, job_id: str) -> bool:
        """False: no job runs here."""
        return False


@asynccontextmanager
async def open_library_server(launch: LibraryLaunch) -> AsyncIterator[LibraryServer]:
    """Gives a server, also while its engine is away; when the block is left all that it has kept is gone.

    Raises InvalidInput where the settings name no engine, no proxy that can be trusted, or tools that there are not.
    """
    settings = launch.settings
    engine = Engine(settings.cluster.url, prefix=settings.cluster.prefix, timeout=READ_SECONDS)
    try:
        generations = await trio.to_thread.run_sync(Generations, engine, launch.cache, settings.server.cache_bytes)
        try:
            server = LibraryServer(launch, engine, generations)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(run_again_after_failure, "engine watch", server.watch.work)
                try:
                    yield server
                finally:
                    server.core.stop()
                    nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(generations.close)
    finally:
        engine.close()
