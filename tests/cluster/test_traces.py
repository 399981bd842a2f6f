"""Traces of an organisation's server and of its workers, as a collector gets them."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from codecompass import trace_export
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.settings import TraceSettings
from codecompass.trace_export import ExportedTraces
from tests.cluster.git_remote import GitRemote
from tests.cluster.organisation import files_of, organisation, serving_library
from tests.cluster.working import until, working
from tests.support.collector import Collector, SeenSpan, collector
from tests.support.waiting import until as until_so
from tests.transport.http.client import ask, call

pytestmark = pytest.mark.cluster

NAMES = ("alpha", "beta", "shared", "public", "gamma", "delta")
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
HEADER = f"00-{TRACE}-00f067aa0ba902b7-01"


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Spans are sent at once."""
    monkeypatch.setattr(trace_export, "GATHER_SECONDS", 0.0)


@contextmanager
def recording(there: Collector, service: str, **options) -> Iterator[ExportedTraces]:
    traces = ExportedTraces(TraceSettings(endpoint=there.url, **options), service)
    try:
        yield traces
    finally:
        traces.close()


def within(there: Collector, whole: SeenSpan) -> list[SeenSpan]:
    """Returns the spans of a piece of work, itself included."""
    found = [whole]
    for each in found:
        found += [span for span in there.spans if span.parent == each.span_id]
    return found


async def test_a_question_to_all_shows_who_asked_what_was_chosen_and_what_each_part_waited_for(engine_cluster, tmp_path):
    with organisation(engine_cluster.urls, tmp_path / "house") as house, collector() as there:
        for name in NAMES:
            await house.publish(name, files_of(name), groups=["red"])
        token = house.tokens.add("anna", ["red"])
        with recording(there, "codecompass-server") as traces:
            async with serving_library(house.settings(), tmp_path / "cache", traces=traces) as served:
                asked = call("locate_symbol", {"name": "turn_alpha", "workspace": "*"})
                answer = await ask(
                    served.port,
                    "POST",
                    "/",
                    asked,
                    authorization=f"Bearer {token}",
                    traceparent=HEADER,
                    content_type="application/json",
                )
                outsider = await ask(served.port, "POST", "/", asked, authorization=f"Bearer {house.tokens.add('bob', ['blue'])}")
                [request, other] = await until_so(lambda: len(found := there.named("locate_symbol")) == 2 and found)
                page = (await ask(served.port, "GET", "/metrics", authorization=f"Bearer {token}")).body.decode()

        assert [each["project"] for each in answer.said()["results"]] == ["alpha"]
        assert request.trace_id == TRACE
        assert request.values["codecompass.viewer"] == "anna"
        assert len(request.values["codecompass.token"]) == 12
        assert "codecompass.query" not in request.values
        parts = within(there, request)
        [chosen] = [each for each in parts if each.name == "choose_repositories"]
        assert (chosen.values["codecompass.n_repositories"], chosen.values["codecompass.n_chosen"]) == (6, 1)
        answers = [each for each in parts if each.name == "answer"]
        assert [each.values["codecompass.repository"] for each in answers] == ["alpha"]
        assert "fetch_segments" in {each.name for each in within(there, answers[0])}
        engine = next(each for each in parts if each.name == "engine")
        assert (engine.kind, engine.values["db.system.name"]) == ("client", "opensearch")
        assert "codecompass_trace_spans_total" in page
        assert 'codecompass_cache_uses_total{files="fetched"}' in page
        assert "codecompass_store_read_bytes_total" in page
        # What another viewer may not see is not in the trace of that viewer's question either.
        assert outsider.said()["error"]["code"] == other.values["error.type"] == "project_not_found"
        assert not other.is_error
        assert not [each for each in within(there, other) if "codecompass.repository" in each.values]


async def test_the_turn_of_a_worker_shows_its_parts_and_a_failed_one_how_it_ended(engine, repositories, tmp_path):
    remote = GitRemote(tmp_path / "origin")
    remote.push({"a.py": "def one():\n    pass\n"})
    good = repositories.add(remote.url).repository
    bad = repositories.add(f"{remote.url}-missing").repository
    with collector() as there:
        with recording(there, "codecompass-worker") as traces:
            measures = WorkerMeasures(traces)
            async with working(engine, tmp_path / "home", measures=measures, traces=traces):
                await until(repositories, good.repo_id, lambda now: now is not None and bool(now.heads))
                await until(repositories, bad.repo_id, lambda now: now is not None and now.failures > 0)
                await until_so(lambda: measures.counted("turn", "failed") and measures.counted("turn", "done"))
        turns = {each.values["codecompass.repository"]: each for each in there.named("turn")}
        done, failed = turns[good.name], turns[bad.name]
        parts = [each for each in there.spans if each.parent == done.span_id]

    assert (done.service, done.values["codecompass.outcome"], failed.values["codecompass.outcome"]) == (
        "codecompass-worker",
        "done",
        "failed",
    )
    names = [each.name for each in parts if each.name != "engine"]
    assert names == ["list_remote", "fetch", "index", "write", "publish"]
    [indexed] = [each for each in parts if each.name == "index"]
    assert indexed.values["codecompass.files_changed"] == 1
    assert "codecompass_trace_spans_total" in measures.page(0.0).decode()
