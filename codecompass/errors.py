"""The errors that users and agents can get, each with its protocol code and a message that says what to do next.

They are raised where they are detected, and turned into an exit code (`cli`) or a protocol error (`transport`) in one place.
Codes are part of the protocol and never change their meaning.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Final

from msgspec import Struct

from codecompass import hints

REBUILD: Final = f"Rebuild it: {hints.REBUILD}"
"""The remedy if an index cannot be read."""


class CodeCompassError(Exception):
    """Base of all errors that are reported. `message` says what is wrong and what to do next.

    `data` holds the values of the message for programs; its keys are part of the protocol. `metadata` is that of the answer which
    the error is, a `protocol.metadata.Metadata`, if an index was asked: what is not found in an index that is behind may exist.
    """

    code: ClassVar[str] = "internal_error"
    is_retryable: ClassVar[bool] = False

    def __init__(self, message: str, **data: object) -> None:
        super().__init__(message)
        self.message = message
        self.data: dict[str, object] = {key: value for key, value in data.items() if value is not None}
        self.metadata: Struct | None = None


class InvalidInput(CodeCompassError):
    """A parameter is missing, of the wrong type or not allowed. `data` names the field and what is allowed."""

    code = "invalid_input"


class InvalidStrategy(CodeCompassError):
    """`strategy` is neither `breadth` nor `depth`."""

    code = "invalid_strategy"


class InvalidMaxTokens(CodeCompassError):
    """`max_tokens` is below 1, or below the size of an answer without any code (`data.minimum`)."""

    code = "invalid_max_tokens"


class ProjectNotFound(CodeCompassError):
    """No project is named, or the named one is not registered or does not exist any more."""

    code = "project_not_found"


class WorkspaceNotRegistered(CodeCompassError):
    """The directory is not registered, and the server does not register it automatically."""

    code = "workspace_not_registered"


class IndexInProgress(CodeCompassError):
    """Another job is writing this index. `data.job_id` is its id, if known."""

    code = "index_in_progress"
    is_retryable = True


class SyncInProgress(CodeCompassError):
    """A running job on this index prevents a forced one. `data.job_id` is its id."""

    code = "sync_in_progress"
    is_retryable = True


class IndexNotReady(CodeCompassError):
    """The project has no index yet."""

    code = "index_not_ready"
    is_retryable = True


class IndexStale(CodeCompassError):
    """The working tree has changed since the index was built, and the caller asked for `strict` freshness."""

    code = "index_stale"
    is_retryable = True


class IndexIncompatible(CodeCompassError):
    """The index was written by another version of the program, or its manifest cannot be read."""

    code = "index_incompatible"


class IndexDamaged(CodeCompassError):
    """Files of the index cannot be read although its versions fit. The remedy is a rebuild."""

    code = "index_incompatible"


class StoreNewer(CodeCompassError):
    """The store was written by a newer program. It is never rebuilt by an older one."""

    code = "index_incompatible"


class RefNotIndexed(CodeCompassError):
    """A question names a commit, branch or tag that has no index here and cannot get one now."""

    code = "ref_not_indexed"


class SymbolNotFound(CodeCompassError):
    """No symbol of that name."""

    code = "symbol_not_found"


class AmbiguousSymbol(CodeCompassError):
    """Several symbols have that name. `data.candidates` lists them."""

    code = "ambiguous_symbol"


class FileNotFound(CodeCompassError):
    """The index holds no file of that path."""

    code = "file_not_found"


class FileUnreadable(CodeCompassError):
    """The file exists but cannot be read."""

    code = "file_unreadable"


class PermissionDenied(CodeCompassError):
    """The store cannot be created or written; the old index stays. `data` has `path` and `suggested_action`."""

    code = "permission_denied"


class StoreRefused(PermissionDenied):
    """The system refuses to write the store: no space, no permission, a read-only or failing disk. The files of a workspace can
    answer in place of an index."""


class WorkspaceNotAllowed(CodeCompassError):
    """The path is outside the allowed roots. The message is the same whether or not it exists."""

    code = "workspace_not_allowed"


class WorkspaceLimitExceeded(CodeCompassError):
    """No workspace can be evicted to make room. `data.limit` is the setting's value."""

    code = "workspace_limit_exceeded"
    is_retryable = True


