"""Times `codecompass search -i` on a pseudo-terminal: from a key to the screen that shows the hits for the text typed so far.

    python -m bench.interactive TREE [--home DIR] [--pace-ms 80] [--rounds 3] [--limit N]

The index is made in `--home`, or in a temporary directory. There are two ways of typing: waiting for the hits of each key, and at
a pace, where only the last key of a query is timed. The times include the emulated terminal; printed searches, each in its own
process, are timed beside them.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.figures import percentile
from bench.table import plain_table
from tests.support.pseudo_terminal import CONTROL_U, ESCAPE, PseudoTerminal

QUERIES: Final = (
    "retry delay",
    "parse request header",
    "cache",
    "how are tokens validated",
    "session timeout error",
    "build_index",
    "handle connection close",
)

WAITING: Final = "…"
"""Ends the first part of the status line, before the freshness, while the answer is not yet that of the query."""


def is_answered(terminal: PseudoTerminal, query: str) -> bool:
    """Whether the screen shows `query` and its hits."""
    typed, status = (line.rstrip() for line in terminal.screen.display[:2])
    told = status.split("  ")[0]
    return typed == f"> {query}".rstrip() and bool(told) and not told.endswith(WAITING) and not told.startswith("type")


def clear(terminal: PseudoTerminal) -> None:
    """Clears the query."""
    terminal.send(CONTROL_U)
    terminal.until("type to search")


def each_key(terminal: PseudoTerminal, query: str) -> list[float]:
    """Types a query, waiting for the hits of each key; returns the seconds of each."""
    seconds = []
    for end in range(1, len(query) + 1):
        began = time.perf_counter()
        terminal.send(query[end - 1])
        typed = query[:end].rstrip()
        terminal.until(lambda typed=typed: is_answered(terminal, typed))
        seconds.append(time.perf_counter() - began)
    clear(terminal)
    return seconds


def last_key(terminal: PseudoTerminal, query: str, pace: float) -> float:
    """Types a query at a pace; returns the seconds from its last key to its hits."""
    for character in query[:-1]:
        terminal.send(character)
        next_at = time.perf_counter() + pace
        terminal.until(lambda next_at=next_at: time.perf_counter() >= next_at)
    began = time.perf_counter()
    terminal.send(query[-1])
    terminal.until(lambda: is_answered(terminal, query))
    seconds = time.perf_counter() - began
    clear(terminal)
    return seconds


def row(name: str, seconds: Sequence[float]) -> list[str]:
    """Returns a line of the table."""
    figures = (statistics.median(seconds), percentile(seconds, 0.95), max(seconds))
    return [name, str(len(seconds)), *(f"{figure * 1000:.0f} ms" for figure in figures)]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measures and prints a table."""
    parser = argparse.ArgumentParser(prog="python -m bench.interactive", description=__doc__)
    parser.add_argument("tree", type=Path)
    parser.add_argument("--home", type=Path)
    parser.add_argument("--pace-ms", type=int, default=80)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--limit", type=int)
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="interactive-") as scratch:
        environment = {**os.environ, "CODECOMPASS_HOME": str(given.home or scratch)}
        program = [sys.executable, "-m", "codecompass"]
        subprocess.run([*program, "index"], cwd=given.tree, env=environment, check=True)
        limit = [] if given.limit is None else ["-n", str(given.limit)]
        keys, lasts, printed = [], [], []
        for _ in range(given.rounds):
            began = time.perf_counter()
            with PseudoTerminal(["search", "-i", *limit], environment, given.tree) as terminal:
                terminal.until("type to search")
                start = time.perf_counter() - began
                for query in QUERIES:
                    keys += each_key(terminal, query)
                    lasts.append(last_key(terminal, query, given.pace_ms / 1000))
                terminal.send(ESCAPE)
                terminal.ended()
            for query in QUERIES:
                began = time.perf_counter()
                subprocess.run([*program, "search", query], cwd=given.tree, env=environment, check=True, capture_output=True)
                printed.append(time.perf_counter() - began)
    rows = [row("each key", keys), row(f"last key, {given.pace_ms} ms a key", lasts), row("a printed search", printed)]
    print(plain_table(["", "n", "median", "95 %", "worst"], rows, "<>>>>"))
    print(f"screen drawn after {start * 1000:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
