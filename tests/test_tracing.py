"""What is recorded of a piece of work, and what becomes of it with a real collector: there, slow, away."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio
from structlog.testing import capture_logs

from codecompass import trace_export
from codecompass.errors import IndexNotReady, InvalidInput
from codecompass.settings import TraceSettings
from codecompass.trace_export import LEFT_OUT, MAX_SPANS, ExportedTraces
from codecompass.tracing import TraceSender, note, part, trace_sender, whole
from tests.support.collector import Collector, collector
from tests.support.live import free_port
from tests.support.waiting import until

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
PARENT = "00f067aa0ba902b7"
SAMPLED = TraceSender(f"00-{TRACE}-{PARENT}-01")


@pytest.fixture(autouse=True)
def hurried(monkeypatch):
    """Spans are sent at once."""
    monkeypatch.setattr(trace_export, "GATHER_SECONDS", 0.0)


@contextmanager
def recording(endpoint: str, **options) -> Iterator[ExportedTraces]:
    more = {"max_waiting": options.pop("max_waiting")} if "max_waiting" in options else {}
    traces = ExportedTraces(TraceSettings(endpoint=endpoint, **options), "codecompass-server", **more)
    try:
        yield traces
    finally:
        traces.close()


def by_name(there: Collector) -> dict:
    return {each.name: each for each in there.spans}


def test_parts_belong_to_the_whole_and_say_what_was_learned():
    with collector() as there:
        with recording(there.url) as traces, whole(traces, "search_code", None, {"a": "b"}):
            note({"n": 3})
            with part("engine", {"c": True}, kind="client"):
                note({"ratio": 0.5})
        found = by_name(there)

    request, engine = found["search_code"], found["engine"]
    assert (request.kind, request.parent, request.values) == ("server", "", {"a": "b", "n": 3})
    assert (engine.kind, engine.parent, engine.values) == ("client", request.span_id, {"c": True, "ratio": 0.5})
    assert engine.trace_id == request.trace_id
    assert request.service == "codecompass-server"
    assert traces.counts() == {"sent": 2, "queue_full": 0, "not_taken": 0}


async def test_tasks_and_threads_of_a_request_record_into_it_and_those_of_another_into_theirs():
    with collector() as there:
        with recording(there.url) as traces:

            def in_thread() -> None:
                with part("thread"):
                    pass

            async def request(name: str) -> None:
                with whole(traces, name):
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(trio.to_thread.run_sync, in_thread)

            async with trio.open_nursery() as nursery:
                nursery.start_soon(request, "one")
                nursery.start_soon(request, "other")
        found = there.spans

    parents = {each.parent for each in found if each.name == "thread"}
    assert parents == {each.span_id for each in found if each.name in ("one", "other")}
    assert len(parents) == 2


def test_without_a_whole_nothing_is_recorded():
    with collector() as there:
        with recording(there.url), whole(None, "search_code"), part("engine"):
            note({"n": 1})

        assert there.n_requests == 0


def test_the_trace_of_the_sender_is_continued():
    with collector() as there:
        with recording(there.url) as traces, whole(traces, "search_code", SAMPLED):
            pass
        found = by_name(there)["search_code"]

    assert (found.trace_id, found.parent) == (TRACE, PARENT)


@pytest.mark.parametrize("text", ["nonsense", f"00-{'0' * 32}-{PARENT}-01", f"00-{TRACE}-{PARENT}", "é" * 55])
def test_an_invalid_trace_of_the_sender_begins_a_new_one(text: str):
    with collector() as there:
        with recording(there.url) as traces, whole(traces, "search_code", TraceSender(text, "\x00=")):
            pass
        found = by_name(there)["search_code"]

    assert found.trace_id != TRACE
    assert found.parent == ""


def test_what_is_no_text_of_that_size_is_ignored():
    assert trace_sender(None, None) is None
    assert trace_sender(5, "a=b") is None
    assert trace_sender("x" * 201, "") is None
    assert trace_sender("x", "y" * 1_001) == TraceSender("x", "")
    assert trace_sender("x", "y") == TraceSender("x", "y")


def test_a_sample_is_recorded_and_the_sender_decides_about_its_own_traces():
    with collector() as there:
        with recording(there.url, sample_ratio=0.0) as traces:
            for number in range(50):
                with whole(traces, f"mine-{number}"), part("part"):
                    pass
            with whole(traces, "sampled", SAMPLED), part("part"):
                pass
            with whole(traces, "left out", TraceSender(f"00-{TRACE}-{PARENT}-00")), part("part"):
                pass

        assert sorted(each.name for each in there.spans) == ["part", "sampled"]


def test_about_the_given_part_of_all_requests_is_recorded():
    with collector() as there:
        with recording(there.url, sample_ratio=0.25) as traces:
            for _ in range(2_000):
                with whole(traces, "one"):
                    pass

        # Of a binomial distribution with p = .25, eight standard deviations on each side.
        assert 345 < len(there.spans) < 655


def test_failures_are_marked_and_those_of_the_asker_are_not_faults():
    def fail(traces: ExportedTraces, name: str, error: BaseException) -> None:
        with pytest.raises(type(error)), whole(traces, name):
            raise error

    with collector() as there:
        with recording(there.url) as traces:
            fail(traces, "not ready", IndexNotReady("later"))
            fail(traces, "wrong", InvalidInput("no"))
            fail(traces, "defect", ZeroDivisionError())
            fail(traces, "left", KeyboardInterrupt())
        found = by_name(there)

    assert {name: (each.values["error.type"], each.is_error) for name, each in found.items()} == {
        "not ready": ("index_not_ready", True),
        "wrong": ("invalid_input", False),
        "defect": ("ZeroDivisionError", True),
        "left": ("cancelled", False),
    }


def test_the_parts_of_a_request_are_bounded_and_those_left_out_are_counted():
    with collector() as there:
        with recording(there.url) as traces, whole(traces, "search_code"):
            for _ in range(MAX_SPANS + 40):
                with part("repository"), part("engine"):
                    pass
        found = there.spans

    assert len(found) == MAX_SPANS
    assert by_name(there)["search_code"].values[LEFT_OUT] == 2 * (MAX_SPANS + 40) + 1 - MAX_SPANS


async def test_while_the_collector_is_slow_the_queue_is_bounded_and_what_it_does_not_take_is_counted():
    with collector() as there:
        there.hold()
        with recording(there.url, max_waiting=10) as traces:
            with whole(traces, "first"):
                pass
            await until(lambda: there.n_requests == 1)

            # The thread that sends waits for the collector; no request does.
            for _ in range(25):
                with whole(traces, "later"):
                    pass
            dropped = traces.counts()["queue_full"]
            there.go_on()

    assert dropped == 15
    assert traces.counts() == {"sent": 11, "queue_full": 15, "not_taken": 0}
    assert len(there.spans) == 11


async def test_what_the_collector_refuses_is_counted_and_said_once_a_minute():
    with collector() as there, capture_logs() as logged:
        there.status = 400
        with recording(there.url) as traces:
            for n_refused in range(1, 4):
                with whole(traces, "one"):
                    pass
                await until(lambda n_refused=n_refused: traces.counts()["not_taken"] == n_refused)

    assert traces.counts() == {"sent": 0, "queue_full": 0, "not_taken": 3}
    assert [each["event"] for each in logged] == ["traces_not_sent"]


async def test_a_collector_that_is_away_costs_its_spans_and_the_end_of_the_process_does_not_wait_for_it(monkeypatch):
    monkeypatch.setattr(trace_export, "CLOSE_SECONDS", 0.01)
    with recording(f"http://127.0.0.1:{free_port()}/v1/traces") as traces:
        for _ in range(5):
            with whole(traces, "one"):
                pass

    await until(lambda: traces.counts()["not_taken"] == 5)
    assert traces.counts()["sent"] == 0
