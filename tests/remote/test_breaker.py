"""When a service that has failed is asked again."""

from codecompass.remote.breaker import LONGEST_PAUSE_SECONDS, Breaker


async def test_pauses_double_up_to_a_minute_and_a_success_ends_them(mock_clock):
    breaker = Breaker[str](1.0)
    pauses = []
    for _ in range(8):
        breaker.failed("no answer")
        pauses.append(breaker.seconds_left)
        mock_clock.jump(breaker.seconds_left)
        assert breaker.seconds_left == 0

    assert pauses == [1, 2, 4, 8, 16, 32, 60, LONGEST_PAUSE_SECONDS]
    breaker.succeeded()
    assert breaker.failure is None
    breaker.failed("no answer")
    assert breaker.seconds_left == 1


async def test_a_failure_during_a_pause_does_not_prolong_it(mock_clock):
    breaker = Breaker[str](10.0)
    breaker.failed("first")
    mock_clock.jump(4)

    breaker.failed("sent before the pause")

    assert (breaker.seconds_left, breaker.failure) == (6, "sent before the pause")


async def test_only_a_request_after_a_failure_is_a_trial(mock_clock):
    breaker = Breaker[str](1.0)
    with breaker.trying():
        assert not breaker.is_tried
        breaker.failed("no answer")
    with breaker.trying():
        assert breaker.is_tried
        breaker.succeeded()
    assert not breaker.is_tried
