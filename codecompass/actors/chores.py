"""Chores: background work that nobody waits for. A failure costs that round of the chore, never the server."""

from collections.abc import Awaitable, Callable
from typing import Final

import structlog
import trio

from codecompass.units import SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS


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
