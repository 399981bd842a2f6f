import structlog
import trio

from codecompass.actors.failures import LONGEST_PAUSE_SECONDS, run_again_after_failure


class Failing:
    """Fails a number of times, then returns."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.begun_at: list[float] = []

    async def __call__(self) -> None:
        self.begun_at.append(trio.current_time())
        if len(self.begun_at) <= self.failures:
            raise RuntimeError("a defect")


async def test_a_failing_chore_is_done_again_after_growing_pauses(autojump_clock):
    chore = Failing(9)

    with structlog.testing.capture_logs() as logs:
        await run_again_after_failure("sweeping", chore)

    pauses = [after - before for before, after in zip(chore.begun_at, chore.begun_at[1:], strict=False)]
    assert [round(pause) for pause in pauses] == [1, 2, 4, 8, 16, 32, 60, 60, LONGEST_PAUSE_SECONDS]
    assert [(entry["event"], entry["work"]) for entry in logs] == [("background_work_failed", "sweeping")] * 9


async def test_a_chore_that_returns_is_done():
    chore = Failing(0)

    await run_again_after_failure("sweeping", chore)

    assert len(chore.begun_at) == 1


async def test_a_cancelled_chore_ends(autojump_clock):
    with trio.move_on_after(5) as scope:
        await run_again_after_failure("waiting", trio.sleep_forever)

    assert scope.cancelled_caught
