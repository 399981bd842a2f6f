"""Runs Python code in a separate process, under limits that cannot be lifted again."""

import ctypes
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]

PR_CAPBSET_DROP = 24
CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH = 1, 2


def run_python(
    code: str, *arguments: str, timeout: float = 120, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Runs `code` with `arguments` in sys.argv[1:], subject to file permissions even as root; ignores its exit status."""
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=ROOT,
        env=environment,
        check=False,
        preexec_fn=obey_permissions,
    )


def obey_permissions() -> None:
    """Drops root's capability to bypass file permissions, so that access denied by a mode fails as for any user."""
    if sys.platform == "linux" and os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH):
            libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)
