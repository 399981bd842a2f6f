"""What `cluster doctor` finds: each check by the facts that it looks at, and faults of a real cluster."""

import os
import time

import pytest
from msgspec.structs import replace

from codecompass.cluster.diagnosis import Facts, NodeFacts, Watermarks, findings, observed, store_finding
from codecompass.cluster.engine.client import EngineHealth
from codecompass.cluster.engine.schema import FORMAT
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import claim, failed
from codecompass.cluster.repositories.repository import Lease, RefHead, Repository, RepositoryFailure
from codecompass.cluster.stores.checking import LEFT_SECONDS, StoreFacts, check_store
from codecompass.cluster.stores.opening import open_store
from codecompass.cluster.stores.segment_store import CHECKED
from codecompass.store.schema import PARSER_VERSION, SCHEMA_VERSION
from tests.cluster.kept_stores import CountingStore, KeptDirectory
from tests.cluster.thirty import wait_until

GIB = 1024**3
HEALTHY = EngineHealth(status="green", nodes=3, shards=20, missing_shards=0, pending_tasks=0)
NODES = tuple(
    NodeFacts(name=f"n{number}", version="2.19.4", disk_total=100 * GIB, disk_available=60 * GIB, clock=1000.0)
    for number in range(3)
)
HEAD = RefHead(
    generation="g",
    commit="c",
    published_at=0,
    file_count=1,
    symbol_count=1,
    source_bytes=1,
    made_by=(SCHEMA_VERSION, PARSER_VERSION),
)
READY = Repository(
    repo_id="r1", name="shop/api", url="u", added_at=0, changed_at=0, changes=1, done_changes=1, heads={"main": HEAD}
)
LEASE = Lease(owner="host process 1", token="t", renewals=3)
FACTS = Facts(
    health=HEALTHY,
    nodes=NODES,
    watermarks=Watermarks(),
    data_nodes=3,
    blocked_indexes=(),
    before=(READY,),
    after=(READY,),
    here=1000.0,
)


def found(facts, name):
    (one,) = [each for each in findings(facts) if each.name == name]
    return one


def with_node(**changes):
    return replace(FACTS, nodes=(replace(NODES[0], **changes), *NODES[1:]))


def both(*repositories):
    return replace(FACTS, before=repositories, after=repositories)


def test_a_cluster_without_faults_is_well_and_nothing_is_to_be_done():
    results = list(findings(FACTS))

    assert [each.status for each in results] == ["ok"] * len(results)
    assert not any(each.remedy for each in results)


@pytest.mark.parametrize(
    ("facts", "name", "status", "said"),
    [
        (replace(FACTS, health=replace(HEALTHY, status="red", missing_shards=2)), "engine", "fail", "2 shards on no node"),
        (replace(FACTS, health=replace(HEALTHY, status="yellow", missing_shards=4)), "engine", "warn", "4 shards without a copy"),
        (replace(FACTS, data_nodes=1), "engine", "warn", "nothing is kept twice"),
        (with_node(version="2.11.0"), "versions", "fail", "n0"),
        (with_node(version="3.1.0"), "versions", "warn", "2.19.4, 3.1.0"),
        (with_node(disk_available=14 * GIB), "disks", "warn", "no more copies"),
        (with_node(disk_available=9 * GIB), "disks", "warn", "moved away"),
        (with_node(disk_available=4 * GIB), "disks", "fail", "n0 (4.0 GB free)"),
        (replace(FACTS, watermarks=Watermarks(low="70gb", high="1b", flood="1b")), "disks", "warn", "70gb"),
        (replace(FACTS, watermarks=Watermarks(low="0.3", high="0.99", flood="0.99")), "disks", "warn", "0.3"),
        (replace(FACTS, blocked_indexes=("a-text",)), "disks", "fail", "a-text"),
        (with_node(clock=1100.0), "clocks", "warn", "n0 (+100 s)"),
        (both(replace(READY, lease=LEASE)), "leases", "warn", "host process 1"),
        (both(replace(READY, changes=2)), "workers", "warn", "1 repository wait"),
        (both(replace(READY, trouble=RepositoryFailure(message="no route", at=1.0, failures=2))), "remotes", "fail", "no route"),
        (
            both(READY, replace(READY, name="b", trouble=RepositoryFailure(message="no route", at=1.0, failures=2))),
            "remotes",
            "warn",
            "1 of 2",
        ),
        (both(replace(READY, heads={"main": replace(HEAD, made_by=(0, 0))})), "formats", "warn", "older"),
        (both(replace(READY, heads={"main": replace(HEAD, made_by=(999, 0))})), "formats", "warn", "newer"),
    ],
)
def test_each_fault_is_named_with_what_to_do(facts, name, status, said):
    result = found(facts, name)

    assert (result.status, said in result.message) == (status, True), result
    assert result.remedy


def test_a_lease_that_is_renewed_or_given_back_is_well():
    held = replace(READY, changes=2, lease=LEASE)

    for after in (replace(held, lease=replace(LEASE, renewals=4)), READY, replace(held, lease=replace(LEASE, token="other"))):
        assert found(replace(FACTS, before=(held,), after=(after,)), "leases").status == "ok"


def test_what_is_paused_neither_waits_nor_fails():
    paused = replace(READY, is_paused=True, changes=2, trouble=RepositoryFailure(message="x", at=1.0, failures=2))

    assert found(both(paused), "workers").status == "ok"
    assert "1 paused" in found(both(paused), "workers").message
    assert found(both(paused), "remotes").status == "ok"


