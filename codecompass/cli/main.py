"""The entry point of the command line.

asyncclick parses in a coroutine that never waits, so it is run here without an event loop. A command that needs one starts
one itself.
"""

import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any

import asyncclick

from codecompass.cli import failure
from codecompass.cli.app import build_app
from codecompass.cli.terminal import Terminal
from codecompass.settings import read_environment, wants_color

PROGRAM = "codecompass"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit code: 0 done, 1 failed, 2 wrong usage, 3 not found or not indexed."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    environment = read_environment()
    _open_missing_streams()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Paths and lines of code may contain characters that the terminal's encoding lacks.
            stream.reconfigure(errors="backslashreplace")
    color = None if wants_color(environment) else False
    try:
        code = _run_without_loop(build_app().main(given, prog_name=PROGRAM, standalone_mode=False, color=color))
        sys.stdout.flush()
    except asyncclick.exceptions.NoArgsIsHelpError as error:
        error.show()
        return failure.WRONG_USAGE
    except asyncclick.ClickException as error:
        as_json = "--json" in given[: given.index("--") if "--" in given else None]
        return failure.report_wrong_usage(error.format_message(), _hint(error), Terminal(environment), as_json=as_json)
    except (asyncclick.Abort, KeyboardInterrupt) as error:
        if isinstance(error.__cause__, EOFError):
            return failure.FAILED
        return failure.INTERRUPTED
    except (BrokenPipeError, SystemExit):
        # asyncclick writes the help itself, and exits if the reader has closed the pipe.
        Terminal(environment).abandon_output()
        return failure.BROKEN_PIPE
    except OSError as error:
        # Writing the help failed, which `run_guarded` does not cover.
        known = failure.as_known(error)
        if known is None:
            raise
        terminal = Terminal(environment)
        terminal.abandon_output()
        return failure.report(known, terminal, as_json=False)
    return code if isinstance(code, int) else failure.DONE


def _open_missing_streams() -> None:
    """Opens the standard streams that the process was started without, before other files can get their descriptors."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - open until the process ends


def _run_without_loop(coroutine: Coroutine[Any, Any, Any]) -> object:
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: object = stop.value
        return result
    coroutine.close()
    raise RuntimeError("the command line waited for something while no event loop was running")


def _hint(error: asyncclick.ClickException) -> str:
    context = getattr(error, "ctx", None)
    return "" if context is None else f"Try: {context.command_path} --help"
