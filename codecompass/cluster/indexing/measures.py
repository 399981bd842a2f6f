"""What a worker counts of its work, and the page of metrics of that and of the repositories as it has last read them.

Every worker sees all repositories: over several workers, take the maximum of a gauge of repositories and the sum of a counter.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import Final, Literal

from codecompass import __version__
from codecompass.cluster.hosts.sources import Source
from codecompass.cluster.indexing.schedule import Action
from codecompass.cluster.repositories.repository import Repository
from codecompass.cluster.stores.measures import StoreMeasures
from codecompass.memory import resident_bytes
from codecompass.tracing import Traces
from codecompass.transport.call_records import Histogram
from codecompass.transport.http.exposition import Exposition
from codecompass.transport.http.metrics import trace_metrics

Outcome = Literal["done", "failed", "lost"]
"""Of a turn or a sweep: `lost` is one whose lease was lost, or which was given up because its repository was removed."""

ACTIONS: Final[tuple[Action, ...]] = ("turn", "sweep")
OUTCOMES: Final[tuple[Outcome, ...]] = ("done", "failed", "lost")

MAX_NAMED: Final = 10_000
"""Repositories with samples of their own; of more, those that wait or fail come first."""


class WorkerMeasures:
    """Counts the work of one worker. Used in its event loop alone."""

    def __init__(self, traces: Traces | None = None) -> None:
        """`traces` are what the worker records its work with, if anything."""
        self._traces = traces
        self._started = time.monotonic()
        self._work: Counter[tuple[Action, Outcome]] = Counter()
        self._seconds: dict[Action, Histogram] = defaultdict(Histogram)
        self._polls: Counter[bool] = Counter()
        self._unanswered = 0
        self._source_bytes = 0
        self._repositories: Sequence[Repository] = ()
        self._looked_at: float | None = None
        self._running = 0
        self._disk: tuple[int, int] | None = None
        self._sources: Sequence[Source] = ()
        self.store: Final = StoreMeasures()
        """Of the store of segments."""

    def looked(self, repositories: Sequence[Repository]) -> None:
        """Notes all repositories as the engine has just listed them."""
        self._repositories = repositories
        self._looked_at = time.monotonic()

    def not_answered(self) -> None:
        """Counts a read of the documents that the engine did not answer."""
        self._unanswered += 1

    def polled(self, *, has_failed: bool) -> None:
        """Counts a poll of a remote."""
        self._polls[has_failed] += 1

    def saw_sources(self, sources: Sequence[Source]) -> None:
        """Notes the sources at code hosts as the engine has just listed them."""
        self._sources = sources

    def saw_disk(self, n_free: int, n_bytes: int) -> None:
        """Notes the free bytes and the size of the disk with the worker's copies."""
        self._disk = (n_free, n_bytes)

    def began(self) -> None:
        """Counts a turn or sweep as running until `ended`."""
        self._running += 1

    def ended(self, action: Action, outcome: Outcome, seconds: float) -> None:
        """Counts a turn or a sweep that took so long."""
        self._running -= 1
        self._work[action, outcome] += 1
        self._seconds[action].add(seconds)

    def published(self, source_bytes: int) -> None:
        """Counts the source of a generation that was made visible."""
        self._source_bytes += source_bytes

    def counted(self, action: Action, outcome: Outcome) -> int:
        """Returns how many turns or sweeps have ended so."""
        return self._work[action, outcome]

    def page(self, now: float) -> bytes:
        """Returns the page of metrics; `now` is in seconds since 1970."""
        page = Exposition()
        page.single("codecompass_info", "gauge", "The running version.", 1, {"version": __version__})
        page.single("codecompass_uptime_seconds", "gauge", "Seconds since start.", time.monotonic() - self._started)
        page.single(
            "codecompass_memory_bytes", "gauge", "Resident memory of the worker, without its processes.", resident_bytes()
        )
        page.single("codecompass_cpu_seconds_total", "counter", "Processor time of the worker itself.", time.process_time())
        page.family(
            "codecompass_worker_runs_total",
            "counter",
            "Turns and sweeps by outcome.",
            [
                ({"action": action, "outcome": outcome}, self.counted(action, outcome))
                for action in ACTIONS
                for outcome in OUTCOMES
            ],
        )
        page.histograms(
            "codecompass_worker_run_seconds",
            "How long turns and sweeps took.",
            [({"action": action}, self._seconds[action]) for action in ACTIONS],
        )
        page.single("codecompass_worker_running", "gauge", "Turns and sweeps under way.", self._running)
        page.family(
            "codecompass_worker_polls_total",
            "counter",
            "Polls of remotes.",
            [({"outcome": outcome}, self._polls[failed]) for failed, outcome in ((False, "done"), (True, "failed"))],
        )
        page.single(
            "codecompass_worker_source_bytes_total", "counter", "Bytes of source of published generations.", self._source_bytes
        )
        page.single("codecompass_worker_engine_failures_total", "counter", "Reads that the engine refused.", self._unanswered)
        if self._disk is not None:
            n_free, n_bytes = self._disk
            page.single("codecompass_worker_disk_free_bytes", "gauge", "Free bytes of the disk with its copies.", n_free)
            page.single("codecompass_worker_disk_bytes", "gauge", "Size of that disk.", n_bytes)
        for each in (*self.store.metrics(), *trace_metrics(self._traces)):
            page.family(each.name, each.kind, each.text, each.samples)
        if self._looked_at is not None:
            ago = time.monotonic() - self._looked_at
            page.single("codecompass_worker_looked_seconds_ago", "gauge", "Since the engine last listed the repositories.", ago)
        page.family(
            "codecompass_source_failures",
            "gauge",
            "Failed looks at a code host since the last complete one.",
            [({"source": each.url}, each.failures) for each in self._sources],
        )
        page.family(
            "codecompass_source_repositories",
            "gauge",
            "Repositories that were found there.",
            [({"source": each.url}, len(each.found)) for each in self._sources],
        )
        _of_repositories(page, [each for each in self._repositories if not each.is_removed], now)
        return page.page()