STORE = StoreFacts(address="/srv/segments", clock_skew=0.2, free_bytes=40 * GIB, total_bytes=100 * GIB)


@pytest.mark.parametrize(
    ("facts", "status", "said"),
    [
        (STORE, "ok", "/srv/segments can be written, listed, read and removed from; 40.0 GB of 100.0 GB free"),
        (replace(STORE, free_bytes=None, total_bytes=None), "ok", "removed from"),
        (replace(STORE, free_bytes=9 * GIB), "warn", "nearly full; 9.0 GB of 100.0 GB free"),
        (replace(STORE, clock_skew=-90.0), "warn", "(-90 s)"),
        (replace(STORE, failed_step="listed", problem="the key has no right"), "fail", "cannot be listed: the key has no right"),
        (None, "warn", "cluster.segments is not set here"),
    ],
)
def test_each_fault_of_the_store_is_named_with_what_to_do(facts, status, said):
    result = store_finding(facts)

    assert (result.status, said in result.message) == (status, True), result
    assert bool(result.remedy) == (status != "ok")


def test_a_store_of_either_kind_is_tried_and_left_as_it_was(kept):
    store = open_store(kept.settings)

    facts = check_store(store)

    assert store_finding(facts).status in ("ok", "warn"), "this machine's disk may be nearly full"
    assert not facts.failed_step
    assert abs(facts.clock_skew) < 60
    assert store.keys(CHECKED) == store.repositories() == []


def test_a_store_that_is_away_is_found_without_the_engine(kept):
    kept.go_away()

    found = store_finding(check_store(open_store(kept.settings)))

    assert found.status == "fail"
    assert "cannot be written" in found.message
    kept.come_back()


def test_what_a_killed_check_left_is_removed_by_a_later_one_and_what_another_writes_now_is_not(tmp_path):
    kept = KeptDirectory(tmp_path / "shared")
    store = open_store(kept.settings)
    (tmp_path / "content").write_bytes(b"c")
    for key in (f"{CHECKED}/a/old", f"{CHECKED}/a/new"):
        store.put(key, tmp_path / "content")
    long_ago = time.time() - 2 * LEFT_SECONDS
    os.utime(tmp_path / "shared" / f"p-v{FORMAT}" / CHECKED / "a" / "old", (long_ago, long_ago))

    check_store(store)

    assert store.keys(CHECKED) == [f"{CHECKED}/a/new"]


def test_a_store_that_forgets_or_garbles_is_found(tmp_path):
    settings = KeptDirectory(tmp_path / "shared").settings
    garbling, forgetting, keeping = CountingStore(settings), CountingStore(settings), CountingStore(settings)
    garbling.blocks = lambda _key: iter([b"other"])
    forgetting.keys = lambda _repo_id: []
    keeping.remove = lambda _key: None

    steps = [check_store(store).failed_step for store in (garbling, forgetting, keeping)]

    assert steps == ["read", "listed", "removed from"]


# on a real cluster


def seen(engine, **others):
    return {each.name: each for each in findings(observed(engine, Repositories(engine), watch_seconds=0.0, **others))}


@pytest.mark.cluster
def test_real_nodes_tell_their_versions_disks_and_clocks(engine, engine_cluster):
    engine_cluster.wait("green", 3)

    facts = observed(engine, Repositories(engine))

    assert [each.version for each in facts.nodes] == ["2.19.4"] * 3
    assert all(0 < each.disk_available < each.disk_total for each in facts.nodes)
    assert found(facts, "clocks").status == "ok"
    assert found(facts, "engine").status == "ok"
    assert facts.data_nodes == 3


@pytest.mark.cluster
def test_disks_beyond_the_marks_of_a_real_cluster_are_found(engine, engine_cluster):
    name = "cluster.routing.allocation.disk.watermark"
    least = {f"{name}.low": "1gb", f"{name}.high": "900mb", f"{name}.flood_stage": "800mb"}
    beyond = {f"{name}.low": "90000gb", f"{name}.high": "1b", f"{name}.flood_stage": "1b"}
    index = engine.names.manifests
    try:
        for settings, status in ((least, "ok"), (beyond, "warn")):
            engine_cluster.request("PUT", "/_cluster/settings", {"transient": settings})
            assert seen(engine)["disks"].status == status
        # The engine takes such a block away with its next look at the disks, each 10 s.
        wait_until(lambda: is_seen_blocked(engine, engine_cluster, index))
    finally:
        engine_cluster.request("PUT", f"/{index}/_settings", {"index.blocks.read_only_allow_delete": None})
        engine_cluster.request("PUT", "/_cluster/settings", {"transient": dict.fromkeys(beyond)})


def is_seen_blocked(engine, engine_cluster, index):
    """Takes writes from an index as a full disk does. Returns whether that is found."""
    engine_cluster.request("PUT", f"/{index}/_settings", {"index.blocks.read_only_allow_delete": "true"})
    return index in seen(engine)["disks"].message


@pytest.mark.cluster
def test_a_lease_of_a_worker_that_is_gone_and_a_remote_that_fails_are_found(engine):
    repositories = Repositories(engine)
    held = repositories.add("https://git.example.org/shop/held").repository
    lost = repositories.add("https://git.example.org/shop/lost").repository
    assert claim(repositories, held, "gone process 7") is not None
    repositories.update(lost.repo_id, lambda old: failed(old, "the remote does not answer", 1.0))

    results = seen(engine)

    assert "gone process 7" in results["leases"].message
    assert "the remote does not answer" in results["remotes"].message
