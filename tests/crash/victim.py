"""A process that indexes a tree and kills itself meanwhile. Prints the name of each step before it starts.

usage: victim.py ROOT HOME MODE STEP DELAY_MS   (kills itself DELAY_MS after the start of STEP; STEP `-`: never)

MODE is `force`, `fork` (forks and parks at any size) or `-`.
"""

import os
import signal
import sys
import threading
from pathlib import Path

import msgspec
import trio

from codecompass.jobs import Progress
from tests.support.workspace import LIMITS, TestWorkspace

STAGES = {"discovery": "scan", "parsing": "parse", "indexing": "parse"}


async def main(root: str, home: str, force: str, step: str, delay_ms: str) -> None:
    said: set[str] = set()

    def began(name: str) -> None:
        if name in said:
            return
        said.add(name)
        os.write(1, f"{name}\n".encode())
        if name == step:
            delay = float(delay_ms) / 1000
            if delay == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            timer = threading.Timer(delay, os.kill, (os.getpid(), signal.SIGKILL))
            timer.daemon = True
            timer.start()

    def progressed(progress: Progress) -> None:
        if progress.stage in STAGES:
            began(STAGES[progress.stage])

    # A first job publishes text first, and every job symbols in slices: more moments at which to be killed.
    limits = msgspec.structs.replace(LIMITS, text_first_bytes=0, slice_seconds=0.0)
    if force == "fork":
        limits = msgspec.structs.replace(limits, fork_from_files=1, park_from_files=1, known_from_files=1)
    workspace = TestWorkspace(Path(root), Path(home))
    await workspace.sync(limits=limits, force=force == "force", on_progress=progressed, on_step=began)
    os.write(1, b"done\n")


if __name__ == "__main__":
    trio.run(main, *sys.argv[1:])
