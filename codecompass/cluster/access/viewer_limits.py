"""How much one viewer may ask of a server: questions a minute, and questions at the same time.

    admit(viewer) -> the question runs, counted as under way until its end
                  -> TooManyRequests: which limit, and how long to wait

Each server counts for itself, so the limits of an organisation are those of one server times the servers. A question that is
refused costs nothing but its refusal: it is not queued, because whoever sends too much would then wait in front of others.
"""

import math
from collections import Counter, OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

import trio

from codecompass.cluster.access.visibility import Viewer
from codecompass.errors import CodeCompassError
from codecompass.settings import AccessSettings
from codecompass.transport.http.exposition import Family
from codecompass.units import MINUTES, SECONDS

Limit = Literal["rate", "concurrency"]

LIMITS: Final[tuple[Limit, ...]] = ("rate", "concurrency")

MAX_VIEWERS: Final = 10_000
"""Viewers whose questions are counted; of more, the one that has been silent longest begins anew."""

CONCURRENCY_RETRY_SECONDS: Final = 1 * SECONDS
"""How long to wait where as many questions as allowed are under way: most take less."""

_MILLISECONDS_PER_SECOND: Final = 1000


class TooManyRequests(CodeCompassError):
    """A viewer has sent more questions than a server allows. `data` has `limit` and `retry_after_ms`."""

    code = "too_many_requests"
    is_retryable = True


class _Use:
    """The questions of one viewer. `left` is what may still be asked at `seen_at`; it grows with time."""

    __slots__ = ("left", "running", "seen_at")

    def __init__(self, left: float, seen_at: float) -> None:
        self.left = left
        self.seen_at = seen_at
        self.running = 0


class ViewerLimits:
    """Counts the questions of each viewer, for one event loop. A limit of 0 is none."""

    def __init__(self, settings: AccessSettings) -> None:
        self._per_minute: Final = settings.max_requests_per_minute
        self._at_once: Final = settings.max_concurrent_requests
        self._uses: OrderedDict[str, _Use] = OrderedDict()
        self._refused: Counter[Limit] = Counter()

    @contextmanager
    def admitted(self, viewer: Viewer) -> Iterator[None]:
        """Wraps one question of a viewer. Raises TooManyRequests if it is one too many."""
        use = self._use(viewer.name)
        if self._at_once and use.running >= self._at_once:
            raise self._refusal(
                "concurrency",
                CONCURRENCY_RETRY_SECONDS,
                f"{use.running} questions of {viewer.name!r} are being answered, the most at the same time. Wait for one of "
                "their answers, then ask again",
            )
        if self._per_minute:
            if use.left < 1.0:
                raise self._refusal(
                    "rate",
                    (1.0 - use.left) * MINUTES / self._per_minute,
                    f"{viewer.name!r} has asked more than {self._per_minute:,} questions a minute. Wait, then ask again",
                )
            use.left -= 1.0
        use.running += 1
        try:
            yield
        finally:
            use.running -= 1

    def metrics(self) -> tuple[Family, ...]:
        """Returns how many questions were refused, and how many viewers were seen. No viewer is named."""
        refused = tuple(({"limit": limit}, float(self._refused[limit])) for limit in LIMITS)
        return (
            Family("codecompass_refused_total", "counter", "Questions that a viewer asked beyond a limit.", refused),
            Family("codecompass_viewers", "gauge", "Viewers that have asked lately.", (({}, float(len(self._uses))),)),
        )

    def _use(self, name: str) -> _Use:
        now = trio.current_time()
        use = self._uses.pop(name, None) or _Use(float(self._per_minute), now)
        self._uses[name] = use
        # A minute's questions at most, which may all come at once: agents ask in bursts.
        use.left = min(float(self._per_minute), use.left + (now - use.seen_at) * self._per_minute / MINUTES)
        use.seen_at = now
        if len(self._uses) > MAX_VIEWERS:
            silent = next((each for each, other in self._uses.items() if not other.running), None)
            if silent is not None:
                del self._uses[silent]
        return use

    def _refusal(self, limit: Limit, seconds: float, message: str) -> TooManyRequests:
        self._refused[limit] += 1
        wait = max(1, math.ceil(seconds * _MILLISECONDS_PER_SECOND / SECONDS))
        shown = f"{wait / _MILLISECONDS_PER_SECOND:.1f} s" if wait >= _MILLISECONDS_PER_SECOND else f"{wait} ms"
        return TooManyRequests(f"{message} (retry after {shown}).", limit=limit, retry_after_ms=wait)
