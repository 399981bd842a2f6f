"""The actor layer under random schedules, and proof that these schedules would notice if it were broken."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import codecompass
from tests.soak.schedules import run_seed

pytestmark = pytest.mark.soak

N_SEEDS = 50
"""In CI; `make soak` multiplies it by 20, which makes 1,000."""

FIRST_SEED = 0

FAULTS = {
    "skips the drain": ("supervisor.py", "            child.mailbox.drain(crashed_error())\n", ""),
    "answers twice": (
        "workspace.py",
        "                self._in_flight -= 1\n                if not envelope.is_answered:\n",
        "                self._in_flight -= 1\n                if True:\n",
    ),
    "keeps the writer": ("workspace.py", "            await bench.close()\n", "            pass\n"),
    "evicts a busy child": ("residency.py", "        if resident.is_idle:\n", "        if True:\n"),
    "loses a restart": ("supervisor.py", '        child.move("starting")\n        return False\n', "        return True\n"),
}


def test_every_invariant_holds_under_every_schedule(soak_scale):
    for seed in range(FIRST_SEED, FIRST_SEED + N_SEEDS * soak_scale):
        assert run_seed(seed)["answered"], f"seed {seed}: nothing was ever answered"


@pytest.mark.parametrize("fault", FAULTS)
def test_schedules_catch_an_actor_layer_that(fault, tmp_path):
    module, sound, broken = FAULTS[fault]
    package = tmp_path / "codecompass"
    shutil.copytree(Path(codecompass.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    repository = Path(__file__).parents[2]
    shutil.copytree(repository / "tests", tmp_path / "tests", ignore=shutil.ignore_patterns("__pycache__", "testdata"))
    source = (package / "actors" / module).read_text()
    assert source.count(sound) == 1, "the fault no longer fits the code"
    (package / "actors" / module).write_text(source.replace(sound, broken))

    run = subprocess.run(
        [sys.executable, "-m", "tests.soak.schedules", "0", str(N_SEEDS)],
        cwd=tmp_path,
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert run.returncode != 0, f"{N_SEEDS} seeds passed over an actor layer that {fault}"
    assert "AssertionError" in run.stderr or "never answered" in run.stderr, run.stderr[-2000:]
