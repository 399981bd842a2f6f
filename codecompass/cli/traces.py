"""Opens what sends traces to a collector, if the settings name one; nothing of OpenTelemetry is imported otherwise."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Literal
from urllib.parse import urlsplit

from codecompass.errors import InvalidInput
from codecompass.settings import TraceSettings

if TYPE_CHECKING:
    from codecompass.trace_export import ExportedTraces

INSTALL: Final = "pip install 'codecompass[traces]'"


@contextmanager
def opened_traces(
    settings: TraceSettings, service: Literal["codecompass-server", "codecompass-worker"]
) -> "Iterator[ExportedTraces | None]":
    """Yields what records this process, None if traces are off; at the end sends what waits, for a bounded time.

    Raises InvalidInput if the address is none, or OpenTelemetry is not installed.
    """
    if not settings.endpoint:
        yield None
        return
    if not _is_url(settings.endpoint):
        raise InvalidInput(
            f"traces.endpoint: {settings.endpoint!r} is no http:// or https:// URL. Collectors listen at "
            "http://HOST:4318/v1/traces.",
            field="traces.endpoint",
        )
    try:
        from codecompass.trace_export import ExportedTraces
    except ModuleNotFoundError as error:
        raise InvalidInput(
            f"traces.endpoint is set, and {error.name} is not installed. Install it with: {INSTALL}", remediation=INSTALL
        ) from error
    traces = ExportedTraces(settings, service)
    try:
        yield traces
    finally:
        traces.close()


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname)
