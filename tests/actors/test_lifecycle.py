import pytest

from codecompass.actors.observation import LEGAL_STEPS, step


def test_a_legal_step_is_taken():
    assert step("starting", "running") == "running"


@pytest.mark.parametrize(("current", "following"), [("stopped", "running"), ("draining", "running"), ("failed", "running")])
def test_an_illegal_step_is_a_defect(current, following):
    with pytest.raises(AssertionError):
        step(current, following)


def test_every_state_can_be_left_towards_the_end():
    reachable = {"stopped"}
    while True:
        more = {state for state, following in LEGAL_STEPS.items() if following & reachable} | reachable
        if more == reachable:
            break
        reachable = more

    assert reachable == set(LEGAL_STEPS)
