"""Decides what a worker does with each repository, from what it has observed itself. No input or output.

    pending, and no lease                                           -> turn
    the lease has not been renewed for LEASE_SECONDS                -> as if there were no lease
    retired or removed for longer than any question takes           -> sweep, also if it is paused
    nothing has changed for the poll interval                       -> poll

Every worker decides for itself; compare-and-set ensures that only one of them gets the lease.
"""

import random
from collections.abc import Callable, Collection, Hashable, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.cluster.repositories.leases import LEASE_SECONDS
from codecompass.cluster.repositories.repository import Repository
from codecompass.units import HOURS, MINUTES, SECONDS

Action = Literal["turn", "poll", "sweep"]

_SHUFFLED: Final = 8


class Times(Struct, frozen=True, kw_only=True):
    """Intervals and delays of a worker, in seconds."""

    lease: float = LEASE_SECONDS
    poll: float = 1 * MINUTES
    grace: float = 5 * MINUTES
    """How long a generation is kept after it was retired. A question takes a minute at most, and servers read the documents
    every few seconds."""
    first_backoff: float = 10 * SECONDS
    longest_backoff: float = 1 * HOURS
    orphans: float = 1 * HOURS
    """Interval of a worker's searches for documents of unknown repositories."""
    affinity: float = 5 * SECONDS
    """How long a repository is left to workers that have an index of an earlier commit: others have to build all of it."""


class Schedule:
    """The decisions of one worker. `decide` must be called regularly for every repository, because it also observes them."""

    def __init__(
        self,
        clock: Callable[[], float],
        has_index: Callable[[str], bool],
        *,
        made_by: tuple[int, int],
        times: Times | None = None,
        seed: int | None = None,
    ) -> None:
        self._clock = clock
        self._has_index = has_index
        self._made_by = made_by
        self.times: Final = times or Times()
        self._random = random.Random(seed)
        # A worker that checks too rarely cannot tell whether others renew their leases.
        self._leases = ChangeTimes(clock, max_gap=self.times.lease / 2)
        self._states = ChangeTimes(clock)
        self._poll_after: dict[str, tuple[object, float]] = {}
        self._attempted: dict[str, float] = {}

    def decide(self, repository: Repository) -> Action | None:
        """Returns what is to be done with a repository now, None for nothing."""
        key = repository.repo_id
        lease = repository.lease
        is_free = self._leases.unchanged(key, lease and (lease.token, lease.renewals)) >= self.times.lease or lease is None
        # All of these are evaluated each time, because their times count from the first observation.
        has_ripe = bool(self.ripe(repository))
        removed_for = self._states.unchanged((key, "removed"), repository.is_removed)
        waited = self._states.unchanged((key, "changes"), repository.changes)
        failed_for = self._states.unchanged((key, "trouble"), repository.trouble and (repository.trouble.at, repository.failures))
        is_poll_due = self._is_poll_due(repository)
        if not is_free or self._is_of_newer(repository) or failed_for < self.backoff(repository.failures):
            return None
        if repository.is_removed:
            return "sweep" if removed_for >= self.times.grace else None
        if repository.is_paused:
            return "sweep" if has_ripe else None
        if repository.is_pending or lease is not None:
            left_to_others = bool(repository.heads) and not self._has_index(key) and waited < self.times.affinity
            if not left_to_others:
                return "turn"
        if has_ripe:
            return "sweep"
        return "poll" if is_poll_due and not repository.is_pending else None

    def ripe(self, repository: Repository) -> tuple[str, ...]:
        """Returns the retired entries that no reader can use any more."""
        return tuple(
            entry
            for entry in repository.retired
            if self._states.unchanged((repository.repo_id, "retired", entry), True) >= self.times.grace
        )

    def backoff(self, failures: int) -> float:
        """Returns how long to wait after this many consecutive failures, in seconds."""
        return min(self.times.longest_backoff, self.times.first_backoff * 2.0 ** min(failures - 1, 30)) if failures else 0.0

    def in_order(self, repositories: Sequence[Repository]) -> list[Repository]:
        """Returns repositories in the order of their turns: the one that this worker attempted longest ago first. The first few
        are shuffled, so that workers that start at the same time do not all claim the same one."""
        ordered = sorted(repositories, key=lambda each: (self._attempted.get(each.repo_id, 0.0), each.changed_at, each.repo_id))
        first = ordered[:_SHUFFLED]
        self._random.shuffle(first)
        return first + ordered[_SHUFFLED:]

    def note_attempt(self, repository: Repository) -> None:
        """Records that this worker tries to claim a repository now."""
        self._attempted[repository.repo_id] = self._clock()

    def forget_all_but(self, repositories: Sequence[Repository]) -> None:
        """Forgets the observations of other repositories."""
        known = {each.repo_id for each in repositories}
        self._leases.forget_all_but(known)
        kinds = ("removed", "changes", "trouble", "quiet")
        self._states.forget_all_but(
            {(name, kind) for name in known for kind in kinds}
            | {(each.repo_id, "retired", entry) for each in repositories for entry in each.retired}
        )
        for table in (self._poll_after, self._attempted):
            for gone in table.keys() - known:
                del table[gone]

    def _is_of_newer(self, repository: Repository) -> bool:
        """Returns whether a newer program has indexed it, whose readers could not read an index of this program."""
        return any(head.made_by > self._made_by for head in repository.heads.values())

    def _is_poll_due(self, repository: Repository) -> bool:
        state = (repository.polls, repository.changes, repository.done_changes)
        quiet = self._states.unchanged((repository.repo_id, "quiet"), state)
        known = self._poll_after.get(repository.repo_id)
        if known is None:
            # The time of the last poll is unknown. A random part of the interval spreads the first polls.
            known = (state, self.times.poll * self._random.random())
        elif known[0] != state:
            known = (state, self.times.poll * self._random.uniform(0.75, 1.25))
        self._poll_after[repository.repo_id] = known
        return quiet >= known[1]


class _Seen(Struct):
    value: Hashable
    since: float
    last: float


class ChangeTimes:
    """Measures how long values have not changed, by this process's own clock, so that no clocks are compared.

    If more than `max_gap` seconds pass between two observations of a value, its time starts again at zero: perhaps nobody could
    change it meanwhile, because the engine was down, or this machine was suspended.
    """

    def __init__(self, clock: Callable[[], float], max_gap: float = float("inf")) -> None:
        self._clock = clock
        self._max_gap = max_gap
        self._seen: dict[Hashable, _Seen] = {}

    def unchanged(self, key: Hashable, value: Hashable) -> float:
        """Returns the seconds since the value of `key` was first seen to be `value`, 0.0 if it has changed."""
        now = self._clock()
        seen = self._seen.get(key)
        if seen is None or seen.value != value or now - seen.last > self._max_gap:
            self._seen[key] = _Seen(value, now, now)
            return 0.0
        seen.last = now
        return now - seen.since

    def forget_all_but(self, keys: Collection[Hashable]) -> None:
        """Forgets the values of all other keys."""
        for key in self._seen.keys() - set(keys):
            del self._seen[key]
