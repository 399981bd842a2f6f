"""How much one viewer may ask of a server: what is refused, what the refusal says, and that others are not concerned."""

from contextlib import ExitStack

import pytest
import trio
from structlog.testing import capture_logs

from codecompass.cluster.access import viewer_limits
from codecompass.cluster.access.viewer_limits import TooManyRequests, ViewerLimits
from codecompass.cluster.access.visibility import Viewer
from codecompass.settings import AccessSettings
from tests.cluster.organisation import serving_library
from tests.cluster.test_library_server import closed_port, settings_at
from tests.transport.http.client import ask, call
from tests.transport.http.test_metrics import samples

ADA, BEN = Viewer("ada", frozenset()), Viewer("ben", frozenset())


def limits(per_minute: int = 0, at_once: int = 0) -> ViewerLimits:
    return ViewerLimits(AccessSettings(max_requests_per_minute=per_minute, max_concurrent_requests=at_once))


def ask_once(of: ViewerLimits, viewer: Viewer) -> None:
    with of.admitted(viewer):
        pass


def refused(of: ViewerLimits, viewer: Viewer) -> TooManyRequests:
    with pytest.raises(TooManyRequests) as raised:
        ask_once(of, viewer)
    return raised.value


async def test_a_minutes_questions_may_come_at_once_and_the_next_says_how_long_to_wait(mock_clock):
    of = limits(per_minute=120)
    for _ in range(120):
        ask_once(of, ADA)

    error = refused(of, ADA)

    assert (error.data["limit"], error.data["retry_after_ms"], error.is_retryable) == ("rate", 500, True)
    assert "120 questions a minute" in error.message
    assert "500 ms" in error.message
    mock_clock.jump(error.data["retry_after_ms"] / 1000)
    ask_once(of, ADA)
    assert refused(of, ADA).data["limit"] == "rate"


async def test_what_is_not_asked_is_not_saved_for_longer_than_a_minute(mock_clock):
    of = limits(per_minute=2)
    ask_once(of, ADA)
    mock_clock.jump(3_600)

    ask_once(of, ADA)
    ask_once(of, ADA)
    refused(of, ADA)


async def test_questions_at_the_same_time_are_bounded_until_one_of_them_ends():
    of = limits(at_once=2)
    with ExitStack() as first:
        first.enter_context(of.admitted(ADA))
        with of.admitted(ADA):
            error = refused(of, ADA)
        ask_once(of, ADA)

    assert error.data == {"limit": "concurrency", "retry_after_ms": 1_000}
    assert "Wait for one of their answers" in error.message


async def test_a_question_that_fails_is_not_under_way_any_more():
    of = limits(at_once=1)
    with pytest.raises(ZeroDivisionError), of.admitted(ADA):
        raise ZeroDivisionError

    ask_once(of, ADA)


async def test_a_refused_question_costs_none_of_the_next_minute(mock_clock):
    of = limits(per_minute=60, at_once=1)
    with of.admitted(ADA):
        for _ in range(100):
            refused(of, ADA)

    for _ in range(59):
        ask_once(of, ADA)
    assert refused(of, ADA).data["limit"] == "rate"


async def test_one_viewer_has_no_influence_on_another_and_no_limit_is_none():
    of = limits(per_minute=1)
    ask_once(of, ADA)
    refused(of, ADA)

    ask_once(of, BEN)
    with ExitStack() as many:
        for _ in range(1_000):
            many.enter_context(limits().admitted(ADA))


async def test_only_so_many_viewers_are_counted_and_none_with_questions_under_way_is_forgotten(monkeypatch):
    monkeypatch.setattr(viewer_limits, "MAX_VIEWERS", 2)
    of = limits(at_once=1)
    with of.admitted(ADA):
        for number in range(10):
            ask_once(of, Viewer(f"viewer-{number}", frozenset()))
        assert refused(of, ADA).data["limit"] == "concurrency"

    assert [each.samples for each in of.metrics() if each.name == "codecompass_viewers"] == [(({}, 2.0),)]


async def test_a_server_refuses_what_is_too_much_and_counts_it(tmp_path):
    """The engine is away: a question that is admitted gets another error."""
    access = {"trusted_proxies": ("127.0.0.1/32",), "user_header": "X-User", "max_requests_per_minute": 1}
    with closed_port() as port, capture_logs() as logs:
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0, has_metrics_port=True) as served:

            async def code(user: str) -> dict:
                answer = await ask(served.port, "POST", "/", call("list_refs", {"workspace": "alpha"}), x_user=user)
                return answer.said()["error"]

            with trio.fail_after(60):
                first, second, other = await code("ada"), await code("ada"), await code("ben")
            page = samples((await ask(served.metrics_port, "GET", "/metrics")).body.decode())

    assert [each["code"] for each in (first, second, other)] == ["engine_unavailable", "too_many_requests", "engine_unavailable"]
    assert second["data"]["retry_after_ms"] > 1_000
    assert "Wait, then ask again" in second["message"]
    assert page["codecompass_refused_total", 'limit="rate"'] == 1
    assert page["codecompass_refused_total", 'limit="concurrency"'] == 0
    assert page["codecompass_viewers", None] == 2
    assert [each["outcome"] for each in logs if each["event"] == "audit"] == [
        "engine_unavailable",
        "too_many_requests",
        "engine_unavailable",
    ]
