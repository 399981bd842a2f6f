"""The logger: structlog to stderr, and to nothing else. stdout belongs to answers and protocol frames.

`configure` is called once, before anything logs: structlog's own default would print to stdout.
"""

import logging
import sys
from typing import Final, TextIO

import structlog

from codecompass.settings import LogFormat, LogLevel

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
        logger_factory=structlog.PrintLoggerFactory(target),
        cache_logger_on_first_use=False,
    )
    logging.basicConfig(level=max(logging.WARNING, LEVELS[level]), stream=target, force=True, format="%(name)s: %(message)s")


def level_for(level: LogLevel, verbosity: int) -> LogLevel:
    """Returns the level after `-v` (info) and `-vv` (debug), which only ever show more than `level`."""
    wanted: LogLevel = "debug" if verbosity > 1 else "info" if verbosity == 1 else level
    return min(wanted, level, key=LEVELS.__getitem__)
