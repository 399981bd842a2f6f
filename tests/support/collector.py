"""A collector of traces on loopback: takes OTLP over HTTP, and decodes it as the protocol's own package does."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from msgspec import Struct
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

_VALUES = ("string_value", "bool_value", "int_value", "double_value")


class SeenSpan(Struct, frozen=True, kw_only=True):
    """A span as it arrived. Ids are in hexadecimal; `parent` is empty without one."""

    name: str
    service: str
    kind: str
    trace_id: str
    span_id: str
    parent: str
    values: dict[str, object]
    is_error: bool


class Collector:
    """What has arrived. While `is_held` no request is answered; `status` is answered instead of success."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1/traces"
        self.status = 200
        self.n_requests = 0
        self._spans: list[SeenSpan] = []
        self._goes_on = threading.Event()
        self._goes_on.set()
        self._lock = threading.Lock()

    @property
    def spans(self) -> list[SeenSpan]:
        with self._lock:
            return list(self._spans)

    def hold(self) -> None:
        self._goes_on.clear()

    def go_on(self) -> None:
        self._goes_on.set()

    def named(self, name: str) -> list[SeenSpan]:
        return [each for each in self.spans if each.name == name]

    def taken(self, body: bytes) -> int:
        """Keeps the spans of a request, and returns the status of its answer."""
        with self._lock:
            self.n_requests += 1
        self._goes_on.wait()
        found = list(_spans(ExportTraceServiceRequest.FromString(body)))
        with self._lock:
            if self.status == 200:
                self._spans += found
            return self.status


def _spans(request: ExportTraceServiceRequest) -> Iterator[SeenSpan]:
    for resource in request.resource_spans:
        about = {each.key: _value(each.value) for each in resource.resource.attributes}
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield SeenSpan(
                    name=span.name,
                    service=str(about["service.name"]),
                    kind=Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent=span.parent_span_id.hex(),
                    values={each.key: _value(each.value) for each in span.attributes},
                    is_error=span.status.code == Status.STATUS_CODE_ERROR,
                )


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    assert kind in _VALUES, kind
    return getattr(value, kind)


@contextmanager
def collector() -> Iterator[Collector]:
    """Yields a collector that listens on loopback until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            assert self.path == "/v1/traces"
            assert self.headers["content-type"] == "application/x-protobuf"
            status = made.taken(self.rfile.read(int(self.headers["content-length"])))
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(status)
            self.send_header("content-type", "application/x-protobuf")
            self.send_header("content-length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    made = Collector(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        made.go_on()
        server.shutdown()
        thread.join()
        server.server_close()