class WorkspaceBusy(CodeCompassError):
    """The mailbox of the workspace is full. `data.retry_after_ms` says when to call again."""

    code = "workspace_busy"
    is_retryable = True


class FileSystemUnresponsive(CodeCompassError):
    """The file system of a workspace does not answer. `data` has `path` and `retry_after_ms`."""

    code = "workspace_busy"
    is_retryable = True


class WorkspaceFailed(CodeCompassError):
    """The workspace's actor gave up after repeated crashes. `data.cause` is the last one."""

    code = "workspace_failed"


class Cancelled(CodeCompassError):
    """The caller cancelled the work."""

    code = "cancelled"


class DeadlineExceeded(CodeCompassError):
    """The work took longer than the caller allowed."""

    code = "deadline_exceeded"
    is_retryable = True


class InternalError(CodeCompassError):
    """An unexpected exception, so a defect of this program; the log has the details."""

    code = "internal_error"


def causes(error: BaseException) -> tuple[BaseException, ...]:
    """Returns the exceptions in a group, in their order and however deeply nested; of any other exception itself."""
    if not isinstance(error, BaseExceptionGroup):
        return (error,)
    return tuple(cause for each in error.exceptions for cause in causes(each))


def cause_of(error: BaseException, *preferred: type[BaseException]) -> BaseException:
    """Returns the exception to report for what ended concurrent tasks; any exception but a group unchanged.

    It is the first of a `preferred` class, then the first of ours, then of the system's; an InternalError is mostly a consequence
    of one of these.
    """

    def rank(cause: BaseException) -> int:
        if isinstance(cause, preferred):
            return 0
        if isinstance(cause, CodeCompassError):
            return 3 if isinstance(cause, InternalError) else 1
        return 2 if isinstance(cause, OSError) else 4

    return min(causes(error), key=rank)


def reported(error: Exception) -> CodeCompassError:
    """Returns the error to report for an exception or a group of them: an InternalError if none of them is ours."""
    cause = cause_of(error)
    if isinstance(cause, CodeCompassError):
        return cause
    unexpected = InternalError(f"{type(cause).__name__}: {cause}")
    unexpected.__cause__ = error
    return unexpected


@contextmanager
def collapse_groups() -> Iterator[None]:
    """Replaces an exception group raised in the block by the CodeCompassError in it.

    A group without one propagates, as does one with an interrupt. For nurseries see `nurseries.open_nursery`.
    """
    try:
        yield
    except BaseException as error:
        cause = cause_of(error)
        if cause is error or not isinstance(cause, CodeCompassError) or is_interrupt(error):
            raise
        raise cause from None


def is_interrupt(error: BaseException) -> bool:
    """Whether a person has interrupted the program, in any of the tasks that have ended with `error`."""
    return any(isinstance(cause, KeyboardInterrupt) for cause in causes(error))


def error_of(code: str, message: str, **data: object) -> CodeCompassError:
    """Returns an error of the first class with this code, for errors of which only code and message are stored."""
    known = next((kind for kind in CodeCompassError.__subclasses__() if kind.code == code), InternalError)
    return known(message, **data)


class ErrorBody(Struct, frozen=True, omit_defaults=True):
    """The `error` object of a failed answer."""

    code: str
    message: str
    data: dict[str, object] | None = None


def error_body(error: CodeCompassError) -> ErrorBody:
    """Returns the `error` object for `error`, as agents are told it."""
    data = {name: hints.for_agents(value) if isinstance(value, str) else value for name, value in error.data.items()}
    return ErrorBody(code=error.code, message=hints.for_agents(error.message), data=data or None)
