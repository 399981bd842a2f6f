"""Failures of the organisation's server, with what people and agents can do about them, and which of them make questions fail at
once for a while (`remote.breaker`)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final, Literal

from codecompass.errors import CodeCompassError
from codecompass.remote.breaker import Breaker
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

    def __init__(self, message: str, *, reason: FailureReason = "refused", retry_after_ms: int | None = None) -> None:
        """`message` is a clause: "it refused the token; ...". `retry_after_ms` is given if it was not queried at all, because it
        has just failed. Like every error, it can be made again from its message and `data`."""
        super().__init__(message, reason=reason, retry_after_ms=retry_after_ms)
        self.reason: Final = reason
        self.was_asked: Final = retry_after_ms is None

    def said_of(self, what: str) -> "OrganisationUnavailable":
        """Returns the same failure, whose message begins with what did not answer."""
        retry_after_ms = self.data.get("retry_after_ms")
        return OrganisationUnavailable(
            f"{what}: {self.message}",
            reason=self.reason,
            retry_after_ms=retry_after_ms if isinstance(retry_after_ms, int) else None,
        )


FIRST_PAUSE_SECONDS: Final = 5 * SECONDS

FAIR_SECONDS: Final = 1 * SECONDS
"""A timeout shorter than this does not count as a failure of the server, unless questions usually wait less."""


class QuestionBreaker:
    """The breaker of one server, for one event loop. While it is open, questions fail at once."""

    def __init__(self, usual_seconds: float = FAIR_SECONDS) -> None:
        """`usual_seconds` is how long questions usually wait: a timeout after that counts as a failure."""
        self._fair_seconds = min(FAIR_SECONDS, usual_seconds)
        self._breaker = Breaker[OrganisationUnavailable](FIRST_PAUSE_SECONDS)

    @contextmanager
    def asking(self, seconds: float) -> Iterator[None]:
        """Wraps one question that waits `seconds`; its OrganisationUnavailable counts as a failure. Raises the last failure
        again, with the time left, during the pause after it and while another question tries the server."""
        breaker = self._breaker
        if breaker.failure is not None and (breaker.seconds_left > 0 or breaker.is_tried):
            again = max(1, round(breaker.seconds_left))
            raise OrganisationUnavailable(
                f"{breaker.failure.message}; not asked again before {again} s are over",
                retry_after_ms=round(again * SECONDS / MILLISECONDS),
                reason=breaker.failure.reason,
            )
        with breaker.trying():
            try:
                yield
            except OrganisationUnavailable as failure:
                if failure.reason not in UNSETTLED and (failure.reason != "timeout" or seconds >= self._fair_seconds):
                    breaker.failed(failure)
                raise
            breaker.succeeded()
