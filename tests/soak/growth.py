"""Resource use of a process over its requests, and whether it grows: samples, and the slope after the warm-up."""

import json
import statistics
from pathlib import Path

from msgspec import Struct

from codecompass.units import KIB, MIB

WARM_UP = 0.4
"""The share of the requests in which caches fill, threads start and the allocator reaches its size."""


class Sample(Struct, frozen=True):
    """Resource use at one moment. Memory is resident, in bytes; handles are open descriptors."""

    n_requests: int
    memory: int
    tasks: int
    threads: int
    handles: int


class Allowance(Struct, frozen=True):
    """Growth allowed from the warm-up to the end: what varies with the clients.

    Memory is for runs with few requests, in which the warm-up is not quite complete.
    """

    memory: int = 40 * MIB
    tasks: int = 40
    threads: int = 10
    handles: int = 30


def sample(pid: int, watch_file: Path, n_requests: int) -> Sample:
    """Samples a process that runs `watched_server`."""
    status = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
    return Sample(
        n_requests=n_requests,
        memory=int(status["VmRSS"].split()[0]) * KIB,
        tasks=json.loads(watch_file.read_text())["tasks"],
        threads=int(status["Threads"]),
        handles=len(list(Path(f"/proc/{pid}/fd").iterdir())),
    )


def growth(samples: list[Sample]) -> dict[str, float]:
    """Returns the growth of each figure from the warm-up to the end, by the median of the slopes between all samples.

    Outliers, for example during an index job, do not affect it.
    """
    start = WARM_UP * samples[-1].n_requests
    counted = [each for each in samples if each.n_requests >= start]
    distance = counted[-1].n_requests - counted[0].n_requests
    assert len(counted) >= 10, "too few samples for a slope"
    return {
        name: slope([(each.n_requests, getattr(each, name)) for each in counted]) * distance
        for name in Allowance.__struct_fields__
    }


def slope(points: list[tuple[float, float]]) -> float:
    """Returns the Theil-Sen slope."""
    slopes = [
        (y - x) / (b - a) for index, (a, x) in enumerate(points) for b, y in points[index + 1 :] if b > a
    ]  # fmt: skip
    return statistics.median(slopes)


def leaks(samples: list[Sample], allowance: Allowance) -> dict[str, float]:
    """Returns the figures that grow by more than is allowed."""
    return {name: grown for name, grown in growth(samples).items() if grown > getattr(allowance, name)}
