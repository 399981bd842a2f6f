"""A circuit breaker: after a failure a service is only asked again after a pause, which doubles with each further failure.

closed --fails--> open --the pause is over--> a request tries it --answers--> closed
                   ^                                |
                   '------------ fails -------------'   twice the pause, up to a minute
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Generic, TypeVar

import trio

from codecompass.units import SECONDS

LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS

FailureT = TypeVar("FailureT")


class Breaker(Generic[FailureT]):
    """The breaker of one service, for one event loop."""

    def __init__(self, first_pause_seconds: float) -> None:
        self.failure: FailureT | None = None
        """The last failure; None after a success."""
        self._first_pause: Final = first_pause_seconds
        self._pause = first_pause_seconds
        self._rests_until = float("-inf")
        self._n_trying = 0

    @property
    def seconds_left(self) -> float:
        """The rest of the pause; 0 if a request may be sent."""
        return 0.0 if self.failure is None else max(0.0, self._rests_until - trio.current_time())

    @property
    def is_tried(self) -> bool:
        """Whether a request in `trying` finds out whether the service answers again."""
        return self._n_trying > 0

    @contextmanager
    def trying(self) -> Iterator[None]:
        """Wraps a request. After a failure it counts as the trial, until it ends."""
        is_trial = self.failure is not None
        self._n_trying += is_trial
        try:
            yield
        finally:
            self._n_trying -= is_trial

    def succeeded(self) -> None:
        """Ends the pauses."""
        self.failure, self._pause = None, self._first_pause

    def failed(self, failure: FailureT) -> None:
        """Begins a pause."""
        self.failure = failure
        if trio.current_time() < self._rests_until:
            return  # sent before the pause began, like the request whose failure began it
        self._rests_until = trio.current_time() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
