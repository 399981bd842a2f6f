"""Runs a worker as a process: its log, its signals, its shutdown."""

import math
import os
import signal
import threading
import time
from typing import TYPE_CHECKING, Final

import trio

from codecompass import log
from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cluster.worker import STOP_SECONDS, WorkerOptions, run_worker
from codecompass.settings import Settings
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.cluster.engine import Engine

END_SECONDS: Final = STOP_SECONDS + 20 * SECONDS
"""How long the whole shutdown may take: a thread that waits for a disk or the engine cannot be stopped."""

_STOP_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def work(invocation: Invocation, engine: "Engine", settings: Settings, jobs: int) -> int:
    """Runs a worker until a signal arrives; a second one kills the process. Returns the exit code."""
    level = log.level_for(settings.log.level, max(1, invocation.options.verbosity))
    log.configure(level, settings.log.format)
    invocation.terminal.note(f"Working for {', '.join(settings.cluster.url)}. End it with Ctrl-C.", "dim")
    trio.run(_work, invocation, engine, settings, WorkerOptions(jobs=jobs))
    return failure.DONE


async def _work(invocation: Invocation, engine: "Engine", settings: Settings, options: WorkerOptions) -> None:
    stop = trio.Event()
    async with trio.open_nursery() as nursery:
        await nursery.start(_stop_on_signal, stop, engine)
        await run_worker(engine, settings, invocation.home, stop, options)
        nursery.cancel_scope.cancel()


async def _stop_on_signal(
    stop: trio.Event, engine: "Engine", *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
) -> None:
    """Stops the worker at the first signal. Signals that nohup ignores stay ignored."""
    heeded = [each for each in _STOP_SIGNALS if signal.getsignal(each) is not signal.SIG_IGN]
    with trio.open_signal_receiver(*heeded) as signals:
        task_status.started()
        await anext(aiter(signals))
    for each in heeded:
        signal.signal(each, signal.SIG_DFL)
    _end_in_time()
    stop.set()
    await trio.sleep(STOP_SECONDS)
    # Repositories that are not finished by now are given back.
    engine.stop_waiting()


def _end_in_time() -> None:
    """Makes the process exit within END_SECONDS; other workers take over what it has not given back by then."""

    def end() -> None:
        time.sleep(END_SECONDS)
        os._exit(failure.FAILED)

    # If Python threads no longer run, the kernel kills the process.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(math.ceil(2 * END_SECONDS))
    threading.Thread(target=end, name="end in time", daemon=True).start()
