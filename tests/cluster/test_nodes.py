"""The test harness that starts, breaks and ends real nodes: nothing may be left behind on the machine."""

import os
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.cluster.cluster import LOOPBACK, Cluster, Node
from tests.cluster.nodes import QUICK_START, free_ports, running_nodes

ROOT = Path(__file__).parents[2]
END_SECONDS = 60

ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="only Linux ties a process to the one that started it, and has pidfds"
)

pytestmark = pytest.mark.cluster


def test_three_nodes_are_one_cluster(engine_cluster: Cluster) -> None:
    names = []
    for node in engine_cluster.nodes:
        status, state = node.request("GET", "/_cluster/state/nodes")
        assert status == 200
        names.append(sorted(member["name"] for member in state["nodes"].values()))

    assert names == [["n1", "n2", "n3"]] * 3
    assert len(set(engine_cluster.urls)) == len({node.pid for node in engine_cluster.nodes}) == 3


def test_an_acknowledged_document_survives_a_killed_node(breakable_cluster: Cluster) -> None:
    cluster = breakable_cluster
    with replicated_index(cluster, "killed") as index:
        write(cluster, index, "before")
        cluster.wait("green", 3)  # so that the copies exist
        lost = holder_of_primary(cluster, index)

        lost.kill()
        cluster.wait("yellow", 2)

        assert not lost.is_running
        assert found(cluster, index, "before")
        write(cluster, index, "after")
        lost.start()
        cluster.wait("green", 3)
        assert found(lost, index, "before")
        assert found(lost, index, "after")


def test_a_paused_manager_is_replaced_and_joins_again_when_it_is_resumed(breakable_cluster: Cluster) -> None:
    cluster = breakable_cluster
    manager = manager_of(cluster)
    with replicated_index(cluster, "paused") as index:
        write(cluster, index, "before")

        manager.pause()
        cluster.wait("yellow", 2)

        assert manager_of(cluster) is not manager
        assert found(cluster, index, "before")
        write(cluster, index, "meanwhile")
        manager.resume()
        cluster.wait("green", 3)
        assert found(manager, index, "meanwhile")


def test_a_full_disk_refuses_writes_and_lets_them_pass_when_it_has_space_again(breakable_cluster: Cluster) -> None:
    cluster = breakable_cluster
    with replicated_index(cluster, "full") as index:
        write(cluster, index, "before")
        with cluster.full_disk():
            while (status := put(cluster, index, "meanwhile")) in (200, 201):  # until the nodes have checked their disks
                pass

            assert status == 429
            assert found(cluster, index, "before")
        while (status := put(cluster, index, "after")) == 429:
            pass

        assert status == 201
        while not cluster.makes_indexes():
            pass


@ON_LINUX
def test_a_taken_port_is_not_insisted_on_and_no_process_outlives_the_context(startable: None) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        choices = [[taken.getsockname()[1], *free_ports(1)], free_ports(2)]
        offered = iter(choices)
        with running_nodes(1, java_options=QUICK_START, ports=lambda n: next(offered)) as cluster:
            node = cluster.nodes[0]
            end = os.pidfd_open(node.pid)
            node.pause()  # a paused process is ended, too

    assert node.http_port == choices[1][0]
    assert has_ended(end)
    assert not cluster.directory.exists()


@ON_LINUX
def test_the_command_ends_its_nodes_however_it_ends_and_takes_up_their_data_again(startable: None) -> None:
    # Not in tmp_path: only its owner has access, and root's nodes run as another user.
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        directory.chmod(0o755)

        with command(directory) as (process, node, end):
            assert node.request("PUT", "/kept/_doc/1?refresh=true", {"text": "x"})[0] == 201
            process.send_signal(signal.SIGTERM)
            assert process.wait(END_SECONDS) == 0
            assert has_ended(end)

        with command(directory) as (process, node, end):
            assert found(node, "kept", "1")
            process.kill()
            assert has_ended(end)


@contextmanager
def command(directory: Path) -> Iterator[tuple[subprocess.Popen[str], Node, int]]:
    """Runs the module with one node; yields its process, a Node for requests, and a descriptor of the node for `has_ended`."""
    arguments = ["--quick", "--nodes", "1", "--directory", str(directory)]
    with subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.nodes", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            urls = process.stdout.readline()
            assert urls, process.stderr.read()
            (port,) = re.fullmatch(r"http://127\.0\.0\.1:(\d+)\n", urls).groups()
            (pid,) = re.match(r"n1: process (\d+), ", process.stderr.readline()).groups()
            node = Node("n1", directory / "n1", int(port), spawn=lambda _: process)
            yield process, node, os.pidfd_open(int(pid))
        finally:
            process.kill()


def has_ended(descriptor: int) -> bool:
    """Waits for the process of a pidfd to end; closes the descriptor."""
    ready = select.select([descriptor], [], [], END_SECONDS)[0]
    os.close(descriptor)
    return bool(ready)


@contextmanager
def replicated_index(cluster: Cluster, name: str) -> Iterator[str]:
    """Creates an index with a copy of its one shard on each of three nodes."""
    assert cluster.request("PUT", f"/{name}", {"settings": {"number_of_shards": 1, "number_of_replicas": 2}})[0] == 200
    cluster.wait("green", 3)
    try:
        yield name
    finally:
        cluster.request("DELETE", f"/{name}")


def write(cluster: Cluster, index: str, name: str) -> None:
    assert put(cluster, index, name) == 201


def put(cluster: Cluster, index: str, name: str) -> int:
    return cluster.request("PUT", f"/{index}/_doc/{name}", {"text": name})[0]


def found(asked: Cluster | Node, index: str, name: str) -> bool:
    return bool(asked.request("GET", f"/{index}/_doc/{name}")[1].get("found"))


def holder_of_primary(cluster: Cluster, index: str) -> Node:
    state = cluster.request("GET", f"/_cluster/state/routing_table,nodes/{index}")[1]
    (primary,) = [copy for copy in state["routing_table"]["indices"][index]["shards"]["0"] if copy["primary"]]
    return named(cluster, state["nodes"][primary["node"]]["name"])


def manager_of(cluster: Cluster) -> Node:
    state = cluster.request("GET", "/_cluster/state/cluster_manager_node,nodes")[1]
    return named(cluster, state["nodes"][state["cluster_manager_node"]]["name"])


def named(cluster: Cluster, name: str) -> Node:
    return next(node for node in cluster.nodes if node.name == name)
