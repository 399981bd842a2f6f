"""A node of OpenSearch as a process, and a cluster of nodes: requests, waiting, killing, pausing and restarting.

How a process is configured and started is defined in `tests.cluster.nodes`, which also ends all of them.
"""

import http.client
import json
import os
import secrets
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"

START_SECONDS = 120
STOP_SECONDS = 20
"""Seconds from SIGTERM to SIGKILL, for all nodes together."""
POLL_SECONDS = 0.1
REQUEST_SECONDS = 60
LOG_LINES = 25
LOG_BYTES = 8192


class ClusterFailed(Exception):
    """The nodes did not reach the expected state in time; the text ends with the last lines of their logs."""


class Node:
    """A process of OpenSearch. Its ports, name and data are the same after each restart."""

    def __init__(self, name: str, directory: Path, http_port: int, spawn: Callable[["Node"], subprocess.Popen[bytes]]) -> None:
        self.name = name
        self.directory = directory
        self.http_port = http_port
        self.url = f"http://{LOOPBACK}:{http_port}"
        self.output = directory / "output.log"
        """The output of every start."""
        self.is_paused = False
        self._spawn = spawn
        self._process: subprocess.Popen[bytes] | None = None
        self._said_before = 0

    @property
    def is_running(self) -> bool:
        """Whether its process exists, paused or not."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The pid of its last start: that of Java, and of its process group."""
        if self._process is None:
            raise ClusterFailed(f"{self.name} was never started")
        return self._process.pid

    def start(self) -> None:
        """Starts the node with its existing data; returns at once. `Cluster.wait` waits until it has joined."""
        if not self.is_running:
            self.is_paused = False
            self._said_before = self.output.stat().st_size if self.output.is_file() else 0
            self._process = self._spawn(self)

    def kill(self) -> None:
        """Kills the node with SIGKILL, and waits for its end."""
        self._signal(signal.SIGKILL)
        if self._process is not None:
            self._process.wait()
        self.is_paused = False

    def pause(self) -> None:
        """Pauses the node with SIGSTOP: its connections stay open, and nothing answers."""
        self._signal(signal.SIGSTOP)
        self.is_paused = True

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self.is_paused = False

    def stop(self, seconds: float = STOP_SECONDS) -> None:
        """Ends the node with SIGTERM, or with SIGKILL after `seconds`."""
        self.ask_to_stop()
        if self._process is not None:
            try:
                self._process.wait(seconds)
            except subprocess.TimeoutExpired:
                self.kill()

    def ask_to_stop(self) -> None:
        self._signal(signal.SIGTERM)
        self.resume()  # a paused process does not handle SIGTERM

    def request(
        self, method: str, path: str, body: object = None, *, timeout: float = REQUEST_SECONDS
    ) -> tuple[int, dict[str, Any]]:
        """Returns the status and the decoded JSON of the answer; `body` is sent as JSON, or unchanged if it is a string.

        Raises:
            OSError: It does not listen, or did not answer within `timeout` seconds.
            http.client.HTTPException: It ended during the answer.
        """
        connection = http.client.HTTPConnection(LOOPBACK, self.http_port, timeout=timeout)
        content = body if isinstance(body, str | None) else json.dumps(body)
        try:
            connection.request(method, path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or b"{}")
        finally:
            connection.close()

    def has_said(self, text: str) -> bool:
        """Whether its output since its last start contains this text."""
        with self.output.open("rb") as file:
            file.seek(self._said_before)
            return text.encode() in file.read()

    def last_lines(self) -> str:
        """The end of its output."""
        if not self.output.is_file():
            return f"--- {self.name}: never started"
        with self.output.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - LOG_BYTES))
            lines = file.read().decode(errors="replace").splitlines()[-LOG_LINES:]
        state = "running" if self.is_running else f"ended with {self._process.returncode}" if self._process else "not started"
        return "\n".join([f"--- {self.name}, {state}:", *lines])

    def _signal(self, number: int) -> None:
        if self.is_running:
            try:
                os.killpg(self.pid, number)
            except ProcessLookupError:  # it has ended since
                pass


