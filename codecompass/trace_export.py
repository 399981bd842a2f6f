"""Sends recorded spans to a collector by OTLP over HTTP, with OpenTelemetry's SDK. Loaded only if `traces.endpoint` is set.

    a request ends a span -> queue of MAX_WAITING -> one thread -> POST of up to MAX_SENT spans

Recording never waits: a span that finds the queue full is dropped and counted, and so are those that the collector does not take.
The SDK's own processor does the same, but does not say how many it has dropped.
"""

import logging
import os
import platform
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from typing import Final, Literal

import structlog
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanLimits, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from codecompass import __version__
from codecompass.settings import TraceSettings
from codecompass.tracing import OUTCOME, Kind, TraceSender, Values
from codecompass.units import MINUTES, SECONDS

MAX_SPANS: Final = 200
"""Spans of one trace here. A question to all repositories asks hundreds, of which the first tell enough."""

LEFT_OUT: Final = "codecompass.spans_left_out"
"""The attribute of a request that counts its parts beyond MAX_SPANS."""

MAX_WAITING: Final = 4_096
"""Spans that wait to be sent, about 1 kB each."""

MAX_SENT: Final = 512
"""Spans of one request to the collector."""

GATHER_SECONDS: Final = 1 * SECONDS
"""How long spans are gathered before they are sent together."""

SEND_SECONDS: Final = 10 * SECONDS
"""How long one request to the collector may take, with its repetitions."""

CLOSE_SECONDS: Final = 2 * SECONDS
"""How long the end of the process may be delayed by spans that are still to be sent."""

COMPLAINT_SECONDS: Final = 1 * MINUTES
"""Between two lines of the log about a collector that takes nothing."""

MAX_ATTRIBUTE_LENGTH: Final = 1_000
MAX_ATTRIBUTES: Final = 32

_KINDS: Final[Mapping[Kind, SpanKind]] = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
}

Fate = Literal["sent", "queue_full", "not_taken"]
"""What became of a span: `not_taken` by the collector, or not in time before the process ended."""

FATES: Final[tuple[Fate, ...]] = ("sent", "queue_full", "not_taken")


class ExportedTraces:
    """Implements `tracing.Traces`. `close` it at the end of the process; thread-safe."""

    def __init__(self, settings: TraceSettings, service: str, *, max_waiting: int = MAX_WAITING) -> None:
        """`service` is what this process is, such as `codecompass-server`. What the SDK reads of its own variables besides is
        documented (docs/configuration.md)."""
        _silence_the_exporter()
        self.shows_queries: Final = settings.queries
        self._queue: Final = _Queue(OTLPSpanExporter(endpoint=settings.endpoint, timeout=SEND_SECONDS), max_waiting)
        self._provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(settings.sample_ratio)),
            resource=Resource.create(
                {
                    "service.name": service,
                    "service.namespace": "codecompass",
                    "service.version": __version__,
                    "service.instance.id": f"{platform.node()}-{os.getpid()}",
                }
            ),
            span_limits=SpanLimits(max_attributes=MAX_ATTRIBUTES, max_attribute_length=MAX_ATTRIBUTE_LENGTH),
            shutdown_on_exit=False,
        )
        self._provider.add_span_processor(self._queue)
        self._tracer = self._provider.get_tracer("codecompass", __version__)
        self._propagator = TraceContextTextMapPropagator()

    def begin(self, name: str, sender: TraceSender | None, values: Values) -> "_ExportedSpan | None":
        """See `Traces`."""
        context = Context()
        if sender is not None:
            carrier = {"traceparent": sender.traceparent, "tracestate": sender.tracestate}
            context = self._propagator.extract(carrier, context)
        span = self._tracer.start_span(name, context, SpanKind.SERVER, values)
        return _ExportedSpan(self._tracer, span, None) if span.is_recording() else None

    def counts(self) -> dict[str, int]:
        """Returns how many spans were sent and dropped since the start."""
        return {fate: self._queue.fates[fate] for fate in FATES}

    def close(self) -> None:
        """Sends what waits, for at most CLOSE_SECONDS. Blocks."""
        self._provider.shutdown()


