"""The limit of CPU time in a worker."""

import signal

import pytest

from codecompass.worker import parsing
from codecompass.worker.parsing import CpuTimeExceeded, interrupting_limit


def test_a_signal_at_the_very_end_of_a_limited_block_leaves_nothing_behind(monkeypatch):
    """Otherwise the handler would stay installed and interrupt later code."""
    set_timer = signal.setitimer
    before = signal.getsignal(signal.SIGVTALRM)

    def signal_first(which, seconds):
        if seconds == 0:
            signal.raise_signal(signal.SIGVTALRM)
        return set_timer(which, seconds)

    monkeypatch.setattr(parsing.signal, "setitimer", signal_first)

    with interrupting_limit(60):
        pass

    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0


def test_a_block_that_takes_too_long_is_interrupted():
    def spin():
        with interrupting_limit(0.01):
            while True:
                pass

    with pytest.raises(CpuTimeExceeded):
        spin()

    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0
