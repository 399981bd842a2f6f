"""Figures from samples, and their formatting for people. Pure."""

import math
from collections.abc import Sequence
from statistics import median
from typing import Final, Literal

from msgspec import Struct

from codecompass.units import GIB, KIB, MIB

Unit = Literal["s", "ms", "bytes", "x", "count"]

MILLISECOND: Final = 0.001


class Beside(Struct, frozen=True, kw_only=True):
    """Another program, or a floor, measured in the same run in the same unit. `ratio` is our value divided by this one."""

    name: str
    value: float
    ratio: float


class Figure(Struct, frozen=True, kw_only=True):
    """One row of the table. `value` summarizes all `samples` (their median, or a percentile if `what` says so)."""

    what: str
    value: float
    unit: Unit
    must: str = ""
    aim: str = ""
    samples: tuple[float, ...] = ()
    beside: tuple[Beside, ...] = ()
    note: str = ""


def figure(
    what: str,
    samples: Sequence[float],
    unit: Unit,
    *,
    must: str = "",
    aim: str = "",
    beside: Sequence[tuple[str, float]] = (),
    note: str = "",
) -> Figure:
    """Returns the row whose value is the median of `samples`, compared with each (name, value) that is above zero."""
    value = median(samples)
    others = tuple(Beside(name=name, value=other, ratio=value / other) for name, other in beside if other > 0)
    return Figure(what=what, value=value, unit=unit, must=must, aim=aim, samples=tuple(samples), beside=others, note=note)


def percentile(samples: Sequence[float], share: float) -> float:
    """Returns the smallest sample that at least `share` (0..1) of all samples do not exceed (the nearest rank).

    Raises ValueError if there are no samples.
    """
    if not samples:
        raise ValueError("a percentile needs at least one sample")
    rank = max(1, math.ceil(share * len(samples)))
    return sorted(samples)[rank - 1]


def written(value: float, unit: Unit) -> str:
    """Returns a value with its unit, with three significant digits, the precision of these measurements."""
    match unit:
        case "s":
            return f"{_digits(value / MILLISECOND)} ms" if value < 0.1 else f"{_digits(value)} s"
        case "ms":
            return f"{_digits(value)} ms"
        case "bytes":
            return _bytes(value)
        case "x":
            return f"{value:.2f}x"
        case "count":
            return f"{value:,.0f}"


def _digits(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _bytes(value: float) -> str:
    for size, name in ((GIB, "GB"), (MIB, "MB"), (KIB, "kB")):
        if value >= size:
            return f"{_digits(value / size)} {name}"
    return f"{value:.0f} B"
