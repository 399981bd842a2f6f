"""What keeps a failure small: background work is run again, a panic of a library becomes an error of ours, and a nursery's
group of errors the one that matters.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Final, ParamSpec, TypeVar

import structlog
import trio

from codecompass.errors import CodeCompassError, InternalError
from codecompass.units import SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS

P = ParamSpec("P")
T = TypeVar("T")


async def keep_at(name: str, chore: Callable[[], Awaitable[None]]) -> None:
    """Runs `chore` until it returns; after an exception again, after a pause that doubles from one second to a minute.

    Cancellation passes. Each failure is logged with its traceback, under `name`.
    """
    pause = FIRST_PAUSE_SECONDS
    while True:
        try:
            await chore()
        except Exception:  # noqa: BLE001 (whatever it is, answering goes on)
            structlog.get_logger(__name__).exception("background_work_failed", work=name, again_in_seconds=pause)
        else:
            return
        await trio.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


@contextmanager
def ungrouped() -> Iterator[None]:
    """Raises the first CodeCompassError of a group in place of the group; lets groups without one pass."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours, _others = group.split(CodeCompassError)
        while ours is not None and isinstance(ours.exceptions[0], BaseExceptionGroup):
            ours = ours.exceptions[0]
        if ours is None:
            raise
        raise ours.exceptions[0] from None


def innermost(error: BaseException) -> BaseException:
    """Returns the first error of a group of groups; one that is no group as it is."""
    return innermost(error.exceptions[0]) if isinstance(error, BaseExceptionGroup) else error


def panics_as_errors(work: Callable[P, T]) -> Callable[P, T]:
    """Returns `work` with a panic in one of the libraries as an InternalError: it is no Exception and would end the server."""

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return work(*arguments, **options)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise InternalError(
                f"a library failed unexpectedly ({error}). The log has the details; ask in another way."
            ) from error

    return run
