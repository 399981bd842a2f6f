"""The measurement of answer sizes."""

from random import Random

import pytest
import trio

from bench.quality.sizes import compact_shares, random_budgets, vocabularies
from codecompass.protocol.metadata import AnswerState
from tests.query.project import FILES

STATE = AnswerState(workspace="/home/me/shop", project_id="0123456789abcdef", ref="main")


@pytest.fixture
def snapshot(workspace):
    functions = "".join(
        f"def order_{number}(customer):\n    '''Order of a customer.'''\n    return {number}\n\n\n" for number in range(6)
    )
    workspace.write({**FILES, "orders.py": functions})
    trio.run(workspace.sync)
    with workspace.index.snapshot() as snapshot:
        yield snapshot


def test_budgets_are_kept_refused_or_told_as_exceeded(snapshot):
    kept = random_budgets(snapshot, STATE, ["rate limiter"], Random(1), 40, vocabularies())
    told = random_budgets(snapshot, STATE, ["rate limiter"], Random(1), 40, {"one token a character": len})

    assert (kept.exceeded, kept.answers + kept.refused) == (0, 40)
    assert kept.answers > 10
    assert kept.refused > 5
    assert max(kept.of_promised) <= 1.0
    assert told.exceeded > 0


def test_only_pages_full_of_functions_are_compared(snapshot):
    shares = compact_shares(snapshot, STATE, ["order of a customer", "no such words anywhere zebra"])

    assert len(shares) == 1
    assert 0.1 < shares[0] < 0.8
