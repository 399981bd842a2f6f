"""An entry that is there already: what of it stays, and what has to change for it to start our server.

An entry that `setup` did not write is its user's. Its arguments, variables, time limits and unknown members stay; changed is
the command where it is gone or is another installation's, and an option that was asked for now. What cannot start our server
in any way is replaced as a whole.
"""

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from codecompass.cli.hosts.known import Launch, Shape
from codecompass.cli.hosts.launch_command import PROGRAM

SERVE = "serve-mcp"


class Request(Struct, frozen=True, kw_only=True):
    """What the server's entry should be. `asked` are options of `serve-mcp` that were asked for by name, with their values.

    `general` are those in front of `serve-mcp`. `members` are members of the entry besides those of its launch.
    """

    launch: Launch
    asked: tuple[tuple[str, tuple[str, ...]], ...] = ()
    general: tuple[tuple[str, tuple[str, ...]], ...] = ()
    members: Mapping[str, object] = {}

    def entry(self, shape: Shape) -> dict[str, object]:
        """Returns the entry in a host's shape."""
        return {**shape.entry(self.launch), **self.members}


class Revision(Struct, frozen=True, kw_only=True):
    """The entry as it will be. `changes` says what is different; `replaced` is the old one where none of it stays."""

    entry: Mapping[str, object]
    changes: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()
    replaced: object = None


def revised(present: object, request: Request, shape: Shape, search_path: str | None) -> Revision:
    """Returns what becomes of an entry of the user's. `search_path` is where the command of the entry is looked for."""
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
        # A wrapper that is gone: nothing says which of its arguments were for the wrapper.
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
    """What makes an interpreter run us: `-P -m codecompass`."""
    return tuple(arguments[: arguments.index("-m") + 2]) if "-m" in arguments and PROGRAM in arguments else ()


def _problem(program: str, arguments: Sequence[str], wanted: Launch, search_path: str | None) -> str | None:
    """Why the command cannot stay; None where it can, or where nobody here can tell."""
    if any(sign in program for sign in "$~%{") or (os.path.dirname(program) and not os.path.isabs(program)):
        return None  # the host fills that in, or starts it in a directory of its own
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
    """Gives an option these values, in the place of those that it has."""
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
