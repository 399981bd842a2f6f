"""What a worker does about each repository, decided by what it has watched itself. No input or output.

    pending, and nobody at it                                       -> turn
    somebody's lease has stood still for LEASE_SECONDS              -> as if nobody were at it
    retired, or removed, for longer than any question takes         -> sweep
    nothing has happened for the poll interval                      -> poll

Every worker decides for itself; compare-and-set sees to it that one of them gets it.
"""

import random
from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.cluster.leases import LEASE_SECONDS, Watch
from codecompass.cluster.repositories import Repository
from codecompass.units import HOURS, MINUTES, SECONDS

Action = Literal["turn", "poll", "sweep"]

_SHUFFLED: Final = 8


class Times(Struct, frozen=True, kw_only=True):
    """In seconds."""

    lease: float = LEASE_SECONDS
    poll: float = 1 * MINUTES
    grace: float = 5 * MINUTES
    """From when nothing names a generation to its removal. A question takes a minute at most, and a server looks at the
    documents every few seconds."""
    first_backoff: float = 10 * SECONDS
    longest_backoff: float = 1 * HOURS
    orphans: float = 1 * HOURS
    """Between two looks of a worker for what no repository knows."""
    affinity: float = 5 * SECONDS
    """For how long a repository is left to a worker that has the index of its last commit: for others, all of it is new."""


class Schedule:
    """The decisions of one worker. `decide` is called for every repository again and again: it is what watches them."""

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
        # A worker that looks too seldom does not know whether others renew.
        self._leases = Watch(clock, max_gap=self.times.lease / 2)
        self._states = Watch(clock)
        self._poll_after: dict[str, tuple[object, float]] = {}
        self._attempted: dict[str, float] = {}

    def decide(self, repository: Repository) -> Action | None:
        """Returns what is to be done now, None for nothing."""
        key = repository.repo_id
        lease = repository.lease
        is_free = self._leases.unchanged(key, lease and (lease.token, lease.renewals)) >= self.times.lease or lease is None
        # All of these are looked at each time: they count from their first look.
        has_ripe = bool(self.ripe(repository))
        removed_for = self._states.unchanged((key, "removed"), repository.is_removed)
        waited = self._states.unchanged((key, "changes"), repository.changes)
        failed_for = self._states.unchanged((key, "trouble"), repository.trouble and (repository.trouble.at, repository.failures))
        is_poll_due = self._is_poll_due(repository)
        if not is_free or self._is_of_newer(repository) or failed_for < self.backoff(repository.failures):
            return None
        if repository.is_removed:
            return "sweep" if removed_for >= self.times.grace else None
        if repository.is_pending or lease is not None:
            left_to_others = bool(repository.heads) and not self._has_index(key) and waited < self.times.affinity
            if not left_to_others:
                return "turn"
        if has_ripe:
            return "sweep"
        return "poll" if is_poll_due and not repository.is_pending else None

    def ripe(self, repository: Repository) -> tuple[str, ...]:
        """Returns what of the retired no reader can be at any more."""
        return tuple(
            entry
            for entry in repository.retired
            if self._states.unchanged((repository.repo_id, "retired", entry), True) >= self.times.grace
        )

    def backoff(self, failures: int) -> float:
        """Returns how long a repository rests after so many failures in a row, in seconds."""
        return min(self.times.longest_backoff, self.times.first_backoff * 2.0 ** min(failures - 1, 30)) if failures else 0.0

    def in_order(self, repositories: Sequence[Repository]) -> list[Repository]:
        """Returns them in the order in which they get their turns: those that waited longest here, the first few in no order, so
        that workers that begin at once do not all want the same one."""
        ordered = sorted(repositories, key=lambda each: (self._attempted.get(each.repo_id, 0.0), each.changed_at, each.repo_id))
        first = ordered[:_SHUFFLED]
        self._random.shuffle(first)
        return first + ordered[_SHUFFLED:]

    def note_attempt(self, repository: Repository) -> None:
        """Notes that this worker tries to get a repository now."""
        self._attempted[repository.repo_id] = self._clock()

    def forget_all_but(self, repositories: Sequence[Repository]) -> None:
        """Forgets what is not there any more."""
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
        """Whether a newer program has indexed it, whose readers could not read what this one would make of it."""
        return any(head.made_by > self._made_by for head in repository.heads.values())

    def _is_poll_due(self, repository: Repository) -> bool:
        state = (repository.polls, repository.changes, repository.done_changes)
        quiet = self._states.unchanged((repository.repo_id, "quiet"), state)
        known = self._poll_after.get(repository.repo_id)
        if known is None:
            # When it was polled last is not known: some moment of the interval, so that not all come at once.
            known = (state, self.times.poll * self._random.random())
        elif known[0] != state:
            known = (state, self.times.poll * self._random.uniform(0.75, 1.25))
        self._poll_after[repository.repo_id] = known
        return quiet >= known[1]
