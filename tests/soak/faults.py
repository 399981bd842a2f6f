"""Faults of a running server: each starts at random, lasts a while, and ends.

`SoakedServer` is the server, which may be killed; `Faults` causes faults. A seed determines the order, not the times.
"""

import errno
import json
import os
import signal
import struct
import subprocess
from collections import Counter
from contextlib import contextmanager, suppress
from pathlib import Path

import h11
import trio
from trio_websocket import HandshakeError

from codecompass.units import DAYS, HOURS, KIB
from tests.soak import load
from tests.support.dead_mounts import dead_mount
from tests.support.faults import workers
from tests.support.live import free_port, http_server
from tests.support.wire import PATIENCE, Posting, http_connection, modern, websocket_client

ROOT = Path(__file__).parents[2]
SHIM = Path(__file__).with_name("clock.c")
CLOCK_STEPS = (-2, -1, 1, 2, -HOURS, HOURS, -DAYS, 400 * DAYS)
"""Seconds by which the server's wall clock is moved."""

GRACE_SECONDS = 2
"""A client may notice a kill before it is recorded."""

HOSTILE = (load.stalls, load.vanishes, load.throws_garbage, load.never_reads, load.opens_and_leaves)
WORST = ("a.", "?", "**/", "(", "a/", "aB", "\\", "[", "é", "\0", "%", '"')


LOST = (*load.GONE, h11.ProtocolError, HandshakeError, trio.EndOfChannel)
"""Errors of a client whose server is gone."""


@contextmanager
def losing_the_connection():
    """Allows clients to lose their connections in this block."""
    try:
        yield
    except* LOST:
        pass


class SoakedServer:
    """A server on a fixed port, restarted after each kill. `n_lives` counts its starts."""

    def __init__(self, home, watch_file, **variables):
        self.home, self.watch_file = home, watch_file
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.n_lives = 0
        self.pid = 0
        self.exit_code = None
        self.said = ()
        self._variables = {"WATCH_FILE": str(watch_file), "PYTHONPATH": str(ROOT), **variables}
        self._ended_by_us = trio.Event()
        self._begun = trio.Event()
        self._last = None

    async def live(self, task_status=trio.TASK_STATUS_IGNORED):
        """Keeps a server running until `end`. Raises if it ends without being told to."""
        while self._last is None:
            options = {"home": self.home, "port": self.port, "module": "tests.soak.watched_server"}
            async with http_server(**options, **self._variables) as server, trio.open_nursery() as nursery:
                self.pid, self.n_lives, self.said = server.process.pid, self.n_lives + 1, server.said
                if self.n_lives == 1:
                    task_status.started()
                is_ended_by_us = self._ended_by_us = trio.Event()
                nursery.start_soon(self._watch, server, is_ended_by_us)
                self._begun.set()
                await is_ended_by_us.wait()
                if self._last is None:
                    await server.kill()
                else:
                    self.exit_code = await server.end()
                    self._last.set()
                nursery.cancel_scope.cancel()

    async def kill(self):
        """Kills the server, as a crash would; returns once the next one accepts connections."""
        self._begun = trio.Event()
        self._ended_by_us.set()
        await self._begun.wait()

    async def next_life(self, life, what):
        """Returns once the next server accepts connections. Raises AssertionError if this one was not killed."""
        with trio.move_on_after(GRACE_SECONDS):
            if self.n_lives == life and self._begun.is_set():
                await self._ended_by_us.wait()
        assert self.n_lives != life or not self._begun.is_set(), f"lost: {what}"
        with trio.fail_after(PATIENCE):
            await self._begun.wait()

    async def end(self):
        """Terminates the server, as its user would, and returns its exit code."""
        self._last = trio.Event()
        self._ended_by_us.set()
        await self._last.wait()
        return self.exit_code

    async def _watch(self, server, is_ended_by_us):
        await server.process.wait()
        assert is_ended_by_us.is_set(), ("the server has ended", list(server.said)[-20:])

    async def health(self):
        async with http_connection(self.url) as http:
            return (await http.request("GET", "/health")).message()


