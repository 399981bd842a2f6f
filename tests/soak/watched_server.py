"""The real command, with its tasks counted, and with deliberate leaks: python -m tests.soak.watched_server ...

The count is written to WATCH_FILE several times a second. LEAKS names what HTTP requests leak. WITHOUT_PRIVILEGES makes root's
server subject to file permissions.
"""

import json
import os
import sys
import threading
from pathlib import Path

import trio

from codecompass.cli.main import main
from codecompass.transport.http.app import HttpApp
from tests.support.processes import obey_permissions

PERIOD_SECONDS = 0.1
LEAKED_BYTES = 300_000
LEAKED_STACK_BYTES = 1 << 18
EVERY = 4
"""Requests for each leaked task, thread or descriptor."""

run = trio.run
kept = []


async def watch(path):
    path = Path(path)
    while True:
        counts = {"tasks": trio.lowlevel.current_statistics().tasks_living}
        await trio.to_thread.run_sync(write, path, json.dumps(counts))
        await trio.sleep(PERIOD_SECONDS)


def write(path, text):
    beside = path.with_suffix(".new")
    beside.write_text(text)
    beside.replace(path)


def watched_run(main_task, *arguments, **options):
    async def both():
        trio.lowlevel.spawn_system_task(watch, os.environ["WATCH_FILE"])
        return await main_task(*arguments)

    return run(both, **options)


def leaking(handle, leaks):
    """Returns a request handler that leaks."""
    n_handled = 0
    if "threads" in leaks:
        # On a busy machine there are so many requests that stacks of the usual size would exceed the suite's memory limit.
        threading.stack_size(LEAKED_STACK_BYTES)

    async def handle_and_leak(self, *arguments):
        nonlocal n_handled
        n_handled += 1
        if "memory" in leaks:
            kept.append(os.urandom(LEAKED_BYTES))
        if n_handled % EVERY == 0:
            if "tasks" in leaks:
                trio.lowlevel.spawn_system_task(trio.sleep_forever)
            if "threads" in leaks:
                threading.Thread(target=threading.Event().wait, daemon=True).start()
            if "handles" in leaks:
                kept.append(os.open(os.devnull, os.O_RDONLY))
        await handle(self, *arguments)

    return handle_and_leak


if __name__ == "__main__":
    if os.environ.pop("WITHOUT_PRIVILEGES", ""):
        obey_permissions()
        os.execv(sys.executable, [sys.executable, "-m", "tests.soak.watched_server", *sys.argv[1:]])
    trio.run = watched_run
    HttpApp._http = leaking(HttpApp._http, os.environ.get("LEAKS", "").split())
    sys.exit(main())
