"""The command line that a host has to run: one that works from any directory, without a shell and its settings."""

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
"""How long a login shell may take to say where it finds us. Its start-up files are the user's, and can do anything."""


def installed_command() -> tuple[str, ...]:
    """Returns the command of this installation, by absolute path.

    The name it was called by comes first: a link in a directory of the user's survives an upgrade, what it points to may not.
    Without an installed command it is the interpreter, told not to look for modules where it is started.
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
    """Returns the bare name where a login shell finds this installation by it, else what `installed_command` returns.

    For files that other people's machines read too.
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
            # Of the variables only those that a session begins with: what this shell has added is not there elsewhere.
            env={name: environment[name] for name in ("HOME", "USER", "LOGNAME", "SHELL") if name in environment},
        )
    except (OSError, subprocess.TimeoutExpired):
        return command
    lines = os.fsdecode(told.stdout).split("\n")
    found = next((line for line in reversed(lines) if line.startswith("/")), None)
    if found is not None and os.path.realpath(found) == os.path.realpath(command[0]):
        return (PROGRAM,)
    return command
