"""Workers for tests, with times a tenth of the real ones: in this process, or in one of their own that can be stopped and killed.

python -m tests.cluster.working URL PREFIX HOME      works until SIGTERM, and logs JSON lines to stderr
"""

import json
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import trio

from codecompass.cluster.engine import Engine
from codecompass.cluster.remotes import RemoteLimits
from codecompass.cluster.repositories import Repositories, Repository
from codecompass.cluster.schedule import Times
from codecompass.cluster.worker import WorkerOptions, run_worker
from codecompass.settings import ClusterSettings, IndexSettings, Settings
from codecompass.store.layout import HomeLayout

ROOT = Path(__file__).parents[2]
TIMES = Times(lease=3, poll=1, grace=1.5, first_backoff=0.5, longest_backoff=2, affinity=0.5)
LIMITS = RemoteLimits(protocols=("file", "http"), silence_seconds=2, listing_seconds=20)
DEADLINE_SECONDS = 120


def options(jobs: int = 1) -> WorkerOptions:
    return WorkerOptions(jobs=jobs, times=TIMES, look_seconds=0.2, remotes=LIMITS)


def settings(prefix: str) -> Settings:
    return Settings(cluster=ClusterSettings(prefix=prefix), index=IndexSettings(workers=1))


@asynccontextmanager
async def working(engine: Engine, home: Path, jobs: int = 1) -> AsyncIterator[None]:
    """A worker in this process, while the block runs."""
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run_worker, engine, settings(engine.names.prefix), HomeLayout(home), stop, options(jobs))
        try:
            yield
        finally:
            stop.set()


async def until(
    repositories: Repositories, repo_id: str, is_so: Callable[[Repository | None], bool], *, what: str = ""
) -> Repository | None:
    """Returns the repository once it is so. Fails after DEADLINE_SECONDS."""
    now: Repository | None = None
    with trio.move_on_after(DEADLINE_SECONDS):
        while True:
            now = await trio.to_thread.run_sync(repositories.get, repo_id)
            if is_so(now):
                return now
            await trio.sleep(0.05)
    raise AssertionError(f"never {what or 'so'}: {now}")


class WorkerProcess:
    """A worker in a process of its own."""

    def __init__(self, url: str, prefix: str, home: Path) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.cluster.working", url, prefix, str(home)],
            cwd=ROOT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self.events: list[dict[str, object]] = []
        self._rest = b""

    def wait_for(self, event: str) -> dict[str, object]:
        """Reads the log until there is a line of this event, from now on, and returns it."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        assert self._process.stderr is not None
        while time.monotonic() < deadline:
            while b"\n" in self._rest:
                line, _, self._rest = self._rest.partition(b"\n")
                if line.startswith(b"{"):
                    self.events.append(json.loads(line))
                    if self.events[-1]["event"] == event:
                        return self.events[-1]
                else:
                    self.events.append({"event": "output", "line": line.decode(errors="replace")})
            if select.select([self._process.stderr], [], [], 0.5)[0]:
                piece = os.read(self._process.stderr.fileno(), 65536)
                if not piece:
                    break
                self._rest += piece
        raise AssertionError(f"{event} never came: {self.events[-30:]}")

    def pause(self) -> None:
        os.killpg(self._process.pid, signal.SIGSTOP)

    def resume(self) -> None:
        os.killpg(self._process.pid, signal.SIGCONT)

    def kill(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def stop(self) -> int:
        """Ends it by SIGTERM, and returns its exit code."""
        self._process.terminate()
        return self._process.wait(DEADLINE_SECONDS)

    def end(self) -> None:
        if self._process.poll() is None:
            self.kill()
        assert self._process.stderr is not None
        self._process.stderr.close()


@contextmanager
def worker_process(engine_url: str, prefix: str, home: Path) -> Iterator[WorkerProcess]:
    """A worker in a process of its own, which does not outlive the block."""
    process = WorkerProcess(engine_url, prefix, home)
    try:
        yield process
    finally:
        process.end()


async def _main(url: str, prefix: str, home: str) -> None:
    engine = Engine([url], prefix=prefix, patience=60.0)
    stop = trio.Event()
    async with trio.open_nursery() as nursery:

        async def stop_on_signal() -> None:
            with trio.open_signal_receiver(signal.SIGTERM) as signals:
                await anext(aiter(signals))
            stop.set()

        nursery.start_soon(stop_on_signal)
        await run_worker(engine, settings(prefix), HomeLayout(Path(home)), stop, options())
        nursery.cancel_scope.cancel()
    engine.close()


if __name__ == "__main__":
    from codecompass import log

    log.configure("info", "json")
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+", sys.argv[1])
    trio.run(_main, *sys.argv[1:4])
