"""Containment of failures: restarts background work, and converts library panics into our errors."""

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import structlog
import trio

from codecompass.errors import InternalError
from codecompass.units import SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS

P = ParamSpec("P")
T = TypeVar("T")


async def run_again_after_failure(name: str, work: Callable[[], Awaitable[None]]) -> None:
    """Runs `work` until it returns. After an exception it is run again, after a pause that doubles from one second to a minute.

    Cancellation propagates. Each failure is logged with its traceback, under `name`.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            await work()
        except Exception:  # noqa: BLE001 (whatever failed, the server keeps running)
            structlog.get_logger(__name__).exception("background_work_failed", work=name, retry_in_seconds=pause)
        else:
            return
        await trio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def panics_as_errors(work: Callable[P, T]) -> Callable[P, T]:
    """Wraps `work` so that a panic in a Rust library raises InternalError: PanicException is no Exception and would end the
    server.
    """

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return work(*arguments, **options)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise InternalError(
                f"a library failed unexpectedly ({error}). The log has the details; change the question."
            ) from error

    return run
