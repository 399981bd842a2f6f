"""A real OpenSearch cluster on loopback for tests and benchmarks, whose nodes can be killed, paused and restarted.

    with running_nodes(3) as cluster:
        ... cluster.urls ...

`python -m tests.cluster.nodes --nodes 3 --directory DIR` prints the URLs and runs until SIGTERM or SIGINT. Each node has its own
configuration, data and logs: `DIR/n1/{config,data,logs,tmp}`. No node outlives the process that started it, even if that is
killed (Linux). OpenSearch refuses to run as root, so root's nodes run as `nobody`.
"""

import argparse
import hashlib
import json
import os
import pwd
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.cluster.cluster import LOOPBACK, START_SECONDS, STOP_SECONDS, Cluster, ClusterFailed, Node
from tests.cluster.distribution import distribution, java_home

LAUNCH = Path(__file__).with_name("launch.py")

N_PORT_CHOICES = 3

PORTS = range(20_000, 32_000)
"""Below the ephemeral ports. A restarted node needs its old port; an ephemeral one may be taken by then, even by a client of the
dead node, which then connects to itself."""

QUICK_START = ("-XX:TieredStopAtLevel=1",)
"""`java_options` for tests, which compile only once and quickly: on two busy CPUs three nodes start in 11 s instead of 33. Not
for measurements, as they never reach the speed of the full compiler."""

AS_IN_PRODUCTION: Mapping[str, object] = {"node.store.allow_mmap": True}
"""`settings` for measurements: words are found in half the time. Nodes on loopback start with any limit of maps."""

SETTINGS: Mapping[str, object] = {
    "network.host": LOOPBACK,
    # Many machines limit the number of maps to less than nodes with mmap require.
    "node.store.allow_mmap": False,
    # A paused node is noticed after 12 s instead of over 30; a killed one at once, by its connections.
    "cluster.fault_detection.follower_check.timeout": "3s",
    "cluster.fault_detection.leader_check.timeout": "3s",
    # A new manager's first publication waits this long for the old one if that is paused (default 30 s).
    "cluster.publish.timeout": "10s",
    # Watermarks work as usual, but low, so that the machine's disk may be nearly full: `full_disk` changes them.
    "cluster.routing.allocation.disk.watermark.low": "300mb",
    "cluster.routing.allocation.disk.watermark.high": "200mb",
    "cluster.routing.allocation.disk.watermark.flood_stage": "100mb",
    "cluster.info.update.interval": "10s",  # the minimum
}


