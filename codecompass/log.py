"""The logger: structlog to stderr, and to nothing else. stdout belongs to answers and protocol frames.

`configure` is called once, before anything logs: structlog's own default would print to stdout.
"""

import logging
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
    """Sends everything of at least `level` to `stream` (stderr): lines for people on a terminal, else JSON lines.

    Libraries that use the standard `logging` are shown from `warning` on, in the same place.
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
        # One write a line: what else is written to the descriptor comes between lines, not into them.
        logger_factory=structlog.WriteLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(logging.WARNING, LEVELS[level]), stream=target, force=True, format="%(name)s: %(message)s")


def level_for(level: LogLevel, verbosity: int) -> LogLevel:
    """Returns the level after `-v` (info) and `-vv` (debug), which only ever show more than `level`."""
    wanted: LogLevel = "debug" if verbosity > 1 else "info" if verbosity == 1 else level
    return min(wanted, level, key=LEVELS.__getitem__)


class Logger:
    """structlog's logger, loaded with the first event that is shown: it takes a third of the time to the first answer.

    For modules that are there before that answer. Until `configure` is called the default level holds.
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def info(self, event: str, **values: object) -> None:
        """Logs what is worth knowing while looking for something."""
        self._log("info", event, values)

    def warning(self, event: str, **values: object) -> None:
        """Logs what is not as it should be."""
        self._log("warning", event, values)

    def error(self, event: str, **values: object) -> None:
        """Logs what has failed."""
        self._log("error", event, values)

    def exception(self, event: str, **values: object) -> None:
        """Logs what has failed, with the trace of the exception that is being handled."""
        self._log("error", event, {"exc_info": True, **values})

    def _log(self, level: LogLevel, event: str, values: dict[str, object]) -> None:
        # Another thread may be loading it right now: then it is there, but empty.
        is_configured = getattr(sys.modules.get("structlog"), "is_configured", None)
        if is_configured is None or not is_configured():
            if LEVELS[level] < LEVELS[LogSettings().level]:
                return
            configure(LogSettings().level)
        import structlog

        getattr(structlog.get_logger(self._name), level)(event, **values)


def get_logger(name: str) -> Logger:
    """Returns the logger of a module, `__name__`."""
    return Logger(name)
