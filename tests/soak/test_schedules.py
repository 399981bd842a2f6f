"""The actor layer under random schedules, and proof that they detect defects."""

from collections.abc import Callable

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors import supervisor
from codecompass.actors.child_lifecycle import to_retire
from codecompass.actors.messages import Envelope, Mailbox
from tests.soak.schedules import run_seed
from tests.support.fake_workbench import FakeWorkbench

pytestmark = pytest.mark.soak

N_SEEDS = 50
"""In CI; `make soak` multiplies it by 20, which makes 1,000."""

FIRST_SEED = 0

FOR_EVER_SECONDS = 1e9

Fault = Callable[[pytest.MonkeyPatch], None]


def skips_the_drain(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Mailbox, "drain", lambda _mailbox, _error: 0)


def answers_twice(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Envelope, "is_answered", False)


def keeps_the_writer(patch: pytest.MonkeyPatch) -> None:
    async def close(_bench: FakeWorkbench) -> None:
        await trio.lowlevel.checkpoint()

    patch.setattr(FakeWorkbench, "close", close)


def evicts_a_busy_child(patch: pytest.MonkeyPatch) -> None:
    def retire_any(residents, **limits):
        return to_retire([replace(each, is_idle=True) for each in residents], **limits)

    patch.setattr(supervisor, "to_retire", retire_any)


def loses_a_restart(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(supervisor, "restart_pause", lambda _crashes, _now: FOR_EVER_SECONDS)


@pytest.mark.invariant("The actors keep their guarantees under every schedule of requests, crashes and cancellations")
@pytest.mark.invariant(of="tests/actors/test_job_queue.py")
def test_every_invariant_holds_under_every_schedule(soak_scale):
    run_seeds(N_SEEDS * soak_scale)


@pytest.mark.invariant(of="test_every_invariant_holds_under_every_schedule")
@pytest.mark.parametrize("fault", [skips_the_drain, answers_twice, keeps_the_writer, evicts_a_busy_child, loses_a_restart])
def test_schedules_catch_an_actor_layer_that(fault: Fault, monkeypatch):
    fault(monkeypatch)

    with pytest.raises((AssertionError, ExceptionGroup)) as caught:
        run_seeds(N_SEEDS)

    found = caught.value
    assert isinstance(found, AssertionError) or found.subgroup(AssertionError), found


def run_seeds(n_seeds: int) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + n_seeds):
        assert run_seed(seed)["answered"], f"seed {seed}: nothing was ever answered"
