"""The log: structlog to stderr, never to stdout, which carries answers and protocol frames.

`configure` is called once, before anything logs: structlog's default would print to stdout.
"""

import logging
import os
import select
import sys
from typing import Final, TextIO

from codecompass.settings import LogFormat, LogLevel, LogSettings

LEVELS: Final[dict[LogLevel, int]] = {
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warning": logging.WARNING,
    "error": logging.ERROR,
}


def configure(level: LogLevel, format_: LogFormat = "auto", *, is_colored: bool = True, stream: TextIO | None = None) -> None:
    """Writes all events of at least `level` to `stream` (default stderr): as text on a terminal, else as JSON lines.

    Libraries that use the standard `logging` are logged from `warning` on.
    """
    import structlog

    target = sys.stderr if stream is None else stream
    is_text = format_ == "text" or (format_ == "auto" and target.isatty())
    processors: list[structlog.typing.Processor] = [
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
    ]
    if is_text:
        processors += [
            structlog.processors.TimeStamper(fmt="%H:%M:%S", utc=False),
            structlog.dev.ConsoleRenderer(
                colors=is_colored and target.isatty(), exception_formatter=structlog.dev.plain_traceback
            ),
        ]
    else:
        processors += [
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.JSONRenderer(default=repr),
        ]
    structlog.configure(
        processors=processors,
        wrapper_class=structlog.make_filtering_bound_logger(LEVELS[level]),
        # One write() per line, so that other output to the descriptor cannot be mixed into a line.
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(logging.WARNING, LEVELS[level]), stream=target, force=True, format="%(name)s: %(message)s")


def level_for(level: LogLevel, verbosity: int) -> LogLevel:
    """Returns the level for `-v` (info) and `-vv` (debug), which never log less than `level`."""
    wanted: LogLevel = "debug" if verbosity > 1 else "info" if verbosity == 1 else level
    return min(wanted, level, key=LEVELS.__getitem__)


class Logger:
    """Imports structlog's logger with the first event that is logged: the import takes a third of the time to a first answer.

    For modules that are imported before that answer. Until `configure` is called the default level applies.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **values: object) -> None:
        """Logs an ordinary event."""
        self._log("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        """Logs an unexpected condition."""
        self._log("warning", event, values)

    def error(self, event: str, **values: object) -> None:
        """Logs a failure."""
        self._log("error", event, values)

    def exception(self, event: str, **values: object) -> None:
        """Logs a failure with the traceback of the exception being handled."""
        self._log("error", event, {"exc_info": True, **values})

    def _log(self, level: LogLevel, event: str, values: dict[str, object]) -> None:
        # While another thread imports structlog, the module exists without its attributes.
        is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)
        if is_configured is None or not is_configured():
            if LEVELS[level] < LEVELS[LogSettings().level]:
                return
            configure(LogSettings().level)
        import structlog

        getattr(structlog.get_logger(self._name), level)(event, **values)


def get_logger(name: str) -> Logger:
    """Returns the logger of a module; `name` is its `__name__`."""
    return Logger(name)


PIECE_BYTES: Final = select.PIPE_BUF
"""A writable pipe accepts this many bytes without blocking (POSIX)."""


class LogStream:
    """A text stream over a descriptor, which it does not close. Writes never block and never fail.

    A host may start a server with a pipe for stderr and never read it, or close it. Text that does not fit is dropped, and the
    next line that fits is preceded by the number of lost lines.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._n_dropped = 0

    def write(self, text: str) -> int:
        """Writes as much as fits. Returns the length of `text`."""
        data = text.encode(errors="backslashreplace")
        if self._n_dropped and text.strip():
            data = f"({self._n_dropped} log lines were lost: nobody read them)\n".encode() + data
        try:
            while data:
                if not self._is_writable():
                    self._n_dropped += text.count("\n")
                    break
                data = data[os.write(self._descriptor, data[:PIECE_BYTES]) :]
            else:
                self._n_dropped = 0
        except OSError:
            pass  # closed, or a full disk: there is nowhere left to report it
        return len(text)

    def flush(self) -> None:
        """Does nothing: there is no buffer."""

    def isatty(self) -> bool:
        """Returns whether the descriptor is a terminal."""
        return os.isatty(self._descriptor)

    def fileno(self) -> int:
        """Returns the descriptor."""
        return self._descriptor

    def _is_writable(self) -> bool:
        poll = select.poll()
        poll.register(self._descriptor, select.POLLOUT)
        return bool(poll.poll(0))
