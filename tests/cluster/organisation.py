"""A small organisation in a real engine: repositories indexed and published as by workers, and a server over them."""

import secrets
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.cluster.access.tokens import Tokens
from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.publishing import NewGeneration, publish
from codecompass.cluster.repositories.catalog import prepare
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import RefHead, Repository
from codecompass.cluster.serving.http_routes import serve_library
from codecompass.cluster.serving.server import LibraryLaunch, LibraryServer, open_library_server
from codecompass.cluster.stores.opening import open_store
from codecompass.settings import MAX_TIMEOUT_MS, AccessSettings, ClusterSettings, QuerySettings, ServerSettings, Settings
from codecompass.tracing import Traces
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import open_sockets
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

GROUPS: Mapping[str, tuple[str, ...]] = {
    "alpha": ("red",),
    "beta": ("blue",),
    "shared": ("red", "blue"),
    "public": ("everyone",),
    "hidden": (),
}
"""The repositories of the organisation, by the last part of their names, and their groups."""


PATIENT = QuerySettings(timeout_ms=MAX_TIMEOUT_MS)
"""On a busy machine, too, answers are whole unless a test says how long they may take."""


def url_of(name: str) -> str:
    return f"https://git.example.org/team-{name}/{name}"


def files_of(name: str) -> Mapping[str, str]:
    """Returns files with words that no other repository has, and some that all have."""
    return {
        f"src/{name}_engine.py": (
            f'"""The {name}secret engine."""\n\n\nclass {name.title()}Engine:\n    """Turns {name}secret wheels."""\n\n'
            f"    def turn_{name}(self, wheel):\n        return common_helper(wheel)\n\n\n"
            f"def common_helper(value):\n    {name}_constant = '{name}secret'\n    return (value, {name}_constant)\n"
        ),
        "README.md": f"# {name}\n\nShared words about wheels and engines, and {name}secret.\n",
    }


class Organisation:
    """Repositories and tokens under a unique prefix, published in a store: by default `segments` of the directory."""

    def __init__(self, urls: Sequence[str], directory: Path, store: ClusterSettings | None = None) -> None:
        self.urls = tuple(urls)
        self.prefix = f"t{secrets.token_hex(6)}"
        self.engine = Engine(self.urls, prefix=self.prefix, patience=60)
        prepare(self.engine)
        self.repositories = Repositories(self.engine)
        self.tokens = Tokens(self.engine)
        self.directory = directory
        self.segments = directory / "segments"
        self.segments.mkdir(parents=True)
        self._named = store or ClusterSettings(segments=str(self.segments))
        self.store = open_store(self.settings().cluster)
        self.published: dict[str, Repository] = {}

    async def publish(self, name: str, files: Mapping[str, str], *, groups: Sequence[str], ref: str = "main") -> Repository:
        """Adds the repository if it is new, and publishes these files as the newest commit of a ref."""
        added = await trio.to_thread.run_sync(lambda: self.repositories.add(url_of(name), groups=tuple(groups)))
        repo_id = added.repository.repo_id
        workspace = TestWorkspace(self.directory / "trees" / f"{name}-{ref}", self.directory / f"home-{name}-{ref}")
        workspace.write(files)
        await workspace.sync()
        generation, commit = secrets.token_hex(12), secrets.token_hex(20)

        def write() -> Repository:
            published = publish(
                self.engine,
                self.store,
                NewGeneration(repo_id=repo_id, generation=generation, layout=workspace.layout, project_id=workspace.project_id),
            )
            meta = published.manifest.meta
            head = RefHead(
                generation=generation,
                commit=commit,
                published_at=time.time(),
                file_count=meta.file_count,
                symbol_count=meta.symbol_count,
                source_bytes=meta.source_bytes,
            )

            def with_head(old: Repository) -> Repository:
                return replace(old, heads={**old.heads, ref: head}, default_ref=old.default_ref or ref)

            done = self.repositories.update(repo_id, with_head)
            assert done is not None
            return done

        self.published[name] = await trio.to_thread.run_sync(write)
        self.engine.refresh(self.engine.names.repositories)
        return self.published[name]

    def settings(self, **access: object) -> Settings:
        return Settings(
            cluster=replace(self._named, url=self.urls, prefix=self.prefix),
            server=ServerSettings(transport="http", store="opensearch", tools="all"),
            query=PATIENT,
            # Tests of every question ask thousands within a minute.
            access=AccessSettings(**{"max_requests_per_minute": 0, **access}),
        )

    def close(self) -> None:
        self.engine.patiently(lambda: self.engine._request("DELETE", f"/{self.engine.names.all}"))
        self.engine.close()


@contextmanager
def organisation(urls: Sequence[str], directory: Path, store: ClusterSettings | None = None) -> Iterator[Organisation]:
    """Yields an organisation without repositories; deletes its indexes after the block."""
    made = Organisation(urls, directory, store)
    try:
        yield made
    finally:
        made.close()


class ServedLibrary(Struct, frozen=True):
    """A server on a local port; `metrics_port` is 0 if it has none."""

    server: LibraryServer
    port: int
    metrics_port: int = 0


@asynccontextmanager
async def serving_library(
    settings: Settings,
    cache: Path,
    *,
    n_ready: int = 1,
    webhook_secret: str = "",
    has_metrics_port: bool = False,
    traces: Traces | None = None,
    port: int = 0,
) -> AsyncIterator[ServedLibrary]:
    """Yields an HTTP server over an engine; stops it after the block. `port` is 0 for any free one."""
    launch = LibraryLaunch(settings=settings, cache=cache, webhook_secret=webhook_secret, traces=traces)
    async with open_library_server(launch) as server, trio.open_nursery() as nursery:
        sockets = open_sockets("127.0.0.1", port)
        port = sockets[0].getsockname()[1]
        metrics_sockets = open_sockets("127.0.0.1", 0) if has_metrics_port else ()
        metrics_port = metrics_sockets[0].getsockname()[1] if metrics_sockets else 0
        await nursery.start(partial(serve_library, server, sockets, metrics_sockets=metrics_sockets, limits=HttpLimits(stop=1)))
        try:
            await until(lambda: server.monitor.is_ready or not n_ready)
            yield ServedLibrary(server, port, metrics_port)
        finally:
            server.core.stop()
