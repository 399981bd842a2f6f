"""The alert rules and the dashboard: each is over metrics that servers and workers have, and each alert is provoked once.

`promtool`, which `make validators` builds where Go is, evaluates the rules as Prometheus does.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio
import yaml

from codecompass.cluster.access.viewer_limits import ViewerLimits
from codecompass.cluster.access.visibility import Viewer
from codecompass.cluster.hosts.sources import new_source
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.serving.health import EngineMonitor, gauges
from codecompass.cluster.serving.library import Libraries
from codecompass.cluster.stores.measures import CacheMeasures
from codecompass.settings import AccessSettings
from codecompass.trace_export import FATES
from codecompass.transport.call_records import Measures
from codecompass.transport.health import Moment
from codecompass.transport.http.metrics import Load, Supervision, render, trace_metrics
from tests.cluster.test_worker_measures import FAILING, INDEXED, NOW, WAITING
from tests.deploy.deployment import DEPLOY, ROOT
from tests.deploy.test_validators import _program, _run

MONITORING = DEPLOY / "monitoring"
ALERTS = MONITORING / "alerts.yaml"
DASHBOARD = MONITORING / "dashboard.json"

METRIC = re.compile(r"\bcodecompass_[a-z_]+\b(?!\.)")
OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")

QUIET = {
    'up{job="codecompass",instance="a"}': "1",
    'codecompass_engine_ready{instance="a"}': "1",
    'codecompass_engine_status{instance="a"}': "3",
    'codecompass_engine_disk_free_ratio{instance="a"}': "0.5",
    'codecompass_worker_looked_seconds_ago{instance="w"}': "3",
    'codecompass_worker_disk_free_bytes{instance="w"}': "500",
    'codecompass_worker_disk_bytes{instance="w"}': "1000",
    'codecompass_worker_runs_total{instance="w",action="turn",outcome="done"}': "0+5",
    'codecompass_worker_runs_total{instance="w",action="turn",outcome="failed"}': "0",
    'codecompass_worker_polls_total{instance="w",outcome="done"}': "0+5",
    'codecompass_worker_polls_total{instance="w",outcome="failed"}': "0+1",
    'codecompass_repository_failures{instance="w",repository="shop/api"}': "0",
    'codecompass_repository_published_seconds{instance="w",repository="shop/api"}': "0",
    'codecompass_repositories_waiting_seconds{instance="w"}': "60",
    'codecompass_source_failures{instance="w",source="https://github.com/shop"}': "0",
    'codecompass_tool_call_seconds_bucket{instance="a",tool="search_code",transport="http",le="1"}': "0+60",
    'codecompass_tool_call_seconds_bucket{instance="a",tool="search_code",transport="http",le="2.5"}': "0+60",
    'codecompass_tool_call_seconds_bucket{instance="a",tool="search_code",transport="http",le="+Inf"}': "0+60",
    'codecompass_tool_calls_total{instance="a",tool="search_code",transport="http",outcome="ok"}': "0+60",
    'codecompass_refused_total{instance="a",limit="rate"}': "0+1",
    'codecompass_store_available{instance="a"}': "1",
    'codecompass_store_available{instance="w"}': "1",
    'codecompass_store_free_bytes{instance="w"}': "500",
    'codecompass_store_bytes{instance="w"}': "1000",
    'codecompass_cache_uses_total{instance="a",files="here"}': "0+90",
    'codecompass_cache_uses_total{instance="a",files="fetched"}': "0+10",
    'codecompass_cache_uses_total{instance="a",files="failed"}': "0",
    'codecompass_cache_evictions_total{instance="a"}': "0+10",
    'codecompass_cache_damaged_total{instance="a"}': "3",
    'codecompass_trace_spans_total{instance="a",fate="sent"}': "0+100",
    'codecompass_trace_spans_total{instance="a",fate="queue_full"}': "7",
    'codecompass_trace_spans_total{instance="a",fate="not_taken"}': "7",
}
"""An organisation without trouble: each series and its value, or its first value and what it grows by in a minute."""

FAILURES = 'codecompass_repository_failures{instance="w",repository="shop/api"}'
PUBLISHED = 'codecompass_repository_published_seconds{instance="w",repository="shop/api"}'
BUCKET = 'codecompass_tool_call_seconds_bucket{instance="a",tool="search_code",transport="http",le='

PROVOKED = {
    "CodeCompassScrapeFails": {'up{job="codecompass",instance="a"}': "0"},
    "CodeCompassNoServer": {'codecompass_engine_ready{instance="a"}': None},
    "CodeCompassNoWorker": {'codecompass_worker_looked_seconds_ago{instance="w"}': None},
    "CodeCompassEngineAway": {'codecompass_engine_ready{instance="a"}': "0"},
    "CodeCompassEngineIncomplete": {'codecompass_engine_status{instance="a"}': "1"},
    "CodeCompassEngineCopiesMissing": {'codecompass_engine_status{instance="a"}': "2"},
    "CodeCompassEngineDiskFull": {'codecompass_engine_disk_free_ratio{instance="a"}': "0.14"},
    "CodeCompassWorkerDiskFull": {'codecompass_worker_disk_free_bytes{instance="w"}': "99"},
    "CodeCompassStoreAway": {'codecompass_store_available{instance="w"}': "0"},
    "CodeCompassStoreFull": {'codecompass_store_free_bytes{instance="w"}': "99"},
    "CodeCompassCacheThrashes": {'codecompass_cache_uses_total{instance="a",files="fetched"}': "0+30"},
    "CodeCompassCopiesDamaged": {'codecompass_cache_damaged_total{instance="a"}': "3+1"},
    "CodeCompassWorkerCutOff": {'codecompass_worker_looked_seconds_ago{instance="w"}': "121+60"},
    "CodeCompassTurnsFail": {'codecompass_worker_runs_total{instance="w",action="turn",outcome="failed"}': "0+6"},
    "CodeCompassPollsFail": {'codecompass_worker_polls_total{instance="w",outcome="failed"}': "0+6"},
    "CodeCompassRepositoryFails": {FAILURES: "5"},
    "CodeCompassRepositoryOld": {FAILURES: "1", PUBLISHED: "-90000+0"},
    "CodeCompassSourceFails": {'codecompass_source_failures{instance="w",source="https://github.com/shop"}': "5"},
    "CodeCompassQueueOld": {'codecompass_repositories_waiting_seconds{instance="w"}': "1801"},
    "CodeCompassSlow": {f'{BUCKET}"1"}}': "0+50", f'{BUCKET}"2.5"}}': "0+52"},
    "CodeCompassDefects": {
        # The series begins with the first failure.
        'codecompass_tool_calls_total{instance="a",tool="outline",transport="http",outcome="internal_error"}': "_x55 1"
    },
    "CodeCompassRefusals": {'codecompass_refused_total{instance="a",limit="rate"}': "0+7"},
    "CodeCompassTracesDropped": {'codecompass_trace_spans_total{instance="a",fate="not_taken"}': "7+1"},
}
"""What has to change of QUIET for an alert to fire; None takes the series away."""

ENDED = "60m"
"""When the state is looked at. Time begins at 0, when the repository was published."""


def rules() -> list[dict]:
    return [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]


def expressions() -> Iterator[str]:
    yield from (rule["expr"] for rule in rules())
    for panel in json.loads(DASHBOARD.read_text())["panels"]:
        yield from (target["expr"] for target in panel.get("targets", ()))


@pytest.fixture(scope="module")
def pages() -> str:
    """The pages of a worker and of a server after one question."""
    measures = WorkerMeasures()
    measures.looked((INDEXED, WAITING, FAILING))
    measures.saw_disk(1, 2)
    measures.saw_sources((new_source("https://github.com/shop"),))
    measures.store.looked((1, 2))
    limits = ViewerLimits(AccessSettings())
    answered = Measures()
    answered.count_call("search_code", "http", "ok", 0.2)
    answered.count_response("/", 200)

    async def ask() -> str:
        with limits.admitted(Viewer("ada", frozenset())):
            pass
        # Nothing is asked of an engine here.
        monitor = EngineMonitor(None, Libraries(None, SimpleNamespace(fetch=None, summaries=None, fetch_summaries=None)))
        monitor.free_disk = 0.5
        moment = Moment(uptime_seconds=1.0, prewarm_status="skipped", prewarm_enabled=False, warmset_capacity=0)
        traces = SimpleNamespace(counts=lambda: dict.fromkeys(FATES, 1))
        more = (*gauges(monitor), *limits.metrics(), *CacheMeasures().metrics(1, 2), *trace_metrics(traces))
        page = render(answered, moment, load=Load(), supervision=Supervision(), memory_bytes=1, cpu_seconds=1.0, more=more)
        return page.decode()

    return trio.run(ask) + measures.page(NOW).decode()


def test_alerts_and_panels_are_over_metrics_that_exist_with_the_labels_they_select(pages: str):
    known = {line.split()[2] for line in pages.splitlines() if line.startswith("# TYPE ")}
    used = {name if name in known else OF_HISTOGRAM.sub("", name) for each in expressions() for name in METRIC.findall(each)}

    assert used - known == set()
    assert len(used) > 25
    for expression in expressions():
        for name, labels in re.findall(r"(codecompass_\w+)\{([^}]*)\}", expression):
            wanted = set(re.findall(r"(\w+)(?:=~|!=|=)", labels))
            shown = next(line for line in pages.splitlines() if line.startswith(f"{name}{{"))
            assert wanted <= set(re.findall(r'(\w+)="', shown)), expression


def test_each_alert_says_what_to_do_and_is_provoked():
    assert [rule["alert"] for rule in rules()] == list(PROVOKED)
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "description"}, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning", "info")


def test_the_document_names_each_alert_and_each_metric_of_the_store_and_the_copies(pages: str):
    document = (ROOT / "docs" / "organisation.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`(?:\.\.\.|CodeCompass)(\w+)`", document))
    metrics = {name for name in re.findall(r"^# TYPE (\S+)", pages, re.MULTILINE) if re.search(r"_(store|cache|trace)_", name)}

    assert {rule["alert"].removeprefix("CodeCompass") for rule in rules()} <= named
    assert len(metrics) > 10
    assert [name for name in sorted(metrics) if name not in document] == []


def test_panels_do_not_overlap_and_have_a_unit():
    panels = json.loads(DASHBOARD.read_text())["panels"]
    places = [(each["gridPos"]["x"], each["gridPos"]["y"]) for each in panels]

    assert len(set(places)) == len(places) > 15
    assert all(each["fieldConfig"]["defaults"]["unit"] for each in panels if each["type"] != "row")


def test_prometheus_accepts_the_configuration_and_the_rules():
    done = _run(_program("promtool", is_installed_in_ci=False), "check", "config", MONITORING / "prometheus.yaml")

    assert done.returncode == 0, done.stderr


def values_of(text: str) -> str:
    """Returns the values of a series for promtool, one a minute."""
    if " " in text:
        return text + "x10"
    first, plus, step = text.partition("+")
    return f"{first}+{step}x70" if plus else f"{first}x70"


def checked(case: str, changed: dict[str, str | None], firing: set[str]) -> dict:
    series = {name: value for name, value in {**QUIET, **changed}.items() if value is not None}
    return {
        "name": case,
        "interval": "1m",
        "input_series": [{"series": name, "values": values_of(value)} for name, value in series.items()],
        "promql_expr_test": [
            {
                "expr": 'count by (alertname) (ALERTS{alertstate="firing"})',
                "eval_time": ENDED,
                "exp_samples": [{"labels": f'{{alertname="{alert}"}}', "value": 1} for alert in sorted(firing)],
            }
        ],
    }


def test_each_alert_fires_on_what_it_is_about_and_none_without_trouble(tmp_path: Path):
    promtool = _program("promtool", is_installed_in_ci=False)
    cases = [checked("quiet", {}, set())]
    for alert, changed in PROVOKED.items():
        cases.append(checked(alert, changed, {alert}))
    file = tmp_path / "test.yaml"
    file.write_text(yaml.safe_dump({"rule_files": [str(ALERTS)], "evaluation_interval": "1m", "tests": cases}))

    done = _run(promtool, "test", "rules", file)

    assert done.returncode == 0, done.stdout + done.stderr