class Faults:
    """Causes faults, each kind in its own task, for up to `seconds`.

    `counts` holds the number of faults by kind, `outcomes` the results of requests to the workspace that does not answer.
    """

    def __init__(self, server, source, *, workspaces, dead_root, seconds, only=()):
        self.server = server
        self.counts, self.outcomes = Counter(), Counter()
        self._random = source
        self._workspaces = workspaces
        self._dead_root = dead_root
        self._seconds = seconds
        self._only = only

    async def run(self):
        """Causes all faults repeatedly until cancelled; every fault is ended then."""
        async with trio.open_nursery() as nursery:
            for fault in (
                self.kills_a_worker,
                self.stops_processes,
                self.fills_the_disk,
                self.moves_the_clock,
                self.hides_a_workspace,
                *HOSTILE,
                self.asks_the_worst,
                self.floods,
            ):
                if not self._only or fault.__name__ in self._only:
                    nursery.start_soon(self._again_and_again, fault)

    async def _again_and_again(self, fault):
        is_hostile = fault in HOSTILE
        # A failed job is retried after up to a minute: with a disk that is full half of the time none would succeed.
        rest = 0.3 if is_hostile else self._seconds * (4 if fault == self.fills_the_disk else 1)
        while True:
            await trio.sleep(self._random.uniform(0, rest))
            if is_hostile:
                with losing_the_connection():
                    await fault(self.server.url, self._random, str(self._random.choice(self._workspaces)))
            else:
                await fault()
            self.counts[fault.__name__] += 1

    async def kills_a_worker(self):
        victims = workers(self.server.pid)
        if victims:
            _signal(self._random.choice(victims), signal.SIGKILL)

    async def stops_processes(self):
        """Pauses the server or one of its workers for a while."""
        victim = self._random.choice([self.server.pid, *workers(self.server.pid)])
        try:
            _signal(victim, signal.SIGSTOP)
            await trio.sleep(self._random.uniform(0.1, self._seconds / 2))
        finally:
            _signal(victim, signal.SIGCONT)

    async def fills_the_disk(self):
        """Fills the file system of the home to the last byte for a while."""
        ballast = self.server.home / "ballast"
        try:
            await trio.to_thread.run_sync(_fill, ballast)
            await trio.sleep(self._random.uniform(0.5, self._seconds))
        finally:
            ballast.unlink(missing_ok=True)

    async def moves_the_clock(self):
        """Moves the server's wall clock for a while."""
        clock = clock_of(self.server.home)
        try:
            _set_clock(clock, self._random.choice(CLOCK_STEPS))
            await trio.sleep(self._random.uniform(0.5, self._seconds))
        finally:
            _set_clock(clock, 0)

    async def hides_a_workspace(self):
        """Makes the file system of a workspace unresponsive for a while, during requests to it."""
        with dead_mount(self._dead_root):
            async with trio.open_nursery() as nursery:
                for _ in range(10):
                    nursery.start_soon(self._ask_the_dead)
            await trio.sleep(self._random.uniform(0, self._seconds / 2))

    async def _ask_the_dead(self):
        life = self.server.n_lives
        arguments = {"name": "found_again", "workspace": str(self._dead_root)}
        try:
            with trio.fail_after(PATIENCE):
                async with http_connection(self.server.url) as http:
                    answer = await Posting(http, "/").call("tools/call", {"name": "locate_symbol", "arguments": arguments})
        except LOST:
            await self.server.next_life(life, "a call to a workspace that does not answer")
            return
        said = answer["result"]["content"][0]["text"]
        assert answer["result"]["isError"] or "found_again" in said, said
        self.outcomes[json.loads(said)["error"]["code"] if answer["result"]["isError"] else "ok"] += 1

    async def asks_the_worst(self):
        """Sends arguments at and above their bounds, and cancels some requests."""
        tool, name, bound = self._random.choice(
            (
                ("search_code", "query", 4_000),
                ("locate_symbol", "name", 4_000),
                ("get_code_context", "query", 4_000),
                ("find_related_symbols", "symbol_name", 4_000),
                ("get_file_outline", "path", 4_000),
            )
        )
        shape = self._random.choice(WORST)
        value = (shape * bound)[: self._random.choice((bound // 4, bound, bound * 2))]
        arguments = {name: value, "workspace": str(self._random.choice(self._workspaces))}
        if tool == "search_code":
            arguments["mode"] = self._random.choice(("auto", "literal", "regex"))
        with losing_the_connection(), trio.move_on_after(PATIENCE):
            async with websocket_client(self.server.url) as client:
                id_ = await client.ask("tools/call", modern({"name": tool, "arguments": arguments}))
                if self._random.random() < 0.5:
                    await trio.sleep(self._random.uniform(0, 0.2))
                    await client.send(method="notifications/cancelled", params={"requestId": id_})
                else:
                    await client.answer(id_)

    async def floods(self):
        """Opens many connections at once, with large messages."""

        async def one():
            with losing_the_connection():
                async with http_connection(self.server.url) as http:
                    await http.stream.send_all(
                        b"POST /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 4000000\r\n\r\n" + b"[" * 9_000
                    )
                    await trio.sleep(self._random.uniform(0, 1))

        async with trio.open_nursery() as nursery:
            for _ in range(40):
                nursery.start_soon(one)


def clock_of(home):
    return home.parent / "clock"


def clock_shim(directory):
    """Returns the variables that make a process use the clock of `directory`/clock; empty if nothing can be compiled."""
    library = directory / "clock.so"
    _set_clock(directory / "clock", 0)
    try:
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, SHIM, "-ldl"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return {"LD_PRELOAD": str(library), "CLOCK_FILE": str(directory / "clock")}


def _set_clock(path, seconds):
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(descriptor, struct.pack("q", int(seconds)), 0)
    finally:
        os.close(descriptor)


def _fill(path):
    with path.open("wb", buffering=0) as file:
        size = 1024 * KIB
        while size:
            try:
                file.write(bytes(size))
            except OSError as error:
                if error.errno != errno.ENOSPC:
                    raise
                size //= 2


def _signal(pid, number):
    with suppress(ProcessLookupError):
        os.kill(pid, number)
