"""`GET /metrics`: the state of a server in the Prometheus text format. A pure function of what is published.

Dashboards depend on the names and labels, which `docs/http.md` lists. Workspaces are labelled by project, of which a server has
few; no label comes from what a client sends.
"""

from collections.abc import Sequence

from msgspec import Struct

from codecompass import __version__
from codecompass.actors.observation import WorkspaceObservation
from codecompass.projects.survey import SurveyedProject
from codecompass.tracing import Traces
from codecompass.transport.call_records import Measures
from codecompass.transport.health import Moment
from codecompass.transport.http.exposition import Exposition, Family, Sample


class Load(Struct, frozen=True, kw_only=True):
    """The current load of the HTTP server, and its totals since the start."""

    connections: int = 0
    connections_accepted: int = 0
    connections_refused: int = 0
    requests: int = 0
    sessions: int = 0
    sessions_opened: int = 0
    sse_connections: int = 0
    websockets: int = 0


class Supervision(Struct, frozen=True, kw_only=True):
    """Counters of the supervisor of the workspaces since the start."""

    started: int = 0
    retired: int = 0
    evicted: int = 0
    crashes: int = 0


def render(
    measures: Measures,
    moment: Moment,
    *,
    load: Load,
    supervision: Supervision,
    memory_bytes: int,
    cpu_seconds: float,
    more: Sequence[Family] = (),
) -> bytes:
    """Returns the page; `more` are further families of a server."""
    page = Exposition()
    _process(page, moment, memory_bytes, cpu_seconds)
    _calls(page, measures)
    _http(page, measures, load)
    _workspaces(page, moment, supervision)
    for each in more:
        page.family(each.name, each.kind, each.text, each.samples)
    return page.page()


def trace_metrics(traces: Traces | None) -> tuple[Family, ...]:
    """Returns what became of recorded spans; nothing if traces are off."""
    if traces is None:
        return ()
    samples = tuple(({"fate": fate}, float(count)) for fate, count in traces.counts().items())
    return (Family("codecompass_trace_spans_total", "counter", "Spans that were sent to the collector, or dropped.", samples),)


def _process(page: Exposition, moment: Moment, memory_bytes: int, cpu_seconds: float) -> None:
    page.single("codecompass_info", "gauge", "The running version.", 1, {"version": __version__})
    page.single("codecompass_uptime_seconds", "gauge", "Seconds since the server started.", moment.uptime_seconds)
    page.single("codecompass_memory_bytes", "gauge", "Resident memory of the server process, without workers.", memory_bytes)
    page.single("codecompass_cpu_seconds_total", "counter", "Processor time of the server process.", cpu_seconds)


def _calls(page: Exposition, measures: Measures) -> None:
    page.family(
        "codecompass_tool_calls_total",
        "counter",
        "Calls of tools by transport and outcome: ok, or the code of the error.",
        [
            ({"tool": tool, "transport": transport, "outcome": outcome}, count)
            for (tool, transport, outcome), count in sorted(measures.calls.items())
        ],
    )
    page.histograms(
        "codecompass_tool_call_seconds",
        "How long calls of tools took, from their arguments to their answer.",
        [
            ({"tool": tool, "transport": transport}, histogram)
            for (tool, transport), histogram in sorted(measures.call_seconds.items())
        ],
    )


def _http(page: Exposition, measures: Measures, load: Load) -> None:
    page.family(
        "codecompass_http_responses_total",
        "counter",
        "HTTP responses by route and status.",
        [({"route": route, "status": str(status)}, count) for (route, status), count in sorted(measures.responses.items())],
    )
    gauges = {
        "codecompass_http_connections": ("Open connections.", load.connections),
        "codecompass_http_requests_in_flight": ("Requests that have not been answered.", load.requests),
        "codecompass_http_sessions": ("Sessions of the handshake era.", load.sessions),
        "codecompass_sse_connections": ("Connections of the older HTTP+SSE transport.", load.sse_connections),
        "codecompass_websockets": ("Open WebSockets.", load.websockets),
    }
    counters = {
        "codecompass_http_connections_total": ("Connections accepted.", load.connections_accepted),
        "codecompass_http_connections_refused_total": ("Connections refused for want of room.", load.connections_refused),
        "codecompass_http_sessions_total": ("Sessions opened.", load.sessions_opened),
    }
    for name, (text, value) in gauges.items():
        page.single(name, "gauge", text, value)
    for name, (text, value) in counters.items():
        page.single(name, "counter", text, value)


def _workspaces(page: Exposition, moment: Moment, supervision: Supervision) -> None:
    live, known = moment.live, moment.known.projects
    page.single("codecompass_projects", "gauge", "Registered projects.", len(known))
    page.single("codecompass_workspaces_live", "gauge", "Workspaces in memory.", len(live))
    counters = {
        "codecompass_workspaces_started_total": ("Workspaces started.", supervision.started),
        "codecompass_workspaces_retired_total": ("Workspaces retired, for whatever reason.", supervision.retired),
        "codecompass_workspaces_evicted_total": ("Workspaces retired to make room.", supervision.evicted),
        "codecompass_workspace_crashes_total": ("Crashes of workspaces.", supervision.crashes),
    }
    for name, (text, value) in counters.items():
        page.single(name, "counter", text, value)
    _observed(page, live)
    _sizes(page, live, known)


def _observed(page: Exposition, live: Sequence[WorkspaceObservation]) -> None:
    def each(value: str) -> list[Sample]:
        return [({"project": seen.project_name}, float(getattr(seen, value))) for seen in live]

    page.family("codecompass_workspace_queued", "gauge", "Requests that wait for a workspace.", each("queued"))
    page.family("codecompass_workspace_in_flight", "gauge", "Requests that a workspace works on.", each("in_flight"))
    page.family("codecompass_workspace_restarts", "gauge", "Restarts of a live workspace.", each("restarts"))
    page.family(
        "codecompass_workspace_job_running",
        "gauge",
        "1 while an index job runs.",
        [({"project": seen.project_name}, float(seen.active_job is not None)) for seen in live],
    )
    page.family(
        "codecompass_workspace_last_job_seconds",
        "gauge",
        "How long the last index job took, by its status.",
        [
            ({"project": seen.project_name, "mode": job.mode, "status": job.status}, job.finished_at - job.started_at)
            for seen in live
            if (job := seen.last_job) is not None and job.finished_at is not None and job.started_at is not None
        ],
    )


def _sizes(page: Exposition, live: Sequence[WorkspaceObservation], known: Sequence[SurveyedProject]) -> None:
    """Adds the sizes of indexes: as a live workspace reports them, else as last seen on disk."""
    indexed = {entry.project.name: entry.meta for entry in known if entry.meta is not None}
    files = {name: meta.file_count for name, meta in indexed.items()}
    symbols = {name: meta.symbol_count for name, meta in indexed.items()}
    source = {name: meta.source_bytes for name, meta in indexed.items()}
    files |= {seen.project_name: seen.file_count for seen in live}
    symbols |= {seen.project_name: seen.symbol_count for seen in live}
    for name, text, values in (
        ("codecompass_index_files", "Files in the index.", files),
        ("codecompass_index_symbols", "Symbols in the index.", symbols),
        ("codecompass_index_source_bytes", "Bytes of source that the index was made of.", source),
    ):
        page.family(name, "gauge", text, [({"project": project}, value) for project, value in sorted(values.items())])
