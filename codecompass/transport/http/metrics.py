"""`GET /metrics`: the state of a server in the Prometheus text format, version 0.0.4. A pure function of what is published.

Dashboards depend on the names and labels, which `docs/http.md` lists. Workspaces are labelled by project, of which a server has
few; no label comes from what a client sends.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass import __version__
from codecompass.actors.observation import WorkspaceObservation
from codecompass.projects.survey import SurveyedProject
from codecompass.transport.call_records import BOUNDS, Measures
from codecompass.transport.health import Moment

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

Kind = Literal["counter", "gauge", "histogram"]
Labels = Mapping[str, str]
Sample = tuple[Labels, float]

_NO_LABELS: Final[Labels] = {}


class Gauge(Struct, frozen=True):
    """One value without labels. `text` is its HELP line."""

    name: str
    text: str
    value: float


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
    more: Sequence[Gauge] = (),
) -> bytes:
    """Returns the page; `more` are further gauges of a server."""
    lines: list[str] = []
    _process(lines, moment, memory_bytes, cpu_seconds)
    _calls(lines, measures)
    _http(lines, measures, load)
    _workspaces(lines, moment, supervision)
    for each in more:
        _single(lines, each.name, "gauge", each.text, each.value)
    return ("\n".join(lines) + "\n").encode()


def _process(lines: list[str], moment: Moment, memory_bytes: int, cpu_seconds: float) -> None:
    _single(lines, "codecompass_info", "gauge", "The running version.", 1, {"version": __version__})
    _single(lines, "codecompass_uptime_seconds", "gauge", "Seconds since the server started.", moment.uptime_seconds)
    _single(lines, "codecompass_memory_bytes", "gauge", "Resident memory of the server process, without workers.", memory_bytes)
    _single(lines, "codecompass_cpu_seconds_total", "counter", "Processor time of the server process.", cpu_seconds)


def _calls(lines: list[str], measures: Measures) -> None:
    _family(
        lines,
        "codecompass_tool_calls_total",
        "counter",
        "Calls of tools by transport and outcome: ok, or the code of the error.",
        [
            ({"tool": tool, "transport": transport, "outcome": outcome}, count)
            for (tool, transport, outcome), count in sorted(measures.calls.items())
        ],
    )
    name = "codecompass_tool_call_seconds"
    _head(lines, name, "histogram", "How long calls of tools took, from their arguments to their answer.")
    for (tool, transport), histogram in sorted(measures.call_seconds.items()):
        labels = {"tool": tool, "transport": transport}
        n_so_far = 0
        for bound, count in zip((*map(_number, BOUNDS), "+Inf"), histogram.counts, strict=True):
            n_so_far += count
            lines.append(f"{name}_bucket{_labels({**labels, 'le': bound})} {n_so_far}")
        lines.append(f"{name}_sum{_labels(labels)} {_number(histogram.sum_seconds)}")
        lines.append(f"{name}_count{_labels(labels)} {n_so_far}")


def _http(lines: list[str], measures: Measures, load: Load) -> None:
    _family(
        lines,
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
        _single(lines, name, "gauge", text, value)
    for name, (text, value) in counters.items():
        _single(lines, name, "counter", text, value)


def _workspaces(lines: list[str], moment: Moment, supervision: Supervision) -> None:
    live, known = moment.live, moment.known.projects
    _single(lines, "codecompass_projects", "gauge", "Registered projects.", len(known))
    _single(lines, "codecompass_workspaces_live", "gauge", "Workspaces in memory.", len(live))
    counters = {
        "codecompass_workspaces_started_total": ("Workspaces started.", supervision.started),
        "codecompass_workspaces_retired_total": ("Workspaces retired, for whatever reason.", supervision.retired),
        "codecompass_workspaces_evicted_total": ("Workspaces retired to make room.", supervision.evicted),
        "codecompass_workspace_crashes_total": ("Crashes of workspaces.", supervision.crashes),
    }
    for name, (text, value) in counters.items():
        _single(lines, name, "counter", text, value)
    _observed(lines, live)
    _sizes(lines, live, known)


def _observed(lines: list[str], live: Sequence[WorkspaceObservation]) -> None:
    def each(value: str) -> list[Sample]:
        return [({"project": seen.project_name}, float(getattr(seen, value))) for seen in live]

    _family(lines, "codecompass_workspace_queued", "gauge", "Requests that wait for a workspace.", each("queued"))
    _family(lines, "codecompass_workspace_in_flight", "gauge", "Requests that a workspace works on.", each("in_flight"))
    _family(lines, "codecompass_workspace_restarts", "gauge", "Restarts of a live workspace.", each("restarts"))
    _family(
        lines,
        "codecompass_workspace_job_running",
        "gauge",
        "1 while an index job runs.",
        [({"project": seen.project_name}, float(seen.active_job is not None)) for seen in live],
    )
    _family(
        lines,
        "codecompass_workspace_last_job_seconds",
        "gauge",
        "How long the last index job took, by its status.",
        [
            ({"project": seen.project_name, "mode": job.mode, "status": job.status}, job.finished_at - job.started_at)
            for seen in live
            if (job := seen.last_job) is not None and job.finished_at is not None and job.started_at is not None
        ],
    )


def _sizes(lines: list[str], live: Sequence[WorkspaceObservation], known: Sequence[SurveyedProject]) -> None:
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
        _family(lines, name, "gauge", text, [({"project": project}, value) for project, value in sorted(values.items())])


def _single(lines: list[str], name: str, kind: Kind, text: str, value: float, labels: Labels = _NO_LABELS) -> None:
    _family(lines, name, kind, text, [(labels, value)])


def _family(lines: list[str], name: str, kind: Kind, text: str, samples: Iterable[Sample]) -> None:
    _head(lines, name, kind, text)
    lines.extend(f"{name}{_labels(labels)} {_number(value)}" for labels, value in samples)


def _head(lines: list[str], name: str, kind: Kind, text: str) -> None:
    lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else f"{value:.6g}"
