"""How a command ends: exit codes, and errors as text or JSON."""

import os
from typing import Final

from codecompass.cli.terminal import GONE_DIRECTORY, Terminal, printable, working_directory
from codecompass.errors import (
    CodeCompassError,
    ErrorBody,
    FileNotFound,
    FileUnreadable,
    IndexNotReady,
    InternalError,
    InvalidInput,
    InvalidMaxTokens,
    InvalidStrategy,
    ProjectNotFound,
    RefNotIndexed,
    SymbolNotFound,
    WorkspaceNotRegistered,
    cause_of,
    causes,
    error_body,
)
from codecompass.hints import for_people

DONE: Final = 0
FAILED: Final = 1
WRONG_USAGE: Final = 2
NOT_FOUND: Final = 3
"""Not found, or not indexed."""

BROKEN_PIPE: Final = 141
INTERRUPTED: Final = 130
"""What a shell reports for a program killed by SIGPIPE or SIGINT: 128 plus the signal."""

MAX_MESSAGE_LENGTH: Final = 1_000
"""Maximum length of a message about a wrong command line, in characters."""

_WRONG_USAGE: Final = (InvalidInput, InvalidStrategy, InvalidMaxTokens)
_NOT_FOUND: Final = (
    ProjectNotFound,
    WorkspaceNotRegistered,
    IndexNotReady,
    RefNotIndexed,
    SymbolNotFound,
    FileNotFound,
)


def exit_code(error: CodeCompassError) -> int:
    """Returns the exit code for the kind of error."""
    if isinstance(error, _WRONG_USAGE):
        return WRONG_USAGE
    return NOT_FOUND if isinstance(error, _NOT_FOUND) else FAILED


def report(error: CodeCompassError, terminal: Terminal, *, as_json: bool, verbosity: int = 0) -> int:
    """Writes `error` and returns the exit code. The traceback is shown from `-vv` on."""
    import traceback

    if verbosity > 1:
        terminal.note("".join(traceback.format_exception(error)).rstrip(), "dim")
    if as_json:
        _write_json(error_body(error), terminal)
    else:
        _write_text(for_people(error.message), terminal)
        for warning in _warnings(error):
            terminal.warn(warning)
    return exit_code(error)


def _warnings(error: CodeCompassError) -> tuple[str, ...]:
    """Returns what is to be known about the index that answered with this error."""
    if error.metadata is None:
        return ()
    from codecompass.protocol.metadata import Metadata

    return error.metadata.warnings if isinstance(error.metadata, Metadata) else ()


def report_wrong_usage(message: str, hint: str, terminal: Terminal, *, as_json: bool) -> int:
    """Writes an error in the command line and returns the exit code."""
    message = " ".join(message.split())  # asyncclick puts each choice on a line of its own
    if len(message) > MAX_MESSAGE_LENGTH:
        # The middle repeats the user's value; the remedy is at the end.
        message = f"{message[: MAX_MESSAGE_LENGTH // 2]}…{message[-MAX_MESSAGE_LENGTH // 2 :]}"
    if as_json:
        _write_json(ErrorBody(code=InvalidInput.code, message=f"{message} {hint}".strip()), terminal)
    else:
        _write_text(message, terminal)
        if hint:
            terminal.note(hint)
    return WRONG_USAGE


def _write_json(error: ErrorBody, terminal: Terminal) -> None:
    from codecompass.cli.json_output import ErrorReport
    from codecompass.protocol.encode import encode

    terminal.json(encode(ErrorReport(error)))


def _write_text(message: str, terminal: Terminal) -> None:
    terminal.note(f"{terminal.style('error:', 'red', 'bold', stream=terminal.err)} {printable(message)}")


def as_known(error: BaseException) -> CodeCompassError | None:
    """Returns the error to report for an exception that ended a command; None for an interrupt or exit.

    For a group, from concurrent tasks, it is the one that somebody can act upon.
    """
    if any(not isinstance(cause, Exception) for cause in causes(error)):
        return None
    error = cause_of(error)
    if isinstance(error, CodeCompassError):
        return error
    if isinstance(error, FileNotFoundError) and error.filename is None and working_directory() is None:
        # A relative path was used although the current directory does not exist.
        return ProjectNotFound(GONE_DIRECTORY)
    if isinstance(error, OSError) and error.strerror:
        place = f"{os.fsdecode(error.filename)}: " if isinstance(error.filename, str | bytes) else ""
        refused = FileUnreadable(f"{place}{error.strerror}. Correct that and run again.", cause=error.strerror)
        refused.__cause__ = error
        return refused
    unexpected = InternalError(
        f"this should not have happened: {type(error).__name__}: {error}. Run again with -vv and report what it shows.",
    )
    unexpected.__cause__ = error
    return unexpected
