"""What a server records of its calls, in memory: counters for `/metrics`, and the last calls of each client for the page that
shows people what an agent asked and what it was answered.

Counters only grow, and their labels come from closed lists: nothing that a client sends creates a new one. The last calls are
bounded by clients, calls and characters; `server.activity = false` turns them off.
"""

import bisect
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.projects.caller import TransportName

if TYPE_CHECKING:
    # Sessions start before the modules that answer calls are loaded.
    from codecompass.protocol.replies import Reply

MAX_CLIENTS: Final = 20
MAX_CALLS: Final = 50
"""Of each client."""

MAX_NAME: Final = 60
MAX_VALUE: Final = 200
MAX_ARGUMENTS: Final = 500
"""Characters kept of a client's name, of one argument, and of all arguments of a call. With MAX_CLIENTS and MAX_CALLS, about 1 MB
in the worst case."""


class NotedCall(Struct, frozen=True, kw_only=True):
    """One call. `at` is in seconds since 1970; `characters` counts the text that the client got.

    `outcome` is `ok` or the code of the error; `workspace` is the root that answered, empty if none did.
    """

    at: float
    tool: str
    arguments: str
    milliseconds: float
    characters: int
    freshness: str
    workspace: str
    outcome: str


class NotedClient(Struct, frozen=True, kw_only=True):
    """A client, by the name that it gives itself and its transport, with its calls, newest first."""

    name: str
    transport: str
    calls: tuple[NotedCall, ...]


class ActivityLog:
    """Records calls; each takes microseconds, as nothing is encoded or looked up."""

    def __init__(self) -> None:
        self._calls: dict[tuple[str, str], deque[NotedCall]] = {}

    def note(
        self,
        client: str,
        transport: str,
        tool: str,
        arguments: Mapping[str, object],
        reply: "Reply",
        seconds: float,
        n_characters: int,
    ) -> None:
        """Records a call. Above MAX_CLIENTS the client that has been silent longest is dropped."""
        key = (client[:MAX_NAME], transport)
        calls = self._calls.pop(key, None) or deque(maxlen=MAX_CALLS)
        self._calls[key] = calls
        if len(self._calls) > MAX_CLIENTS:
            del self._calls[next(iter(self._calls))]
        error = getattr(reply, "error", None)
        metadata = reply.metadata
        calls.append(
            NotedCall(
                at=time.time(),
                tool=tool,
                arguments=_shown(arguments),
                milliseconds=seconds * 1000,
                characters=n_characters,
                freshness=getattr(metadata, "freshness_status", ""),
                workspace=metadata.workspace,
                outcome="ok" if error is None else error.code,
            )
        )

    def clients(self) -> tuple[NotedClient, ...]:
        """Returns the recorded calls by client, the client with the latest call first."""
        return tuple(
            NotedClient(name=name, transport=transport, calls=tuple(reversed(calls)))
            for (name, transport), calls in reversed(self._calls.items())
        )


def _shown(arguments: Mapping[str, object]) -> str:
    """Returns the arguments in readable form, cut at MAX_ARGUMENTS characters."""
    text = ""
    for part in _parts(arguments):
        text = f"{text} {part}" if text else part
        if len(text) > MAX_ARGUMENTS:
            return text[: MAX_ARGUMENTS - 1] + "…"
    return text


def _parts(arguments: Mapping[str, object]) -> Iterator[str]:
    for name, value in arguments.items():
        match value:
            case str():
                shown = f"{value[:MAX_VALUE]!r}" + ("…" if len(value) > MAX_VALUE else "")
            case bool() | int() | float() | None:
                shown = f"{value!s:.{MAX_VALUE}}"
            case list():
                shown = f"[{len(value)} items]"
            case _:
                shown = "{…}"
        yield f"{name[:MAX_NAME]}={shown}"


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
