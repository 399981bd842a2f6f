"""The shutdown of a process that serves: the first signal stops its work, which ends in bounded time; a second one kills it.

Signals that nohup ignores stay ignored.
"""

import math
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Final

import trio

from codecompass.cli import failure
from codecompass.nurseries import open_nursery

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_STDERR: Final = 2


async def run_until_signal(
    run: Callable[[], Awaitable[object]], stop: Callable[[], None], seconds: float, message: bytes
) -> None:
    """Runs `run` to its end, which the first signal brings about by `stop`. After either the process exits within `seconds`."""

    async def stop_on_signal(*, task_status: trio.TaskStatus[None]) -> None:
        await wait_for_signal(seconds, message, task_status=task_status)
        stop()

    async with open_nursery() as nursery:
        await nursery.start(stop_on_signal)
        await run()
        end_in_time(seconds, message)
        nursery.cancel_scope.cancel()


async def wait_for_signal(seconds: float, message: bytes = b"", *, task_status: trio.TaskStatus[None]) -> None:
    """Returns at the first signal to stop. From then on the process exits within `seconds`, and at once at the next signal."""
    heeded = [each for each in _STOP_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    with trio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        await anext(aiter(signals))
    for each in heeded:
        # The system's default action needs no thread of this process: all of them may be blocked.
        signal.signal(each, signal.SIG_DFL)
    end_in_time(seconds, message)


def end_in_time(seconds: float, message: bytes) -> None:
    """Makes the process exit within `seconds`, with `message` on stderr: a thread blocked in a file system cannot be stopped.

    An index survives the end of its writer at any moment, so nothing is lost.
    """

    def end() -> None:
        time.sleep(seconds)
        if message:
            os.write(_STDERR, message)
        os._exit(failure.FAILED)

    # If Python threads no longer run, the kernel kills the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(2 * seconds))
    threading.Thread(target=end, name="end in time", daemon=True).start()
