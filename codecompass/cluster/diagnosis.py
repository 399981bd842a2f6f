"""What can be wrong with a cluster: facts that the engine and the documents tell, and what they mean. The checks are pure.

    observed(engine, ..) -> Facts -> findings(facts) -> one for each thing that is looked at, with what to do about it

A lease counts as standing still if it was not renewed between two reads of the documents by this process: clocks of workers are
not compared. That the engine's nodes and this machine agree on the time matters for tokens that expire.
The store of segments is looked at even if the engine does not answer: `store_finding`.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, Literal

from msgspec import Struct

from codecompass import formatting
from codecompass.cluster.engine.client import Engine, EngineHealth
from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.leases import LEASE_SECONDS, RENEWALS
from codecompass.cluster.repositories.repository import MADE_BY, Repository
from codecompass.cluster.stores.checking import StoreFacts
from codecompass.formatting import count
from codecompass.units import GIB, KIB, MIB, SECONDS

OLDEST_ENGINE: Final = (2, 19)

WATCH_SECONDS: Final = 1.5 * LEASE_SECONDS / RENEWALS
"""How long leases are watched: a worker that is alive renews each in this time."""

MAX_SKEW_SECONDS: Final = 5 * SECONDS
LEAST_FREE: Final = 0.1
"""Part of a disk of the store that should be free: workers write a new generation before the old one is removed."""

MAX_NAMED: Final = 5
"""Nodes or repositories that a finding names."""

_UNITS: Final = {"b": 1, "kb": KIB, "mb": MIB, "gb": GIB, "tb": 1024 * GIB}
_SIZE: Final = re.compile(r"([\d.]+)\s*(b|kb|mb|gb|tb)", re.IGNORECASE)
_VERSION: Final = re.compile(r"(\d+)\.(\d+)")

Severity = Literal["ok", "warn", "fail"]


class NodeFacts(Struct, frozen=True, kw_only=True):
    """A node of the engine. Sizes in bytes; `clock` in seconds since 1970, None if it did not say."""

    name: str
    version: str
    disk_total: int
    disk_available: int
    clock: float | None = None


class Watermarks(Struct, frozen=True, kw_only=True):
    """From which use of a disk on the engine places no more shards there (`low`), moves them away (`high`), and takes no more
    writes (`flood`), as it says it: `85%` used, or `500mb` free."""

    low: str = "85%"
    high: str = "90%"
    flood: str = "95%"


class Facts(Struct, frozen=True, kw_only=True):
    """All that is looked at. `before` and `after` are the repositories at the beginning and at the end of the watch."""

    health: EngineHealth
    nodes: tuple[NodeFacts, ...]
    watermarks: Watermarks
    data_nodes: int
    blocked_indexes: tuple[str, ...]
    before: tuple[Repository, ...]
    after: tuple[Repository, ...]
    here: float
    """This machine's clock, in seconds since 1970, when the nodes were asked."""


class Finding(Struct, frozen=True, kw_only=True):
    """The result of one check. `remedy` says what to do; empty if nothing."""

    name: str
    status: Severity
    message: str
    remedy: str = ""


