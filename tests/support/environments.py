"""Virtual environments for clients that cannot be installed in the test environment."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import platformdirs
import pytest

OLDER_CLIENT = "mcp[ws]==1.30.0"
"""The newest 1.x release of the official client; hosts of the handshake era are built on 1.x."""

INSTALL_SECONDS = 240


def python_with(requirement: str) -> Path:
    """Returns the Python of an environment with one requirement installed, cached in the user's cache directory. Blocking.

    If it cannot be installed, skips the test, or fails it in CI.
    """
    name = hashlib.sha256(f"{requirement} {sys.version}".encode()).hexdigest()[:16]
    cache = platformdirs.user_cache_path("codecompass-tests", ensure_exists=True)
    made = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / ".ready").exists():
            shutil.rmtree(made, ignore_errors=True)
            venv.create(made, with_pip=True)
            install = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement]
            done = subprocess.run(install, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False)
            if done.returncode:
                if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
                    pytest.fail(f"{requirement} is required here: {done.stderr}")
                pytest.skip(f"{requirement} cannot be installed: {done.stderr}")
            (made / ".ready").touch()
    return made / "bin" / "python"
