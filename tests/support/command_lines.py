"""Whether the program knows the commands and options of a command line, without running it."""

import shlex

import asyncclick
import trio

from codecompass.cli.main import build_app


def require_known(line: str) -> None:
    """Parses a command line as the program does. Raises UsageError."""
    trio.run(_require_known, line)


async def _require_known(line: str) -> None:
    program, *arguments = shlex.split(line)
    command: asyncclick.Command = build_app()
    context = await command.make_context(program, arguments)
    while isinstance(command, asyncclick.Group):
        name, command, left = await command.resolve_command(context, [*context._protected_args, *context.args])
        assert command is not None, line
        context = await command.make_context(name, list(left), parent=context)
