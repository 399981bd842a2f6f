"""The cost of a process includes its descendants."""

import sys

import pytest

from bench.measure import python, run

BUSY = "sum(number * number for number in range(3_000_000))"


def test_output_and_cost_of_a_process_are_told():
    finished = run(python("-c", f"{BUSY}; print('done')"))

    assert finished.stdout == b"done\n"
    assert finished.usage.cpu_seconds > 0
    assert finished.usage.wall_seconds > 0
    assert finished.usage.peak_rss > 1_000_000


def test_the_work_of_children_counts():
    alone = run(python("-c", "pass")).usage.cpu_seconds
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {BUSY!r}], check=True)"

    with_child = run(python("-c", code)).usage.cpu_seconds

    assert with_child > 2 * alone


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the memory of a running process this way")
def test_memory_of_all_processes_is_more_than_that_of_the_largest():
    hold = "import time; block = bytearray(60_000_000); time.sleep(2)"
    code = f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {hold!r}]); {hold}; child.wait()"

    usage = run(python("-c", code)).usage

    assert usage.peak_rss_all is not None
    assert usage.peak_rss_all > 100_000_000 > usage.peak_rss


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not show the memory of a running process this way")
def test_a_large_parent_does_not_make_its_child_look_large():
    """The kernel's peak memory of a child starts with that of its parent."""
    ballast = bytearray(150_000_000)

    usage = run(python("-c", "import time; time.sleep(0.5)")).usage

    assert usage.peak_rss < len(ballast) / 2
