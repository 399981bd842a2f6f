"""Failures of the organisation's server, with what people and agents can do about them, and the circuit breaker: after a failure
the server is only queried again after a pause, which grows with each further failure.

    closed --fails--> open --the pause is over--> one question tries it --answers--> closed
                       ^                                 |
                       '------------- fails -------------'   twice the pause, up to a minute

While it is open, questions fail at once.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, Literal

import trio

from codecompass.errors import CodeCompassError
from codecompass.units import MILLISECONDS, SECONDS

FailureReason = Literal[
    "timeout",
    "unreachable",
    "certificate_refused",
    "token_refused",
    "forbidden",
    "not_found",
    "busy",
    "server_error",
    "refused",
    "invalid_answer",
    "too_large",
    "not_installed",
]

UNSETTLED: Final[frozenset[FailureReason]] = frozenset({"too_large"})
"""Failures of one question, which say nothing about the next one."""


class OrganisationUnavailable(CodeCompassError):
    """The organisation's server gave no answer. The message contains nothing that the server wrote, and no token."""

    code: ClassVar[str] = "organisation_unavailable"
    is_retryable = True

    def __init__(self, reason: FailureReason, message: str, *, retry_after_ms: int | None = None) -> None:
        """`message` is a clause: "it refused the token; ...". `retry_after_ms` is given if it was not queried at all, because it
        has just failed."""
        super().__init__(message, reason=reason, retry_after_ms=retry_after_ms)
        self.reason: Final = reason
        self.was_asked: Final = retry_after_ms is None


FIRST_PAUSE_SECONDS: Final = 5 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS

FAIR_SECONDS: Final = 1 * SECONDS
"""A timeout shorter than this does not count as a failure of the server, unless questions usually wait less."""


class Breaker:
    """The breaker of one server, for one event loop."""

    def __init__(self, usual_seconds: float = FAIR_SECONDS) -> None:
        """`usual_seconds` is how long questions usually wait: a timeout after that counts as a failure."""
        self._fair_seconds = min(FAIR_SECONDS, usual_seconds)
        self._failure: OrganisationUnavailable | None = None
        self._rests_until = float("-inf")
        self._pause = FIRST_PAUSE_SECONDS
        self._is_tried = False

    @contextmanager
    def asking(self, seconds: float) -> Iterator[None]:
        """Wraps one question that waits `seconds`; its OrganisationUnavailable counts as a failure. Raises the last failure
        again, with the time left, during the pause after it and while another question tries the server."""
        is_trial = self._failure is not None
        if self._failure is not None:
            left = self._rests_until - trio.current_time()
            if left > 0 or self._is_tried:
                again = max(1, round(left))
                raise OrganisationUnavailable(
                    self._failure.reason,
                    f"{self._failure.message}; not asked again before {again} s are over",
                    retry_after_ms=round(again * SECONDS / MILLISECONDS),
                )
        self._is_tried = is_trial
        try:
            yield
        except OrganisationUnavailable as failure:
            if failure.reason not in UNSETTLED and (failure.reason != "timeout" or seconds >= self._fair_seconds):
                self._failed(failure)
            raise
        else:
            self._failure, self._pause = None, FIRST_PAUSE_SECONDS
        finally:
            if is_trial:
                self._is_tried = False

    def _failed(self, failure: OrganisationUnavailable) -> None:
        self._failure = failure
        if trio.current_time() < self._rests_until:
            return  # asked before the pause began, like the question whose failure began it
        self._rests_until = trio.current_time() + self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE_SECONDS)
