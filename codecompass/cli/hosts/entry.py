"""The entry that starts our server: the command line in it, which works in any directory and without a shell; and the revision
of an existing entry, what stays in it and what has to change for it to start our server.

An entry that `setup` did not write is the user's. Its arguments, variables, time limits and unknown members stay. The command
changes if it does not exist or is another installation's, an option if it was given now. An entry that cannot start our server
is replaced as a whole.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.cli.hosts.supported_hosts import EntryShape, LaunchForm
from codecompass.units import SECONDS

PROGRAM: Final = "codecompass"
SERVE: Final = "serve-mcp"

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


class WantedEntry(Struct, frozen=True, kw_only=True):
    """The wanted entry of the server.

    `asked` are the options of `serve-mcp` that the user gave, with their values, `general` those before `serve-mcp`. `members`
    are further members of the entry.
    """

    launch: LaunchForm
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    general: tuple[tuple[str, tuple[str, ...]], ...] = ()
    members: Mapping[str, object] = {}

    def entry(self, shape: EntryShape) -> dict[str, object]:
        """Returns the entry in a host's shape."""
        return {**shape.entry(self.launch), **self.members}


class Notes(Struct, frozen=True, kw_only=True):
    """What a user is told of an edit: `changes` of their value, what of it was `kept`, the whole if ours `replaced` it."""

    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: object = None


def revised(
    present: object, request: WantedEntry, shape: EntryShape, search_path: str | None
) -> tuple[Mapping[str, object], Notes]:
    """Returns the revised entry of the user. Its command is looked up in `search_path`, the value of PATH."""
    wanted = request.entry(shape)
    launch = shape.launch(present) if isinstance(present, Mapping) else None
    if launch is None or not isinstance(present, Mapping):
        return wanted, Notes(replaced=present, changes=("replaced an entry that does not start a process",))
    changes: list[str] = []
    program, arguments = launch.program, launch.arguments
    problem = _problem(program, arguments, request.launch, search_path)
    is_ours = Path(program).name == PROGRAM
    if problem is not None and not is_ours:
        # A wrapper that does not exist: its own arguments cannot be told from ours.
        return wanted, Notes(replaced=present, changes=(f"replaced an entry whose command {problem}: {program}",))
    if is_ours and SERVE not in arguments:
        changes.append(f"arguments: {_shown(arguments)} does not serve; now {_shown(request.launch.arguments)}")
        arguments = request.launch.arguments
    if problem is not None:
        changes.append(f"command: {program} {problem}; now {request.launch.program}")
        program, front = request.launch.program, _front(request.launch.arguments)
        if arguments[: len(front)] != front:
            arguments = (*front, *arguments)
    for option, values in (*request.general, *request.asked):
        arguments = _with_option(arguments, option, values, is_general=(option, values) in request.general, changes=changes)
    entry = dict(present)
    made = shape.entry(LaunchForm(program=program, arguments=arguments))
    if program != launch.program or arguments != launch.arguments:
        entry[shape.command] = made[shape.command]
    if shape.arguments and arguments != launch.arguments:
        entry[shape.arguments] = made[shape.arguments]
    for name, value in request.members.items():
        if name not in entry or entry[name] != value:
            changes.append(f"{name}: {'added' if name not in entry else 'changed'}")
            entry[name] = value
    kept = tuple(name for name in present if entry[name] == present[name])
    return entry, Notes(changes=tuple(changes), kept=kept)


def _front(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the arguments that make an interpreter run this program: `-P -m codecompass`."""
    return tuple(arguments[: arguments.index("-m") + 2]) if "-m" in arguments and PROGRAM in arguments else ()


def _problem(program: str, arguments: Sequence[str], wanted: LaunchForm, search_path: str | None) -> str | None:
    """Returns why the command cannot stay; None if it can, or if only the host can tell."""
    if any(sign in program for sign in "$~%{") or (os.path.dirname(program) and not os.path.isabs(program)):
        return None  # the host expands that, or resolves it in a directory of its own
    found = shutil.which(program, path=search_path)
    if found is None:
        return "does not exist" if os.path.isabs(program) else "is not on the PATH"
    if Path(program).name != PROGRAM:
        return None
    mine = shutil.which(wanted.program, path=search_path)
    return None if mine is not None and os.path.realpath(found) == os.path.realpath(mine) else "is another installation"


def _with_option(
    arguments: tuple[str, ...], option: str, values: tuple[str, ...], *, is_general: bool, changes: list[str]
) -> tuple[str, ...]:
    """Returns the arguments with the values of an option replaced, and describes the difference in `changes`."""
    kept: list[str] = []
    had: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument == option:
            had += [value for value in (next(rest, None),) if value is not None]
        elif argument.startswith(option + "="):
            had.append(argument.partition("=")[2])
        else:
            kept.append(argument)
    if tuple(had) == values:
        return arguments
    added = [word for value in values for word in (option, value)]
    at = kept.index(SERVE) if is_general and SERVE in kept else len(kept)
    changes.append(f"{option}: {_shown(had) if had else 'not there'}; now {_shown(values)}")
    return (*kept[:at], *added, *kept[at:])


def _shown(arguments: Sequence[str]) -> str:
    return " ".join(arguments) if arguments else "none"
