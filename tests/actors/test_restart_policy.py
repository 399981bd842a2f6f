from codecompass.actors.restart_policy import LONGEST_PAUSE_SECONDS, MAX_RESTARTS, WITHIN_SECONDS, GiveUp, Restart, after_crash


def test_the_first_crash_is_followed_by_a_short_pause():
    decision = after_crash([100.0], 100.0)

    assert isinstance(decision, Restart)
    assert decision.pause < 0.1


def test_pauses_grow_with_each_crash_up_to_a_bound():
    pauses = [after_crash([0.0] * n, 0.0).pause for n in range(1, MAX_RESTARTS + 1)]

    assert pauses == sorted(pauses)
    assert pauses[-1] > pauses[0]
    assert max(pauses) <= LONGEST_PAUSE_SECONDS


def test_one_crash_more_than_the_intensity_allows_is_given_up():
    crashes = [float(n) for n in range(MAX_RESTARTS + 1)]

    assert isinstance(after_crash(crashes[:-1], crashes[-2]), Restart)
    assert isinstance(after_crash(crashes, crashes[-1]), GiveUp)


def test_crashes_of_long_ago_do_not_count():
    crashes = [0.0] * MAX_RESTARTS + [WITHIN_SECONDS + 1]

    assert after_crash(crashes, WITHIN_SECONDS + 1) == after_crash([0.0], 0.0)