class Cluster:
    """Nodes that form a cluster, all started by `running_nodes`."""

    def __init__(self, nodes: Sequence[Node], directory: Path) -> None:
        self.nodes = tuple(nodes)
        self.directory = directory
        """The directory of the nodes: the requested one, or a temporary one if their user has no access to that."""
        self.snapshots = directory / "snapshots"
        """A directory that every node may use as a snapshot repository (`path.repo`)."""

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs of all nodes, running or not."""
        return tuple(node.url for node in self.nodes)

    @property
    def awake(self) -> list[Node]:
        return [node for node in self.nodes if node.is_running and not node.is_paused]

    def request(
        self, method: str, path: str, body: object = None, *, timeout: float = REQUEST_SECONDS
    ) -> tuple[int, dict[str, Any]]:
        """Sends a request to the first node that is neither killed nor paused; see `Node.request`."""
        if not self.awake:
            raise ClusterFailed("no node is running")
        return self.awake[0].request(method, path, body, timeout=timeout)

    def wait(self, status: str = "green", n_nodes: int | None = None, seconds: float = START_SECONDS) -> None:
        """Waits until every awake node sees the same manager, exactly `n_nodes` nodes (default: the awake ones), and at least
        this status.

        Checks each node's own state, because the manager knows of a change before the other nodes do.

        Raises:
            ClusterFailed: The state was not reached within `seconds`, or no node is awake.
        """
        n_nodes = len(self.awake) if n_nodes is None else n_nodes
        deadline = time.monotonic() + seconds
        answers: list[object] = []
        while (left := deadline - time.monotonic()) > 0 and self.awake:
            # Short, because a change of manager restarts the wait.
            answers = [self._view(node, status, n_nodes, max(1, min(5, int(left)))) for node in self.awake]
            if isinstance(answers[0], str) and all(answer == answers[0] for answer in answers):
                return
            time.sleep(POLL_SECONDS)
        raise self.failed(f"not {status} with {n_nodes} nodes after {seconds:g} s; the nodes say {answers}")

    @staticmethod
    def _view(node: Node, status: str, n_nodes: int, seconds: int) -> object:
        """Returns the id of the node's manager if the node sees the expected state, else its answer, which is not a string."""
        health = f"/_cluster/health?local=true&wait_for_status={status}&wait_for_nodes={n_nodes}&timeout={seconds}s"
        try:
            # First the manager: the health is then that manager's, or the next pass sees another one.
            _, state = node.request("GET", "/_cluster/state/cluster_manager_node?local=true", timeout=seconds)
            code, answer = node.request("GET", health, timeout=seconds + 5)
        except (OSError, http.client.HTTPException, ValueError) as error:
            return error
        return state.get("cluster_manager_node") if code == 200 else (code, answer)

    def mend(self) -> None:
        """Resumes and starts all nodes as needed, and waits until they are one cluster again."""
        for node in self.nodes:
            node.resume()
            node.start()
        self.wait("yellow", len(self.nodes))

    @contextmanager
    def full_disk(self) -> Iterator[None]:
        """Makes every node see its disk above the flood stage, for the duration of the block.

        Nodes check every 10 s: writes to existing indexes are then refused (429), and shards of new ones are not allocated. After
        the block, too, a node needs up to 10 s to remove its blocks, and longer to allow new indexes (`makes_indexes`): the tests
        that follow create some.
        """
        kinds = ("low", "high", "flood_stage")
        self._watermarks(dict.fromkeys(kinds, "1000000tb"))
        try:
            yield
        finally:
            self._watermarks(dict.fromkeys(kinds))

    def makes_indexes(self) -> bool:
        """Whether new indexes are allowed. Makes one, whose name begins with `probe`."""
        return self.request("PUT", f"/probe-{secrets.token_hex(5)}")[0] == 200

    def _watermarks(self, values: Mapping[str, str | None]) -> None:
        settings = {f"cluster.routing.allocation.disk.watermark.{kind}": value for kind, value in values.items()}
        code, answer = self.request("PUT", "/_cluster/settings", {"persistent": settings})
        if code != 200:
            raise self.failed(f"watermarks refused: {answer}")

    def failed(self, what: str) -> ClusterFailed:
        return ClusterFailed("\n".join([what, *(node.last_lines() for node in self.nodes)]))
