"""How git is started, everywhere in the program, and one process of it: with a deadline, a limit of its output, and an end when
nobody waits for it any longer.
"""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Final

from msgspec import Struct

from codecompass import lazy
from codecompass.units import KIB, MIB, SECONDS

if TYPE_CHECKING:
    import subprocess

_POLL_SECONDS: Final = 0.1 * SECONDS
_MAX_ERROR_BYTES: Final = 64 * KIB
_READ_BYTES: Final = 256 * KIB


MAX_MESSAGE_LENGTH: Final = 300
"""Characters of what git printed that an error repeats."""

_USER: Final = lazy.pattern(r"//[^/@\s]*@")
"""Who an address is to be opened as, perhaps with a password."""


class GitError(Exception):
    """Git could not be started, failed or took too long. The text is for people."""


class GitNotStarted(GitError):
    """Git could not be started at all. `number` is the errno: ENOENT if there is no git on the PATH."""

    def __init__(self, error: OSError) -> None:
        super().__init__(f"git could not be started: {error.strerror}")
        self.number = error.errno or 0


class GitFailed(GitError):
    """Git exited with a `status` other than 0. For most commands 1 and 128 mean that a named object does not exist. `message` is
    what it printed: one line, without control characters and passwords."""

    def __init__(self, command: str, status: int, message: str) -> None:
        super().__init__(f"git {command} failed with status {status}: {message}")
        self.command = command
        self.status = status
        self.message = message


class GitOutputTooLarge(GitError):
    """Git wrote more than `max_output_bytes`."""


class GitTimedOut(GitError):
    """Git did not end within its deadline."""


class GitCancelled(Exception):
    """`is_cancelled` returned true while git was running."""


class GitCommand(Struct, frozen=True):
    """A command line of git with the whole environment of its process. `name` is that of the command, for messages."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


_NOTHING_IS_RUN: Final = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def git_command(
    *command: str,
    ceiling: str = "/",
    options: Sequence[str] = (),
    settings: Sequence[str] = (),
    protocols: Sequence[str] = (),
    inherited: re.Pattern[str] | None = None,
    variables: Mapping[str, str] | None = None,
) -> GitCommand:
    """Returns how a git command is started, so that it asks nobody and runs no hook or monitor that a repository configures.

    It may connect with `protocols` alone. Of git's own variables it inherits those that match `inherited`: a hook's name another
    repository. If it rejects the one that it is started in, it searches no directory above `ceiling`. `settings` are `key=value`.
    """
    given = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("GIT_") or (inherited is not None and inherited.fullmatch(name))
    }
    configured = (part for setting in settings for part in ("-c", setting))
    environment = {
        **given,
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": ":".join(protocols) or "none",
        # An id must always name the same content and the same parents, which `git replace` would break.
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_CEILING_DIRECTORIES": ceiling,
        "LC_ALL": "C",
        **(variables or {}),
    }
    return GitCommand(command[0], ("git", "--no-pager", *_NOTHING_IS_RUN, *configured, *options, *command), environment)


def run_process(
    command: GitCommand,
    *,
    is_cancelled: Callable[[], bool] | None = None,
    deadline_seconds: float,
    standard_input: bytes = b"",
    max_output_bytes: int,
) -> bytes:
    """Returns the standard output of a command.

    Raises:
        GitError: git is missing, failed (GitFailed), took too long or wrote too much (GitOutputTooLarge).
        GitCancelled: `is_cancelled` returned true.
    """
    import subprocess

    try:
        given_input = _holding(standard_input) if standard_input else open(os.devnull, "rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise GitNotStarted(error) from error
    with given_input as given:
        try:
            process = subprocess.Popen(
                command.arguments,
                stdin=given,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=command.environment,
            )
        except OSError as error:
            raise GitNotStarted(error) from error
    with process:
        try:
            output, errors = _communicate(process, is_cancelled, deadline_seconds, max_output_bytes)
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise GitFailed(command.name, process.returncode, _reason(errors.decode("utf-8", "replace")))
    return output


def _reason(errors: str) -> str:
    """Returns the line that says why git failed, for people: hints and warnings may come before it."""
    lines = errors.strip().split("\n")
    line = next((line for line in lines if line.startswith(("fatal:", "error:"))), lines[0])
    line = _USER.sub("//", line[: 2 * MAX_MESSAGE_LENGTH])
    line = " ".join("".join(each if each.isprintable() else " " for each in line).split())
    return line if len(line) <= MAX_MESSAGE_LENGTH else f"{line[: MAX_MESSAGE_LENGTH - 1]}…"


def _holding(content: bytes) -> IO[bytes]:
    """Returns a file with this content, not a pipe, so that writing the input of a process and reading its output need no
    interleaving."""
    import tempfile

    file = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
    try:
        file.write(content)
        file.seek(0)
    except BaseException:
        file.close()
        raise
    return file


def _communicate(
    process: "subprocess.Popen[bytes]",
    is_cancelled: Callable[[], bool] | None,
    deadline_seconds: float,
    max_output_bytes: int,
) -> tuple[bytes, bytes]:
    """Returns the output and errors of the process when it has closed both. `Popen.communicate` has no size limit."""
    import selectors

    deadline = time.monotonic() + deadline_seconds
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, errors)
        while selector.get_map():
            for key, _ in selector.select(_POLL_SECONDS):
                piece = os.read(key.fd, _READ_BYTES)
                if not piece:
                    selector.unregister(key.fileobj)
                elif key.data is output or len(errors) < _MAX_ERROR_BYTES:
                    key.data.extend(piece)
            if is_cancelled is not None and is_cancelled():
                raise GitCancelled
            if time.monotonic() > deadline:
                raise GitTimedOut(f"git took longer than {deadline_seconds:.0f} seconds")
            if len(output) > max_output_bytes:
                raise GitOutputTooLarge(f"git wrote more than {max_output_bytes // MIB} MiB")
    return bytes(output), bytes(errors)
