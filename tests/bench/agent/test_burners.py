"""The processes that keep the machine busy are gone afterwards."""

import os

import pytest

from bench.agent.burners import busy


def is_there(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_burners_run_while_the_block_runs_and_end_with_it_also_on_failure():
    with pytest.raises(KeyError), busy(2) as pids:  # noqa: PT012
        assert len(pids) == 2
        assert all(map(is_there, pids))
        raise KeyError

    assert not any(map(is_there, pids))


def test_none_is_a_number_of_burners():
    with busy(0) as pids:
        assert pids == ()
