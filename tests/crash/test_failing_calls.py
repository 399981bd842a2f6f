"""An error of any system call of a publication leaves the old state or the new one, and the next publication succeeds.

The calls of all libraries are counted and made to fail by a small library in C, in a process of its own.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.failing_writer import WAYS
from tests.support.processes import ROOT

SOURCE = ROOT / "tests/support/failing_calls.c"
SECONDS = 1_200
STEP_IN_CI = 12
"""Every twelfth call in CI, from another one for each way, and those that make something durable; all with `make soak`."""

pytestmark = pytest.mark.timeout(SECONDS + 60)


@pytest.fixture(scope="module")
def failing_calls(tmp_path_factory) -> Path:
    compiler = shutil.which("cc")
    if compiler is None or sys.platform != "linux":
        pytest.skip("needs a C compiler and Linux")
    library = tmp_path_factory.mktemp("library") / "failing_calls.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(SOURCE), "-ldl"], check=True)
    return library


@pytest.mark.invariant(
    "An error of any system call of a publication (indexes, forks, registry, vectors) leaves the old state or the new"
    " one, and the next one succeeds"
)
@pytest.mark.parametrize("way", WAYS)
def test_a_failing_system_call_leaves_the_old_state_or_the_new_one(way, failing_calls, tmp_path, repetitions):
    first = 1 + list(WAYS).index(way)
    step = repetitions(STEP_IN_CI, 1)
    done = subprocess.run(
        [sys.executable, "-m", "tests.crash.failing_writer", way, str(tmp_path), str(step), str(first if step > 1 else 1)],
        cwd=ROOT,
        env={**os.environ, "LD_PRELOAD": str(failing_calls)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )

    *broken, counted = map(json.loads, done.stdout.splitlines() or ["{}"])
    assert broken == [], done.stderr[-4000:]
    assert counted.get("n_calls", 0) > first, done.stderr[-4000:]
