"""Revises an existing entry: what stays, and what has to change for it to start our server.

An entry that `setup` did not write is the user's. Its arguments, variables, time limits and unknown members stay. The command
changes if it does not exist or is another installation's, an option if it was given now. An entry that cannot start our server
is replaced as a whole.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from codecompass.cli.hosts.launch_command import PROGRAM
from codecompass.cli.hosts.supported_hosts import Launch, Shape

SERVE = "serve-mcp"


class Request(Struct, frozen=True, kw_only=True):
    """The wanted entry of the server.

    `asked` are the options of `serve-mcp` that the user gave, with their values, `general` those before `serve-mcp`. `members`
    are further members of the entry.
    """

    launch: Launch
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    general: tuple[tuple[str, tuple[str, ...]], ...] = ()
    members: Mapping[str, object] = {}

    def entry(self, shape: Shape) -> dict[str, object]:
        """Returns the entry in a host's shape."""
        return {**shape.entry(self.launch), **self.members}


class Revision(Struct, frozen=True, kw_only=True):
    """The new entry. `changes` says what differs, `kept` names members that stay, `replaced` is the old entry if none does."""

    entry: Mapping[str, object]
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: object = None


def revised(present: object, request: Request, shape: Shape, search_path: str | None) -> Revision:
    """Returns the revision of the user's entry. Its command is looked up in `search_path`, the value of PATH."""
    wanted = request.entry(shape)
    launch = shape.launch(present) if isinstance(present, Mapping) else None
    if launch is None or not isinstance(present, Mapping):
        return Revision(entry=wanted, replaced=present, changes=("replaced an entry that does not start a process",))
    changes: list[str] = []
    program, arguments = launch.program, launch.arguments
    problem = _problem(program, arguments, request.launch, search_path)
    is_ours = Path(program).name == PROGRAM
    front = _front(request.launch.arguments)
    if problem is not None and not is_ours:
        # A wrapper that does not exist: its own arguments cannot be told from ours.
        return Revision(entry=wanted, replaced=present, changes=(f"replaced an entry whose command {problem}: {program}",))
    if is_ours and SERVE not in arguments:
        changes.append(f"arguments: {_shown(arguments)} does not serve; now {_shown(request.launch.arguments)}")
        arguments = request.launch.arguments
    if problem is not None:
        changes.append(f"command: {program} {problem}; now {request.launch.program}")
        program = request.launch.program
        if arguments[: len(front)] != front:
            arguments = (*front, *arguments)
    for option, values in request.general:
        arguments = _with_option(arguments, option, values, is_general=True, changes=changes)
    for option, values in request.asked:
        arguments = _with_option(arguments, option, values, is_general=False, changes=changes)
    entry = dict(present)
    if program != launch.program or arguments != launch.arguments:
        made = shape.entry(Launch(program=program, arguments=arguments))
        entry[shape.command] = made[shape.command]
        if shape.arguments and arguments != launch.arguments:
            entry[shape.arguments] = made[shape.arguments]
    for name, value in request.members.items():
        if name not in entry or entry[name] != value:
            changes.append(f"{name}: {'added' if name not in entry else 'changed'}")
            entry[name] = value
    touched = {name for name, value in entry.items() if name not in present or present[name] != value}
    return Revision(entry=entry, changes=tuple(changes), kept=tuple(name for name in present if name not in touched))


def _front(arguments: Sequence[str]) -> tuple[str, ...]:
    """Returns the arguments that make an interpreter run this program: `-P -m codecompass`."""
    return tuple(arguments[: arguments.index("-m") + 2]) if "-m" in arguments and PROGRAM in arguments else ()


def _problem(program: str, arguments: Sequence[str], wanted: Launch, search_path: str | None) -> str | None:
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
    skipping = False
    for argument in arguments:
        if skipping:
            had.append(argument)
            skipping = False
        elif argument == option:
            skipping = True
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