def free_ports(n: int) -> list[int]:
    """Returns ports on which nobody listens; they are not reserved."""
    found: list[int] = []
    for port in random.sample(PORTS, len(PORTS)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # like Java: lingering connections do not count
            try:
                probe.bind((LOOPBACK, port))
            except OSError:
                continue
        found.append(port)
        if len(found) == n:
            return found
    raise ClusterFailed("no free ports")


@contextmanager
def running_nodes(
    n: int = 3,
    *,
    directory: Path | None = None,
    heap: str = "512m",
    java_options: Sequence[str] = (),
    settings: Mapping[str, object] | None = None,
    ports: Callable[[int], list[int]] = free_ports,
) -> Iterator[Cluster]:
    """Starts `n` nodes, waits until they form a cluster, and ends them in any case.

    `directory` keeps their data and may have data of an earlier run (with the same `n`); without it, or if the nodes' user has no
    access to it, a temporary one is used. `settings` are for opensearch.yml, `heap` is in Java's notation.

    Raises:
        Missing, FetchFailed: See `tests.cluster.distribution`.
        ClusterFailed: They did not start within 120 s.
    """
    java = java_home()
    options = (f"-Xms{heap}", f"-Xmx{heap}", *java_options)
    account = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
    with ExitStack() as stack:
        place = _place(directory, account, stack)
        home = _reachable_copy(distribution(), place, account)
        # A process ends with the *thread* that started it, so this thread lives as long as the nodes.
        starter = stack.enter_context(ThreadPoolExecutor(1, thread_name_prefix="nodes"))
        for attempt in range(1, N_PORT_CHOICES + 1):
            cluster = _configure(n, place, home, java, options, settings or {}, ports(2 * n), account, starter)
            try:
                for node in cluster.nodes:
                    node.start()
                _wait_for_start(cluster)
            except _PortTaken as error:
                _end(cluster, starter)
                if attempt == N_PORT_CHOICES:
                    raise cluster.failed("others took the ports again and again") from error
            except BaseException:
                _end(cluster, starter)
                raise
            else:
                break
        try:
            yield cluster
        finally:
            _end(cluster, starter)


class _PortTaken(Exception):
    """Another process listens on a port that was free before."""


def _wait_for_start(cluster: Cluster) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            cluster.wait("yellow", len(cluster.nodes), seconds=1)
        except ClusterFailed:
            ended = [node for node in cluster.nodes if not node.is_running]
            if any(node.has_said("java.net.BindException") for node in ended):
                raise _PortTaken from None
            if ended:
                raise cluster.failed(f"{', '.join(node.name for node in ended)} ended while starting") from None
            if time.monotonic() > deadline:
                raise
        else:
            return


def _end(cluster: Cluster, starter: ThreadPoolExecutor) -> None:
    starter.submit(int).result()  # waits for a start in progress
    for node in cluster.nodes:
        node.ask_to_stop()
    deadline = time.monotonic() + STOP_SECONDS
    for node in cluster.nodes:
        node.stop(max(0.0, deadline - time.monotonic()))


def _place(directory: Path | None, account: pwd.struct_passwd | None, stack: ExitStack) -> Path:
    if directory is not None:
        directory.mkdir(parents=True, exist_ok=True)
        if account is None or _may(account, "-x", directory.resolve()):
            return directory.resolve()
    temporary = Path(tempfile.mkdtemp(prefix="codecompass-nodes-")).resolve()
    stack.callback(shutil.rmtree, temporary, ignore_errors=True)
    _give(temporary, account)
    if account is not None and not _may(account, "-x", temporary):
        raise ClusterFailed(
            f"{account.pw_name} cannot reach {temporary}; name a directory for temporary files that all may enter: TMPDIR"
        )
    return temporary


def _reachable_copy(home: Path, place: Path, account: pwd.struct_passwd | None) -> Path:
    if account is None or (_may(account, "-x", home / "bin" / "opensearch") and _may(account, "-r", home / "lib")):
        return home
    copy = place / "opensearch"
    if not copy.is_dir():
        shutil.copytree(home, copy)
        _give(copy, account)
    return copy


def _may(account: pwd.struct_passwd, right: str, path: Path) -> bool:
    # Asks the system, because modes alone do not tell.
    return not subprocess.run(
        ["test", right, path], user=account.pw_uid, group=account.pw_gid, extra_groups=[], cwd="/", timeout=60, check=False
    ).returncode


def _give(directory: Path, account: pwd.struct_passwd | None) -> None:
    if account is not None:
        for path in (directory, *directory.rglob("*")):
            os.chown(path, account.pw_uid, account.pw_gid, follow_symlinks=False)


def _configure(
    n: int,
    place: Path,
    home: Path,
    java: Path,
    options: Sequence[str],
    settings: Mapping[str, object],
    ports: Sequence[int],
    account: pwd.struct_passwd | None,
    starter: ThreadPoolExecutor,
) -> Cluster:
    names = [f"n{number}" for number in range(1, n + 1)]
    snapshots = place / "snapshots"
    snapshots.mkdir(exist_ok=True)
    _give(snapshots, account)
    common = {
        **SETTINGS,
        # Unique, so that other nodes listening on the ports of these are not mistaken for them.
        "cluster.name": f"codecompass-{hashlib.sha256(bytes(place)).hexdigest()[:16]}",
        "cluster.initial_cluster_manager_nodes": names,
        "discovery.seed_hosts": [f"{LOOPBACK}:{port}" for port in ports[n:]],
        "path.repo": [str(snapshots)],
        **settings,
    }

    def spawn(node: Node) -> subprocess.Popen[bytes]:
        future: Future[subprocess.Popen[bytes]] = starter.submit(_spawn, node, home, java, options, account)
        return future.result()

    nodes = []
    for name, http_port, transport_port in zip(names, ports[:n], ports[n:], strict=True):
        node = Node(name, place / name, http_port, spawn)
        own = {"node.name": name, "http.port": http_port, "transport.port": transport_port}
        _write_configuration(node.directory, home, {**common, **own})
        _give(node.directory, account)
        nodes.append(node)
    return Cluster(nodes, place)


def _write_configuration(directory: Path, home: Path, settings: Mapping[str, object]) -> None:
    # Each node has its own: of two nodes sharing one, the second to create the keystore fails.
    config, logs, data = directory / "config", directory / "logs", directory / "data"
    for path in (logs, data, directory / "tmp"):
        path.mkdir(parents=True, exist_ok=True)
    if not config.is_dir():
        shutil.copytree(home / "config", config)
    # By default Java writes into the distribution, which is shared.
    options = (home / "config" / "jvm.options").read_text().splitlines()
    options = [line.replace("=logs/", f"={logs}/").replace("=data", f"={logs}") for line in options if "-Xlog:gc" not in line]
    (config / "jvm.options").write_text("\n".join([*options, "-XX:-UsePerfData", ""]))
    settings = {**settings, "path.data": str(data), "path.logs": str(logs)}
    (config / "opensearch.yml").write_text("".join(f"{key}: {json.dumps(value)}\n" for key, value in settings.items()))


def _spawn(
    node: Node, home: Path, java: Path, options: Sequence[str], account: pwd.struct_passwd | None
) -> subprocess.Popen[bytes]:
    environment = {
        "PATH": os.defpath,
        "LANG": "C.UTF-8",
        "HOME": str(node.directory),
        "OPENSEARCH_TMPDIR": str(node.directory / "tmp"),
        "OPENSEARCH_PATH_CONF": str(node.directory / "config"),
        "OPENSEARCH_JAVA_HOME": str(java),
        "OPENSEARCH_JAVA_OPTS": " ".join(options),
    }
    user, group = (account.pw_uid, account.pw_gid) if account else (os.getuid(), os.getgid())
    with node.output.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", LAUNCH, str(os.getpid()), str(user), str(group), home / "bin" / "opensearch"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=node.directory,
            env=environment,
            start_new_session=True,  # Ctrl-C is meant for the process that started it
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.cluster.nodes", description="Starts OpenSearch on loopback, for tests."
    )
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--directory", type=Path, help="where the data stay (default: a temporary directory)")
    parser.add_argument("--heap", default="512m", help="of each node, in Java's notation")
    parser.add_argument(
        "--quick", action="store_true", help="start in half the time, but answer slower: for tests, not for figures"
    )
    parser.add_argument("--fetch", action="store_true", help="only fetch and unpack the distribution")
    arguments = parser.parse_args()
    if arguments.fetch:
        print(distribution())
        return
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGINT, _interrupt)
    options, settings = (QUICK_START, None) if arguments.quick else ((), AS_IN_PRODUCTION)
    with running_nodes(
        arguments.nodes, directory=arguments.directory, heap=arguments.heap, java_options=options, settings=settings
    ) as cluster:
        if arguments.directory is not None and cluster.directory != arguments.directory.resolve():
            print(f"nobody may not enter {arguments.directory}: the data are temporary, in {cluster.directory}", file=sys.stderr)
        for node in cluster.nodes:
            print(f"{node.name}: process {node.pid}, {node.url}, {node.directory}", file=sys.stderr, flush=True)
        print(",".join(cluster.urls), flush=True)
        while True:
            signal.pause()


def _interrupt(number: int, frame: object) -> None:
    # Only once: a second signal must not interrupt the shutdown of the nodes.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(0)


if __name__ == "__main__":
    main()
