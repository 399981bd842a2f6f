"""`/metrics` as Prometheus reads it, generated from published observations."""

import re
from types import SimpleNamespace

from msgspec.structs import replace

from codecompass.projects.survey import SurveyResult
from codecompass.transport.call_records import BOUNDS, Measures
from codecompass.transport.health import health
from codecompass.transport.http.metrics import Load, Supervision, render
from codecompass.transport.tools.catalog import Catalog
from codecompass.transport.tools.services import Services
from tests.support.routing import Client, IdleWorkspaces
from tests.transport.test_health import CALM, META, job, known, live

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')


def page(measures=None, moment=CALM, **options):
    given = {"load": Load(), "supervision": Supervision(), "memory_bytes": 1, "cpu_seconds": 0.5, **options}
    return render(measures or Measures(), moment, **given).decode()


def samples(text):
    """Parses the page as Prometheus does into samples by name and labels; fails on anything outside the format."""
    assert text.endswith("\n")
    found, kinds = {}, {}
    for line in text.splitlines():
        if line.startswith("# "):
            _, word, name, rest = line.split(" ", 3)
            assert word in ("HELP", "TYPE")
            if word == "TYPE":
                assert name not in kinds, "a family appears once"
                kinds[name] = rest
            continue
        match = SAMPLE.fullmatch(line)
        assert match, line
        family = re.sub("_(bucket|sum|count)$", "", match[1]) if match[1] not in kinds else match[1]
        assert family in kinds, line
        assert (match[1], match[2]) not in found
        found[match[1], match[2]] = float(match[3])
    assert set(kinds.values()) <= {"counter", "gauge", "histogram"}
    assert all(name.endswith("_total") for name, kind in kinds.items() if kind == "counter")
    return found


async def test_calls_are_counted_by_tool_transport_and_outcome():
    measures = Measures()

    async def calm(*, about, limit, metadata):
        return health(CALM, about=about, limit=limit, metadata=metadata)

    state = SimpleNamespace(health=calm)
    tools = Catalog(
        Services(
            workspaces=IdleWorkspaces(),
            router=None,
            commits=None,
            cold_answers=None,
            state=state,
            default_limit=10,
        ),
        measures,
    )
    for name in ("health_check", "health_check", "search_code"):
        await tools.call(name, {}, Client())

    found = samples(page(measures))

    assert found["codecompass_tool_calls_total", 'tool="health_check",transport="stdio",outcome="ok"'] == 2
    assert found["codecompass_tool_calls_total", 'tool="search_code",transport="stdio",outcome="invalid_input"'] == 1
    assert found["codecompass_tool_call_seconds_count", 'tool="health_check",transport="stdio"'] == 2


def test_the_buckets_of_a_histogram_hold_all_that_took_at_most_so_long():
    measures = Measures()
    for seconds in (0.0005, 0.001, 0.004, 3.0, 1000.0):
        measures.count_call("search_code", "http", "ok", seconds)

    found = samples(page(measures))

    buckets = {
        labels.rsplit('le="', 1)[1].rstrip('"'): value
        for (name, labels), value in found.items()
        if name == "codecompass_tool_call_seconds_bucket"
    }
    assert len(buckets) == len(BOUNDS) + 1
    assert (buckets["0.001"], buckets["0.005"], buckets["5"], buckets["60"], buckets["+Inf"]) == (2, 3, 4, 4, 5)
    assert list(buckets.values()) == sorted(buckets.values())
    assert found["codecompass_tool_call_seconds_sum", 'tool="search_code",transport="http"'] == 1003.01


def test_workspaces_are_shown_as_they_are_live_and_as_they_lie_on_disk():
    moment = replace(
        CALM,
        known=SurveyResult(projects=(known("asleep"), known("awake"), known("never", meta=None))),
        live=(live("awake", queued=2, in_flight=1, restarts=3, file_count=10, symbol_count=20, active_job=job("awake")),),
    )
    awake, asleep = known("awake").project.name, known("asleep").project.name

    found = samples(page(moment=moment, supervision=Supervision(started=4, retired=3, evicted=2, crashes=1)))

    assert found["codecompass_projects", None] == 3
    assert found["codecompass_workspaces_live", None] == 1
    assert found["codecompass_workspaces_evicted_total", None] == 2
    assert found["codecompass_workspace_crashes_total", None] == 1
    assert found["codecompass_workspace_queued", f'project="{awake}"'] == 2
    assert found["codecompass_workspace_in_flight", f'project="{awake}"'] == 1
    assert found["codecompass_workspace_restarts", f'project="{awake}"'] == 3
    assert found["codecompass_workspace_job_running", f'project="{awake}"'] == 1
    assert found["codecompass_index_files", f'project="{awake}"'] == 10
    assert found["codecompass_index_files", f'project="{asleep}"'] == META.file_count
    assert found["codecompass_index_symbols", f'project="{asleep}"'] == META.symbol_count


def test_what_the_server_carries_is_shown():
    found = samples(page(load=Load(connections=5, connections_refused=4, requests=3, sessions=2, websockets=1)))

    assert found["codecompass_http_connections", None] == 5
    assert found["codecompass_http_connections_refused_total", None] == 4
    assert found["codecompass_http_requests_in_flight", None] == 3
    assert found["codecompass_http_sessions", None] == 2
    assert found["codecompass_websockets", None] == 1


def test_a_label_is_quoted():
    measures = Measures()
    measures.count_response('/a"b\\c\nd', 200)

    assert 'codecompass_http_responses_total{route="/a\\"b\\\\c\\nd",status="200"} 1' in page(measures)
