"""Workers for tests, with times a tenth of the real ones, in this process or in one that can be paused and killed.

python -m tests.cluster.working URLS PREFIX HOME TIMES [EVENT]

    Works until SIGTERM, and logs JSON lines to stderr. Before it logs an EVENT it logs `paused`, and pauses as by SIGSTOP.
"""

import os
import re
import signal
import sys
from collections.abc import AsyncIterator, Callable, Iterator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog
import trio
from msgspec.structs import replace

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.indexing.remotes import RemoteLimits
from codecompass.cluster.indexing.schedule import Times
from codecompass.cluster.indexing.worker import WorkerOptions, run_worker
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.serving.generations import Generations
from codecompass.settings import ClusterSettings, IndexSettings, Settings
from codecompass.store.layout import HomeLayout
from codecompass.tracing import Traces
from tests.cluster.processes import DEADLINE_SECONDS, LoggedProcess

TIMES = Times(lease=3, poll=1, grace=1.5, first_backoff=0.5, longest_backoff=2, orphans=2, affinity=0.5)
LIMITS = RemoteLimits(protocols=("file", "http"), silence_seconds=2, listing_seconds=20)

MANY = {f"pkg/m{number}.py": f"def f{number}():\n    return {number}\n" for number in range(60)}
"""Enough files for an index to begin as a fork of another."""


def options(jobs: int = 1, times: Times = TIMES) -> WorkerOptions:
    return WorkerOptions(jobs=jobs, times=times, look_seconds=0.2, remotes=LIMITS)


def settings(prefix: str, home: Path, store: ClusterSettings | None = None) -> Settings:
    """The settings of a worker that publishes into the `store`, by default the directory `segments` beside its home."""
    if store is None:
        segments = home.parent / "segments"
        segments.mkdir(parents=True, exist_ok=True)
        store = ClusterSettings(segments=str(segments))
    return Settings(cluster=replace(store, prefix=prefix), index=IndexSettings(workers=1))


def with_history(given: Settings, generations: int | None) -> Settings:
    return given if generations is None else replace(given, cluster=replace(given.cluster, history=generations))


@asynccontextmanager
async def working(
    engine: Engine,
    home: Path,
    jobs: int = 1,
    measures: WorkerMeasures | None = None,
    store: ClusterSettings | None = None,
    traces: Traces | None = None,
    history: int | None = None,
    times: Times = TIMES,
) -> AsyncIterator[None]:
    """Runs a worker in this process for the duration of the block."""
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(
            run_worker,
            engine,
            with_history(settings(engine.names.prefix, home, store), history),
            HomeLayout(home),
            stop,
            replace(options(jobs, times), measures=measures, traces=traces),
        )
        try:
            yield
        finally:
            stop.set()


def has(repository: Repository | None, commit: str, ref: str = "main") -> bool:
    """Whether a commit is published for a ref."""
    return repository is not None and ref in repository.heads and repository.heads[ref].commit == commit


def names_in(generations: Generations, repository: Repository, ref: str = "main") -> set[str]:
    """Returns the definitions that a reader of the ref sees; asserts that each of its files has chunks in the text index."""
    with generations.snapshot(repository.heads[ref].generation) as snapshot:
        files = snapshot.facts.files()
        for file in files:
            assert snapshot.text.file_chunks(file.id), file.path
        return {symbol.name for file in files for symbol in snapshot.facts.symbols_in_file(file.id)}


def keys_of(engine: Engine, repository: Repository) -> list[str]:
    """Returns the keys of all objects of the newest generation."""
    return sorted({file.key for file in ManifestReader(engine).manifest(repository.heads["main"].generation).segments})


async def until(
    repositories: Repositories, repo_id: str, is_so: Callable[[Repository | None], bool], *, what: str = ""
) -> Repository | None:
    """Waits until the repository meets a condition and returns it. Fails after DEADLINE_SECONDS."""
    now: Repository | None = None
    with trio.move_on_after(DEADLINE_SECONDS):
        while True:
            now = await trio.to_thread.run_sync(repositories.get, repo_id)
            if is_so(now):
                return now
            await trio.sleep(0.05)
    raise AssertionError(f"never {what or 'so'}: {now}")


class WorkerProcess(LoggedProcess):
    """A worker in a separate process. Its log is beside its home. If it `pauses_at` an event, `resume` makes it go on."""

    def __init__(self, urls: str, prefix: str, home: Path, times: Times = TIMES, pauses_at: str = "") -> None:
        number = len(list(home.parent.glob(f"{home.name}-*.log")))
        log = home.parent / f"{home.name}-{number}.log"
        given = msgspec.json.encode(times).decode()
        command = [sys.executable, "-m", "tests.cluster.working", urls, prefix, str(home), given, pauses_at]
        super().__init__(command, log)


@contextmanager
def worker_process(engine_url: str, prefix: str, home: Path, pauses_at: str = "") -> Iterator[WorkerProcess]:
    """A worker in a separate process, killed after the block."""
    process = WorkerProcess(engine_url, prefix, home, pauses_at=pauses_at)
    try:
        yield process
    finally:
        process.end()


def pause_at(event: str) -> None:
    """Makes the processes of this group pause when the event is logged. A test that paused them itself would come too late where
    it gets less time than they."""
    configured = structlog.get_config()["processors"]
    has_paused = False

    def pause(_logger: object, _method: str, logged: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
        nonlocal has_paused
        if logged["event"] == event and not has_paused:
            has_paused = True
            print('{"event": "paused"}', file=sys.stderr, flush=True)
            os.killpg(0, signal.SIGSTOP)
        return logged

    structlog.configure(processors=[pause, *configured])


async def _main(urls: str, prefix: str, home: str, times: str) -> None:
    engine = Engine(urls.split(","), prefix=prefix, patience=60.0)
    stop = trio.Event()
    chosen = replace(options(), times=msgspec.json.decode(times, type=Times))
    async with trio.open_nursery() as nursery:

        async def stop_on_signal() -> None:
            with trio.open_signal_receiver(signal.SIGTERM) as signals:
                await anext(aiter(signals))
            stop.set()

        nursery.start_soon(stop_on_signal)
        await run_worker(engine, settings(prefix, Path(home)), HomeLayout(Path(home)), stop, chosen)
        nursery.cancel_scope.cancel()
    engine.close()


if __name__ == "__main__":
    from codecompass import log

    log.configure("info", "json")
    if sys.argv[5]:
        pause_at(sys.argv[5])
    assert all(re.fullmatch(r"http://127\.0\.0\.1:\d+", url) for url in sys.argv[1].split(","))
    trio.run(_main, *sys.argv[1:5])