def observed(
    engine: Engine,
    repositories: Repositories,
    *,
    watch_seconds: float = WATCH_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> Facts:
    """Returns the facts. Watches leases for `watch_seconds` if there are any. Raises EngineUnavailable and EngineRefused."""
    # First: without any index, the engine waits for one when it is asked for the health of all, and then seems to be busy.
    before = repositories.listed(is_current=True)
    health = engine.health()
    asked_at = time.time()
    stats = engine.told("/_nodes/stats/fs")
    here = (asked_at + time.time()) / 2
    versions = {key: each["version"] for key, each in engine.told("/_nodes/_all/process")["nodes"].items()}
    nodes = tuple(_node(each, versions.get(key, "")) for key, each in stats["nodes"].items())
    settings = engine.told("/_cluster/settings?include_defaults=true&flat_settings=true")
    blocks = engine.told(f"/{engine.names.all}/_settings/index.blocks.read_only_allow_delete?flat_settings=true")
    data_nodes = engine.told("/_cluster/health")["number_of_data_nodes"]
    after = before
    if any(each.lease is not None for each in before):
        sleep(watch_seconds)
        after = repositories.listed(is_current=True)
    return Facts(
        health=health,
        nodes=tuple(sorted(nodes, key=lambda each: each.name)),
        watermarks=_watermarks(settings),
        data_nodes=data_nodes,
        blocked_indexes=tuple(
            sorted(name for name, each in blocks.items() if each["settings"].get("index.blocks.read_only_allow_delete") == "true")
        ),
        before=before,
        after=after,
        here=here,
    )


def findings(facts: Facts) -> Iterator[Finding]:
    """Yields what was found: the engine first, then the repositories."""
    yield _copies(facts)
    yield _versions(facts.nodes)
    yield _disks(facts)
    yield _clocks(facts)
    yield _leases(facts)
    yield _waiting(facts)
    yield _remotes(facts.after)
    yield _formats(facts.after)


def store_finding(facts: StoreFacts | None) -> Finding:
    """Returns what a check of the store of segments means; None: the settings of this machine name none."""
    if facts is None:
        return Finding(
            name="store",
            status="warn",
            message="not looked at: cluster.segments is not set here",
            remedy="run this with the settings of a worker, on a machine that sees what workers see",
        )
    if facts.failed_step:
        return Finding(
            name="store",
            status="fail",
            message=f"cannot be {facts.failed_step}: {facts.problem}",
            remedy="put right what is said; until then nothing is published, and servers answer only from what they have copied",
        )
    if facts.clock_skew is not None and abs(facts.clock_skew) > MAX_SKEW_SECONDS:
        return Finding(
            name="store",
            status="warn",
            message=f"the clock of {facts.address} differs from this machine's ({facts.clock_skew:+.0f} s)",
            remedy="run a time service on both: services for S3 refuse requests whose time is 15 minutes off",
        )
    free = ""
    if facts.free_bytes is not None and facts.total_bytes:
        free = f"; {formatting.size(facts.free_bytes)} of {formatting.size(facts.total_bytes)} free"
        if facts.free_bytes < LEAST_FREE * facts.total_bytes:
            return Finding(
                name="store",
                status="warn",
                message=f"the disk of {facts.address} is nearly full{free}",
                remedy="make room: enlarge the disk, or remove repositories",
            )
    return Finding(name="store", status="ok", message=f"{facts.address} can be written, listed, read and removed from{free}")


def _node(said: dict[str, Any], version: str) -> NodeFacts:
    total = said.get("fs", {}).get("total", {})
    timestamp = said.get("timestamp")
    return NodeFacts(
        name=said.get("name", ""),
        version=version,
        disk_total=total.get("total_in_bytes", 0),
        disk_available=total.get("available_in_bytes", 0),
        clock=None if timestamp is None else timestamp / 1000,
    )


def _watermarks(said: dict[str, Any]) -> Watermarks:
    def value(name: str, default: str) -> str:
        key = f"cluster.routing.allocation.disk.watermark.{name}"
        return next(
            (said[level][key] for level in ("transient", "persistent", "defaults") if key in said.get(level, {})), default
        )

    usual = Watermarks()
    return Watermarks(low=value("low", usual.low), high=value("high", usual.high), flood=value("flood_stage", usual.flood))


def _copies(facts: Facts) -> Finding:
    health = facts.health
    missing = count(health.missing_shards, "shard")
    if health.status == "red":
        return Finding(
            name="engine",
            status="fail",
            message=f"data is missing: {missing} on no node",
            remedy="start the nodes that are gone, or restore the newest snapshot; until then answers fail",
        )
    if facts.data_nodes < 2:
        return Finding(
            name="engine",
            status="warn",
            message=f"{count(facts.data_nodes, 'node')} with data: nothing is kept twice",
            remedy="run three nodes, so that one may fail",
        )
    if health.missing_shards:
        return Finding(
            name="engine",
            status="warn",
            message=f"{missing} without a copy on another node, on {count(health.nodes, 'node')}",
            remedy="start the node that is gone, or make room on the others; copies are then made by themselves",
        )
    return Finding(name="engine", status="ok", message=f"{health.status}, {count(health.nodes, 'node')}, all copies are there")


def _versions(nodes: Sequence[NodeFacts]) -> Finding:
    known = {each.version for each in nodes}
    shown = ", ".join(sorted(known))
    old = [each.name for each in nodes if (_version(each.version) or OLDEST_ENGINE) < OLDEST_ENGINE]
    if old:
        oldest = ".".join(map(str, OLDEST_ENGINE))
        return Finding(
            name="versions", status="fail", message=f"OpenSearch {shown}: {_named(old)}", remedy=f"upgrade to {oldest} or later"
        )
    if len(known) > 1:
        return Finding(
            name="versions",
            status="warn",
            message=f"nodes of several versions: {shown}",
            remedy="finish the upgrade: new indexes may not be copied to nodes of an older version",
        )
    return Finding(name="versions", status="ok", message=f"OpenSearch {shown}" if shown else "no node has said its version")


def _version(text: str) -> tuple[int, int] | None:
    found = _VERSION.match(text)
    return None if found is None else (int(found[1]), int(found[2]))


def _disks(facts: Facts) -> Finding:
    marks = facts.watermarks
    if facts.blocked_indexes:
        return Finding(
            name="disks",
            status="fail",
            message=f"{count(len(facts.blocked_indexes), 'index', 'indexes')} took no writes, because a disk was full: "
            f"{_named(facts.blocked_indexes)}",
            remedy="make room: add a node or a disk, or remove repositories; writes go on by themselves once there is room",
        )
    levels: tuple[tuple[str, Severity, str, str], ...] = (
        (marks.flood, "fail", "no writes are taken", "make room now: add a node or a disk, or remove repositories"),
        (marks.high, "warn", "shards are moved away", "make room: add a node or a disk, or remove repositories"),
        (marks.low, "warn", "no more copies are placed there", "make room soon: add a node or a disk, or remove repositories"),
    )
    for mark, status, effect, remedy in levels:
        full = [each for each in facts.nodes if _is_beyond(each, mark)]
        if full:
            shown = _named([f"{each.name} ({formatting.size(each.disk_available)} free)" for each in full])
            return Finding(name="disks", status=status, message=f"beyond the mark {mark}, {effect}: {shown}", remedy=remedy)
    least = min(facts.nodes, key=lambda each: each.disk_available, default=None)
    free = "" if least is None else f"; least free: {formatting.size(least.disk_available)}"
    return Finding(name="disks", status="ok", message=f"below the marks {marks.low}, {marks.high}, {marks.flood}{free}")


def _is_beyond(node: NodeFacts, mark: str) -> bool:
    """Whether a disk is used beyond a watermark: a share of it that is used, or a size that is free."""
    if not node.disk_total:
        return False
    used = 1.0 - node.disk_available / node.disk_total
    if (size := _SIZE.fullmatch(mark.strip())) is not None:
        return node.disk_available < float(size[1]) * _UNITS[size[2].lower()]
    try:
        share = float(mark.strip().removesuffix("%"))
    except ValueError:
        return False
    return used > (share / 100 if mark.strip().endswith("%") else share)


def _clocks(facts: Facts) -> Finding:
    skews = {each.name: each.clock - facts.here for each in facts.nodes if each.clock is not None}
    wrong = [f"{name} ({skew:+.0f} s)" for name, skew in skews.items() if abs(skew) > MAX_SKEW_SECONDS]
    if wrong:
        return Finding(
            name="clocks",
            status="warn",
            message=f"not the time of this machine: {_named(wrong)}",
            remedy="run a time service on all machines; until then tokens expire early or late, and times in lists are wrong",
        )
    return Finding(
        name="clocks", status="ok", message=f"{count(len(skews), 'node')} within {MAX_SKEW_SECONDS:.0f} s of this machine"
    )


def _leases(facts: Facts) -> Finding:
    leases = {each.repo_id: each.lease for each in facts.before if each.lease is not None}
    stuck = [f"{each.name} ({each.lease.owner})" for each in facts.after if each.lease and leases.get(each.repo_id) == each.lease]
    if stuck:
        return Finding(
            name="leases",
            status="warn",
            message=f"held and not renewed: {_named(stuck)}",
            remedy=f"any worker takes them over after {LEASE_SECONDS:.0f} s. If they stay: start a worker (codecompass cluster "
            "worker), or look at the machine that is named",
        )
    working = count(len(leases), "repository", "repositories")
    return Finding(name="leases", status="ok", message=f"{working} worked on, all of them renewed" if leases else "none is held")


def _waiting(facts: Facts) -> Finding:
    waiting = [
        each for each in facts.after if each.is_pending and not each.is_paused and each.lease is None and not each.failures
    ]
    paused = sum(each.is_paused for each in facts.after)
    said = f"; {paused:,} paused (codecompass cluster resume)" if paused else ""
    is_worked = any(each.lease is not None for each in (*facts.before, *facts.after))
    if waiting and not is_worked:
        return Finding(
            name="workers",
            status="warn",
            message=f"{count(len(waiting), 'repository', 'repositories')} wait, and none is worked on{said}",
            remedy="start a worker (codecompass cluster worker), or read the log of the one that runs",
        )
    return Finding(name="workers", status="ok", message=f"{count(len(waiting), 'repository', 'repositories')} wait{said}")


def _remotes(repositories: Sequence[Repository]) -> Finding:
    failing = [each for each in repositories if each.failures and not each.is_paused]
    if not failing:
        return Finding(
            name="remotes", status="ok", message=f"{count(len(repositories), 'repository', 'repositories')}, none fails"
        )
    shown = "; ".join(f"{each.name}: {each.trouble.message}" for each in failing[:MAX_NAMED] if each.trouble is not None)
    more = f"; and {len(failing) - MAX_NAMED:,} more" if len(failing) > MAX_NAMED else ""
    return Finding(
        name="remotes",
        status="fail" if len(failing) == len(repositories) else "warn",
        message=f"{len(failing):,} of {count(len(repositories), 'repository', 'repositories')} fail: {shown}{more}",
        remedy="put right what is said, then: codecompass cluster changed NAME; or take it out: codecompass cluster remove NAME",
    )


def _formats(repositories: Sequence[Repository]) -> Finding:
    heads = [(each.name, head.made_by) for each in repositories for head in each.heads.values()]
    newer = sorted({name for name, made_by in heads if made_by > MADE_BY})
    older = sorted({name for name, made_by in heads if made_by < MADE_BY})
    if newer:
        return Finding(
            name="formats",
            status="warn",
            message=f"indexed by a newer codecompass than this one: {_named(newer)}",
            remedy="upgrade the servers and workers that are left; an older worker leaves these alone",
        )
    if older:
        return Finding(
            name="formats",
            status="warn",
            message=f"indexed by an older codecompass: {_named(older)}",
            remedy="workers index them anew when they change; all at once: codecompass cluster reindex --outdated",
        )
    return Finding(name="formats", status="ok", message="all indexes are of this version" if heads else "nothing is indexed yet")


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MAX_NAMED])
    return f"{shown} and {len(names) - MAX_NAMED:,} more" if len(names) > MAX_NAMED else shown