def _of_repositories(page: Exposition, found: Collection[Repository], now: float) -> None:
    waiting = [each for each in found if each.is_pending]
    leased = [each for each in found if each.lease is not None]
    failing = [each for each in found if each.failures]
    for name, text, chosen in (
        ("codecompass_repositories", "Repositories.", found),
        ("codecompass_repositories_waiting", "Those with changes that no turn has taken in.", waiting),
        ("codecompass_repositories_leased", "Those that a worker holds.", leased),
        ("codecompass_repositories_failing", "Those whose last turn failed.", failing),
        ("codecompass_repositories_unindexed", "Those without an index.", [each for each in found if not each.heads]),
    ):
        page.single(name, "gauge", text, len(chosen))
    oldest = max((now - each.changed_at for each in waiting), default=0.0)
    page.single("codecompass_repositories_waiting_seconds", "gauge", "How long the longest has waited.", max(0.0, oldest))
    named = sorted(found, key=lambda each: (not each.failures, not each.is_pending, each.name))[:MAX_NAMED]
    page.family(
        "codecompass_repository_failures",
        "gauge",
        "Failed turns since the last successful one.",
        [({"repository": each.name}, each.failures) for each in named],
    )
    page.family(
        "codecompass_repository_published_seconds",
        "gauge",
        "When the newest index of its default ref was published, in seconds since 1970.",
        [({"repository": each.name}, head.published_at) for each in named if (head := each.default_head) is not None],
    )
    page.family(
        "codecompass_repository_source_bytes",
        "gauge",
        "Bytes of source of that index.",
        [({"repository": each.name}, head.source_bytes) for each in named if (head := each.default_head) is not None],
    )
