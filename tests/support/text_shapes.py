"""Texts of twelve shapes, and what a call costs with each of them at its maximum length.

A cost that grows with the square of the length is paid by everybody, because a regular expression of the standard library holds
the interpreter until it ends. It is measured in CPU time, with a wide margin: what is quadratic in these lengths takes many
seconds, what is linear milliseconds.
"""

import os
import random
import string
from collections.abc import Callable, Mapping
from typing import Final

MOST_CPU_SECONDS: Final = 0.5
"""More than an ordinary call, in this process with all its threads and in those that it has started and that have ended."""

ATTEMPTS: Final = 3
"""Other work of the process (a job, a watcher) may fall into one measurement, but not into each."""


MAX_ARGUMENT: Final = 100_000
"""Characters of an argument that a system takes."""


def _filled(unit: str, length: int) -> str:
    return (unit * (length // len(unit) + 1))[:length]


def _near_repeats(length: int) -> str:
    choose = random.Random(1)
    return " ".join(f"handleRequest{choose.randrange(1_000)}" for _ in range(length // 14 + 1))[:length]


def _random(length: int) -> str:
    choose = random.Random(2)
    return "".join(choose.choice(string.ascii_letters + string.digits) for _ in range(length))


SHAPES: Final[Mapping[str, Callable[[int], str]]] = {
    "one letter": lambda length: _filled("a", length),
    "pairs": lambda length: _filled("ab", length),
    "digits": lambda length: _filled("1234567890", length),
    "camelCase": lambda length: _filled("fooBar", length),
    "separators": lambda length: _filled("a_b.c/d-e::", length),
    "brackets": lambda length: _filled("([{<", length),
    "combining characters": lambda length: _filled("e\u0301\u0323", length),
    "ideographs": lambda length: _filled("\u7528\u6237\u8ba4\u8bc1\u5931\u8d25\u65f6\u91cd\u8bd5", length),
    "spaces": lambda length: "a" + " " * (length - 2) + "b",
    "words of one letter": lambda length: _filled(" ".join(string.ascii_lowercase) + " ", length),
    "near-repeats": _near_repeats,
    "random": _random,
}


def _cpu_seconds() -> float:
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


async def cost_of(call) -> float:
    """Returns the CPU time of the cheapest of a few attempts; of one, if that is cheap."""
    costs = []
    for _ in range(ATTEMPTS):
        before = _cpu_seconds()
        await call()
        costs.append(_cpu_seconds() - before)
        if costs[-1] < MOST_CPU_SECONDS:
            break
    return min(costs)


async def expensive(call_with, texts: Mapping[str, str]) -> dict[str, float]:
    """Returns the shapes that cost too much, with how much."""
    await call_with("main")
    ordinary = await cost_of(lambda: call_with("main"))
    costs = {shape: await cost_of(lambda text=text: call_with(text)) - ordinary for shape, text in texts.items()}
    return {shape: round(cost, 2) for shape, cost in costs.items() if cost > MOST_CPU_SECONDS}
