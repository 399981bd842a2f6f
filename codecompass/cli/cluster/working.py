"""Runs a worker as a process: its log, its signals, its shutdown."""

from typing import TYPE_CHECKING, Final

import trio

from codecompass import log
from codecompass.cli import failure
from codecompass.cli.invocation import Invocation
from codecompass.cli.shutdown import wait_for_signal
from codecompass.cluster.worker import STOP_SECONDS, WorkerOptions, run_worker
from codecompass.settings import Settings
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.cluster.engine import Engine

END_SECONDS: Final = STOP_SECONDS + 20 * SECONDS
"""How long the whole shutdown may take: a thread that waits for a disk or the engine cannot be stopped."""


def work(invocation: Invocation, engine: "Engine", settings: Settings, jobs: int) -> int:
    """Runs a worker until a signal arrives; a second one kills the process. Returns the exit code."""
    level = log.level_for(settings.log.level, max(1, invocation.options.verbosity))
    log.configure(level, settings.log.format)
    invocation.terminal.note(f"Working for {', '.join(settings.cluster.url)}. End it with Ctrl-C.", "dim")
    trio.run(_work, invocation, engine, settings, WorkerOptions(jobs=jobs))
    return failure.DONE


async def _work(invocation: Invocation, engine: "Engine", settings: Settings, options: WorkerOptions) -> None:
    stop = trio.Event()

    async def stop_on_signal(*, task_status: trio.TaskStatus[None]) -> None:
        # What is not given back by the end, other workers take over.
        await wait_for_signal(END_SECONDS, task_status=task_status)
        stop.set()
        await trio.sleep(STOP_SECONDS)
        # Repositories that are not finished by now are given back.
        engine.stop_waiting()

    async with trio.open_nursery() as nursery:
        await nursery.start(stop_on_signal)
        await run_worker(engine, settings, invocation.home, stop, options)
        nursery.cancel_scope.cancel()
