"""Opens the search engine of an organisation for a command, and runs a worker on it.

What needs the engine's client is imported after `require_client`.
"""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.tool_options import comma_separated
from codecompass.errors import InvalidInput
from codecompass.remote.address import with_hidden_user
from codecompass.settings import Settings
from codecompass.units import MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.cluster.engine.client import Engine
    from codecompass.cluster.repositories.documents import Repositories

PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long requests to an engine that does not answer are repeated: somebody is waiting at a terminal."""

WORKERS_PATIENCE_SECONDS: Final = 10 * MINUTES
"""The same for a worker."""

AFTER_STOP_SECONDS: Final = 20 * SECONDS
"""How long a worker's shutdown may take beyond its time to stop: a thread blocked by a disk or the engine goes on."""

NOT_INSTALLED: Final = "the client of OpenSearch is not installed. Install it with: pip install 'codecompass[cluster]'"


class ChosenCluster(Struct, frozen=True):
    """The options that choose a cluster; None for what was not given."""

    url: str | None = None
    """Addresses, with commas."""
    prefix: str | None = None


def require_client() -> None:
    """Raises InvalidInput if the client of the engine is not installed."""
    if find_spec("opensearchpy") is None:
        raise InvalidInput(NOT_INSTALLED, remediation="pip install 'codecompass[cluster]'")


@contextmanager
def opened_engine(
    invocation: Invocation,
    chosen: ChosenCluster,
    given: Mapping[str, object] = {},
    *,
    is_patient: bool = False,
) -> "Iterator[tuple[Engine, Settings]]":
    """Yields the engine that the options and settings name, and the settings with the options applied; `given` are those of other
    settings, None if the option was not given.

    Raises InvalidInput if none is named, an address is invalid, or the client is not installed.
    """
    flags = {key: value for key, value in given.items() if value is not None}
    if chosen.url is not None:
        flags["cluster.url"] = comma_separated(chosen.url)
    if chosen.prefix is not None:
        flags["cluster.prefix"] = chosen.prefix
    loaded = invocation.load(flags=flags)
    for warning in loaded.warnings:
        invocation.terminal.warn(warning)
    settings = loaded.settings
    require_client()
    from codecompass.cluster.engine.client import Engine
    from codecompass.cluster.engine.login import engine_login

    patience = WORKERS_PATIENCE_SECONDS if is_patient else PATIENCE_SECONDS
    login = engine_login(settings.cluster)
    engine = Engine(settings.cluster.url, prefix=settings.cluster.prefix, login=login, patience=patience)
    try:
        yield engine, settings
    finally:
        engine.close()


@contextmanager
def opened_repositories(
    invocation: Invocation, chosen: ChosenCluster, *, makes_indexes: bool = False
) -> "Iterator[Repositories]":
    """Yields the repositories of that engine; `makes_indexes` creates its indexes if there are none."""
    with opened_cluster(invocation, chosen, makes_indexes=makes_indexes) as (_engine, repositories):
        yield repositories


@contextmanager
def opened_cluster(
    invocation: Invocation, chosen: ChosenCluster, *, makes_indexes: bool = False
) -> "Iterator[tuple[Engine, Repositories]]":
    """Yields that engine too, as `opened_repositories` does."""
    with opened_engine(invocation, chosen) as (engine, settings):
        from codecompass.cluster.repositories.catalog import prepare
        from codecompass.cluster.repositories.documents import Repositories

        if makes_indexes:
            prepare(engine)
        yield engine, Repositories(engine, settings.cluster.protocols)


def run_worker_process(invocation: Invocation, engine: "Engine", settings: Settings, jobs: int) -> int:
    """Runs a worker until a signal arrives; a second one kills the process. Returns the exit code."""
    import trio

    from codecompass import log
    from codecompass.cli.shutdown import wait_for_signal
    from codecompass.cli.traces import opened_traces
    from codecompass.cluster.indexing.measures import WorkerMeasures
    from codecompass.cluster.indexing.worker import STOP_SECONDS, WorkerOptions, run_worker
    from codecompass.nurseries import open_nursery
    from codecompass.transport.http.metrics_port import serve_metrics
    from codecompass.transport.http.server import open_sockets

    log.configure(log.level_for(settings.log.level, max(1, invocation.options.verbosity)), settings.log.format)
    invocation.terminal.note(f"Working for {', '.join(map(with_hidden_user, settings.cluster.url))}. End it with Ctrl-C.", "dim")
    stop = trio.Event()
    port = settings.server.metrics_port

    async def stop_on_signal(*, task_status: trio.TaskStatus[None]) -> None:
        # What is not given back by the end, other workers take over.
        await wait_for_signal(STOP_SECONDS + AFTER_STOP_SECONDS, task_status=task_status)
        stop.set()
        await trio.sleep(STOP_SECONDS)
        # Repositories that are not finished by now are given back.
        engine.stop_waiting()

    async def work() -> None:
        async with open_nursery() as nursery:
            await nursery.start(stop_on_signal)
            if sockets:
                await nursery.start(partial(serve_metrics, sockets, lambda: measures.page(time.time()), trio.sleep_forever))
            options = WorkerOptions(jobs=jobs, measures=measures, traces=traces)
            await run_worker(engine, settings, invocation.home, stop, options)
            nursery.cancel_scope.cancel()

    with ExitStack() as stack:
        traces = stack.enter_context(opened_traces(settings.traces, "codecompass-worker"))
        measures = WorkerMeasures(traces)
        sockets = open_sockets(settings.server.bind, port) if port else ()
        for each in sockets:
            stack.callback(each.close)
        trio.run(work)
    return failure.DONE
