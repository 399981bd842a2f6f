"""The command line by which a host starts this program: it works in any directory, and without a shell."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codecompass.units import SECONDS

PROGRAM: Final = "codecompass"

SHELL_SECONDS: Final = 5 * SECONDS
"""How long a login shell may take to find this program. The user's start-up files can do anything."""


def installed_command() -> tuple[str, ...]:
    """Returns the command of this installation, by absolute path.

    The path it was called by is preferred: a link survives an upgrade, its target may not. Without an installed command
    it is the interpreter, with -P so that modules in the current directory are not loaded.
    """
    called = Path(sys.argv[0])
    if called.name == PROGRAM:
        found = shutil.which(sys.argv[0])
        if found is not None:
            return (os.path.abspath(found),)
    beside = Path(sys.executable).parent / PROGRAM
    if os.access(beside, os.X_OK):
        return (str(beside.absolute()),)
    return (sys.executable, "-P", "-m", PROGRAM)


def portable_command(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the bare name if a login shell finds this installation by it, else what `installed_command` returns.

    For files that are shared with other machines.
    """
    command = installed_command()
    shell = environment.get("SHELL")
    if len(command) > 1 or not shell:
        return command
    try:
        told = subprocess.run(
            [shell, "-lc", f"command -v {PROGRAM}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SHELL_SECONDS,
            check=False,
            # Only the variables that a session starts with: those that this shell has added are not set elsewhere.
            env={name: environment[name] for name in ("HOME", "USER", "LOGNAME", "SHELL") if name in environment},
        )
    except (OSError, subprocess.TimeoutExpired):
        return command
    lines = os.fsdecode(told.stdout).split("\n")
    found = next((line for line in reversed(lines) if line.startswith("/")), None)
    if found is not None and os.path.realpath(found) == os.path.realpath(command[0]):
        return (PROGRAM,)
    return command