class _ExportedSpan:
    """Implements `tracing.Span`."""

    def __init__(self, tracer: Tracer, span: Span, root: "_ExportedSpan | None") -> None:
        self._tracer = tracer
        self._span = span
        self._root = root or self
        self._n_parts = 0
        self._lock = threading.Lock()

    def child(self, name: str, kind: Kind, values: Values) -> "_ExportedSpan | None":
        """See `Span`."""
        root = self._root
        with root._lock:  # noqa: SLF001, RUF100 (of this class)
            root._n_parts += 1  # noqa: SLF001, RUF100
            is_one_too_many = root._n_parts >= MAX_SPANS  # noqa: SLF001, RUF100
        if is_one_too_many:
            return None
        span = self._tracer.start_span(name, set_span_in_context(self._span, Context()), _KINDS[kind], values)
        return _ExportedSpan(self._tracer, span, root)

    def note(self, values: Values) -> None:
        """See `Span`."""
        self._span.set_attributes(values)

    def fail(self, error: str, *, is_fault: bool) -> None:
        """See `Span`."""
        self._span.set_attributes({"error.type": error, OUTCOME: error})
        if is_fault:
            self._span.set_status(Status(StatusCode.ERROR, error))

    def end(self) -> None:
        """See `Span`."""
        if self._n_parts >= MAX_SPANS:
            self._span.set_attribute(LEFT_OUT, self._n_parts - MAX_SPANS + 1)
        self._span.end()


class _Queue(SpanProcessor):
    """The spans that wait for the thread that sends them."""

    def __init__(self, exporter: SpanExporter, max_waiting: int) -> None:
        self._exporter = exporter
        self._max_waiting = max_waiting
        self._waiting: deque[ReadableSpan] = deque()
        self._changed = threading.Condition()
        self._is_closing = threading.Event()
        self._complained_at: float | None = None
        self.fates: Counter[Fate] = Counter()
        # A daemon: a collector that hangs must not keep the process.
        self._thread = threading.Thread(target=self._send_all, name="traces", daemon=True)
        self._thread.start()

    def on_end(self, span: ReadableSpan) -> None:
        """Queues a span, or drops it."""
        with self._changed:
            if len(self._waiting) >= self._max_waiting or self._is_closing.is_set():
                self.fates["queue_full"] += 1
                return
            self._waiting.append(span)
            self._changed.notify()

    def shutdown(self) -> None:
        """Sends what waits, for at most CLOSE_SECONDS."""
        self._is_closing.set()
        with self._changed:
            self._changed.notify()
        self._thread.join(CLOSE_SECONDS)
        # Ends the waiting between repetitions.
        self._exporter.shutdown()

    def _send_all(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._waiting or self._is_closing.is_set())
                if not self._waiting:
                    return
            self._is_closing.wait(GATHER_SECONDS)
            with self._changed:
                sent = [self._waiting.popleft() for _ in range(min(MAX_SENT, len(self._waiting)))]
            result = self._exporter.export(sent)
            with self._changed:
                self.fates["sent" if result is SpanExportResult.SUCCESS else "not_taken"] += len(sent)
            if result is not SpanExportResult.SUCCESS:
                self._complain()

    def _complain(self) -> None:
        now = time.monotonic()
        if self._complained_at is None or now - self._complained_at >= COMPLAINT_SECONDS:
            self._complained_at = now
            structlog.get_logger(__name__).warning(
                "traces_not_sent", dropped=self.fates["not_taken"], advice="check traces.endpoint and the collector"
            )


def _silence_the_exporter() -> None:
    """Keeps the exporter from logging each of its attempts: `_complain` says what there is to say."""
    log = logging.getLogger("opentelemetry.exporter")
    log.propagate = False
    log.addHandler(logging.NullHandler())
