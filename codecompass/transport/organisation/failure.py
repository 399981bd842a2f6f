"""Why the organisation's server has not answered: a code for the log, and for people and agents what to do."""

from typing import ClassVar, Final, Literal

from codecompass.errors import CodeCompassError

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
