"""Counters of a server: tool calls by name, transport and outcome, their durations, and HTTP responses.

Counters only grow, and their labels come from closed lists: nothing that a client sends creates a new one.
"""

import bisect
from typing import Final

from codecompass.projects.caller import TransportName

BOUNDS: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0)
"""Upper bounds of the buckets in seconds, from an exact lookup to a call that waits for a job."""

OK: Final = "ok"
CANCELLED: Final = "cancelled"


class Histogram:
    """Durations in seconds, counted by bucket; the last bucket holds those above all bounds."""

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum_seconds = 0.0

    def add(self, seconds: float) -> None:
        """Counts one duration."""
        self.counts[bisect.bisect_left(BOUNDS, seconds)] += 1
        self.sum_seconds += seconds


class Measures:
    """The counters of one server."""

    def __init__(self) -> None:
        self.calls: dict[tuple[str, TransportName, str], int] = {}
        self.call_seconds: dict[tuple[str, TransportName], Histogram] = {}
        self.responses: dict[tuple[str, int], int] = {}

    def count_call(self, tool: str, transport: TransportName, outcome: str, seconds: float) -> None:
        """Counts a tool call; `outcome` is `ok`, `cancelled` or the code of its error."""
        key = (tool, transport, outcome)
        self.calls[key] = self.calls.get(key, 0) + 1
        self.call_seconds.setdefault((tool, transport), Histogram()).add(seconds)

    def count_response(self, route: str, status: int) -> None:
        """Counts an HTTP response."""
        key = (route, status)
        self.responses[key] = self.responses.get(key, 0) + 1
