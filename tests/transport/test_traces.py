"""Traces of a server on this machine, as a collector gets them; off unless a collector is named."""

import subprocess
import sys
from pathlib import Path

import pytest

from codecompass.cli.traces import opened_traces
from codecompass.errors import InvalidInput
from codecompass.settings import TraceSettings
from tests.support.collector import Collector, SeenSpan, collector
from tests.support.live import http_server, started
from tests.support.waiting import FROM_THE_INDEX, until
from tests.transport.harness import modern
from tests.transport.http.client import ask, call, message, modern_headers
from tests.transport.http.test_metrics import samples

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADER = f"00-{TRACE}-00f067aa0ba902b7-01"
OTHER = "0af7651916cd43dd8448eb211c80319c"
META = f"00-{OTHER}-b7ad6b7169203331-01"
INITIALIZE = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
SECRET = "validate_token_word"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / ".git").mkdir(parents=True)
    (root / "pay.py").write_text(f"def {SECRET}(token):\n    return bool(token)\n")
    return root


def traced(there: Collector) -> dict[str, str]:
    """The variables of a server that sends its traces to a collector."""
    return {**FROM_THE_INDEX, "CODECOMPASS_TRACES_ENDPOINT": there.url}


async def request_of(there: Collector, name: str) -> SeenSpan:
    [found] = await until(lambda: there.named(name), f"a span {name}")
    return found


async def metrics_with_sent_spans(port: int) -> dict[tuple[str, str], float] | None:
    page = samples((await ask(port, "GET", "/metrics")).body.decode())
    return page if page["codecompass_trace_spans_total", 'fate="sent"'] >= 1 else None


async def test_a_question_over_http_is_a_part_of_the_trace_in_its_header(tmp_path: Path, tree: Path):
    with collector() as there:
        async with http_server("--workspace", tree, home=tmp_path, **traced(there)) as server:
            answer = await ask(server.port, "POST", "/", call("search_code", {"query": SECRET}), traceparent=HEADER)
            request = await request_of(there, "search_code")
            # The collector has a span before the server has its answer.
            page = await until(lambda: metrics_with_sent_spans(server.port), "spans counted as sent")
        [asked] = there.named("answer")

    assert SECRET in answer.body.decode()
    assert (request.trace_id, request.parent) == (TRACE, "00f067aa0ba902b7")
    assert (request.service, request.kind, request.is_error) == ("codecompass-server", "server", False)
    assert request.values == {
        "gen_ai.tool.name": "search_code",
        "codecompass.transport": "http",
        "codecompass.outcome": "ok",
    }
    assert (asked.parent, asked.values["codecompass.repository"]) == (request.span_id, "shop")
    assert page["codecompass_trace_spans_total", 'fate="queue_full"'] == 0


async def test_the_context_of_a_message_is_nearer_than_that_of_its_header(tmp_path: Path, tree: Path):
    params = modern({"name": "locate_symbol", "arguments": {"name": SECRET}}, traceparent=META, tracestate="vendor=1")
    headers = modern_headers("tools/call", "locate_symbol")
    with collector() as there:
        async with http_server("--workspace", tree, home=tmp_path, **traced(there)) as server:
            await ask(server.port, "POST", "/mcp", message("tools/call", params), traceparent=HEADER, **headers)
            request = await request_of(there, "locate_symbol")

    assert request.trace_id == OTHER


async def test_a_question_over_stdio_is_recorded_with_its_words_where_that_is_switched_on(tmp_path: Path, tree: Path):
    asked = call("search_code", {"query": SECRET}, _meta={"traceparent": META})
    with collector() as there:
        variables = {**traced(there), "CODECOMPASS_TRACES_QUERIES": "true"}
        async with started("serve-mcp", "--workspace", tree, home=tmp_path, **variables) as running:
            await running.process.stdin.send_all(message("initialize", INITIALIZE) + b"\n" + asked + b"\n")
            request = await request_of(there, "search_code")

    assert request.trace_id == OTHER
    assert (request.values["codecompass.transport"], request.values["codecompass.query"]) == ("stdio", SECRET)


async def test_questions_are_answered_while_the_collector_takes_nothing(tmp_path: Path, tree: Path):
    with collector() as there:
        there.hold()
        async with http_server("--workspace", tree, home=tmp_path, **traced(there)) as server:
            answers = [await ask(server.port, "POST", "/", call("search_code", {"query": SECRET})) for _ in range(4)]
            await until(lambda: there.n_requests == 1)
            answers += [await ask(server.port, "POST", "/", call("search_code", {"query": SECRET})) for _ in range(4)]
            n_sent = len(there.spans)
            there.go_on()

    assert n_sent == 0
    assert [SECRET in each.body.decode() for each in answers] == [True] * 8


def test_without_a_collector_nothing_of_opentelemetry_is_loaded():
    code = (
        "import sys; from codecompass.cli.traces import opened_traces; from codecompass.settings import TraceSettings; "
        "import codecompass.cli.serving, codecompass.transport.server, codecompass.transport.http.service\n"
        "with opened_traces(TraceSettings(), 'codecompass-server') as traces: assert traces is None\n"
        "print([each for each in sys.modules if each.startswith('opentelemetry')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)

    assert done.stdout.strip() == "[]"


def test_a_collector_without_the_extra_is_refused_with_what_to_install():
    code = (
        "import sys; sys.modules['opentelemetry'] = None; from codecompass.cli.traces import opened_traces\n"
        "from codecompass.settings import TraceSettings\n"
        "with opened_traces(TraceSettings(endpoint='http://127.0.0.1:9/v1/traces'), 'codecompass-server'): pass"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)

    assert done.returncode != 0
    assert "pip install 'codecompass[traces]'" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize("endpoint", ["collector:4318", "ftp://collector", "http://", "http://[::1"])
def test_what_is_no_address_of_a_collector_is_refused(endpoint: str):
    with (
        pytest.raises(InvalidInput, match=r"no http:// or https:// URL\. Collectors listen at"),
        opened_traces(TraceSettings(endpoint=endpoint), "codecompass-server"),
    ):
        pass
