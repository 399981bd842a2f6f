"""Traces: which parts of answering a request, or of a worker's turn, took how long.

    with whole(traces, "search_code", sender, {...}):    one request or turn; nothing without `traces`
        with part("choose_repositories"):                a part of it, in this task, its children and their threads
            note({...})                                  what is learned meanwhile

Knows no library: `trace_export.py` implements `Traces`, and is loaded only if traces are on. What is being recorded follows the
context of a task, so that nothing between a request and what it waits for has to pass it on. A request that is not recorded
costs one look at that context for each part.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Literal, Protocol

from msgspec import Struct

from codecompass.errors import CodeCompassError, InternalError

Value = str | int | float | bool
"""What a span says about itself, by the names of its attributes."""

Values = Mapping[str, Value]

Kind = Literal["internal", "server", "client"]
"""How a span is related to other processes: it answers one, it waits for one, or neither."""

TOOL: Final = "gen_ai.tool.name"
TRANSPORT: Final = "codecompass.transport"
VIEWER: Final = "codecompass.viewer"
TOKEN: Final = "codecompass.token"  # noqa: S105, RUF100 (the name of an attribute)
QUERY: Final = "codecompass.query"
OUTCOME: Final = "codecompass.outcome"
REPOSITORY: Final = "codecompass.repository"
N_REPOSITORIES: Final = "codecompass.n_repositories"
N_CHOSEN: Final = "codecompass.n_chosen"

MAX_QUERY_LENGTH: Final = 1_000

MAX_TRACEPARENT: Final = 200
MAX_TRACESTATE: Final = 1_000
"""Characters of what a sender says about its own trace. W3C Trace Context: 55, and at least 512 are passed on."""


class TraceSender(Struct, frozen=True):
    """What the sender of a request says about its own trace, in the formats of W3C Trace Context. May be invalid."""

    traceparent: str
    tracestate: str = ""


def trace_sender(traceparent: object, tracestate: object) -> TraceSender | None:
    """Returns what a sender says; None if it says nothing, or nothing of that form: a trace is never a reason to refuse."""
    if not isinstance(traceparent, str) or not 0 < len(traceparent) <= MAX_TRACEPARENT:
        return None
    is_kept = isinstance(tracestate, str) and len(tracestate) <= MAX_TRACESTATE
    return TraceSender(traceparent, str(tracestate) if is_kept else "")


class Span(Protocol):
    """One piece of work that is being recorded. Thread-safe."""

    def child(self, name: str, kind: Kind, values: Values) -> "Span | None":
        """Begins a part of it; None if the whole has enough parts."""

    def note(self, values: Values) -> None:
        """Adds what was learned."""

    def fail(self, error: str, *, is_fault: bool) -> None:
        """Notes that it failed. `error` is a code or the name of a class; `is_fault` if somebody should look at it."""

    def end(self) -> None:
        """Ends it."""


class Traces(Protocol):
    """Records whole pieces of work. Implemented by `trace_export.ExportedTraces`."""

    @property
    def shows_queries(self) -> bool:
        """Whether what was asked is recorded too."""

    def begin(self, name: str, sender: TraceSender | None, values: Values) -> Span | None:
        """Begins a piece of work, as a part of the sender's trace if there is one; None if it is not in the sample."""

    def counts(self) -> Mapping[str, int]:
        """Returns how many spans were sent and dropped since the start, by what became of them."""


_CURRENT: Final[ContextVar[Span | None]] = ContextVar("codecompass_span", default=None)


@contextmanager
def whole(traces: Traces | None, name: str, sender: TraceSender | None = None, values: Values | None = None) -> Iterator[None]:
    """Records the block as a piece of work of its own, if `traces` are given and it is in their sample."""
    with _recorded(None if traces is None else traces.begin(name, sender, values or {})):
        yield


@contextmanager
def part(name: str, values: Values | None = None, *, kind: Kind = "internal") -> Iterator[None]:
    """Records the block as a part of what is being recorded in this context, if anything is."""
    outer = _CURRENT.get()
    if outer is None:
        yield
        return
    with _recorded(outer.child(name, kind, values or {})):
        yield


def note(values: Values) -> None:
    """Adds to what is being recorded in this context, if anything is."""
    span = _CURRENT.get()
    if span is not None:
        span.note(values)


def note_failure(error: CodeCompassError) -> None:
    """Notes that what is being recorded in this context failed, where the error becomes an answer."""
    span = _CURRENT.get()
    if span is not None:
        span.fail(error.code, is_fault=_is_fault(error))


def _is_fault(error: CodeCompassError) -> bool:
    """Whether an error is about the program or what it depends on, not about the question."""
    return error.is_retryable or isinstance(error, InternalError)


@contextmanager
def _recorded(span: Span | None) -> Iterator[None]:
    if span is None:
        yield
        return
    token = _CURRENT.set(span)
    try:
        yield
    except CodeCompassError as error:
        span.fail(error.code, is_fault=_is_fault(error))
        raise
    except Exception as error:
        span.fail(type(error).__name__, is_fault=True)
        raise
    except BaseException:
        # A task was cancelled: its caller has left, or has what it needs.
        span.fail("cancelled", is_fault=False)
        raise
    finally:
        _CURRENT.reset(token)
        span.end()
