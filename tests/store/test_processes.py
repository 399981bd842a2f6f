"""A process is told from a later one with the same number."""

import os
import subprocess
import sys

from codecompass.store.lock import ProcessMark, is_alive, this_process


def test_the_calling_process_is_alive():
    assert this_process().pid == os.getpid()
    assert this_process().started
    assert is_alive(this_process())


def test_a_process_that_ended_is_not():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert not is_alive(ProcessMark(process.pid, ""))


def test_another_process_with_the_same_number_is_not_the_one():
    assert not is_alive(ProcessMark(os.getpid(), "another time"))


def test_a_number_that_no_process_can_have_is_not_alive():
    assert not is_alive(ProcessMark(10**18, ""))
