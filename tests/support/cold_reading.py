"""Reader processes in tests: waiting until they have started, and reads that take as long as a test wants."""

import os
from pathlib import Path

import trio

from codecompass.actors.cold_readers import COLD_READERS, ColdReaders
from codecompass.store.registry import Project
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

LONG = 60
"""Seconds that no read of a test exceeds."""


async def warm(readers: ColdReaders) -> set[int]:
    """Returns the pids of the reader processes, once all of them have started."""

    async def all_pids() -> set[int] | None:
        pids = set()

        async def ask(name: str) -> None:
            pids.add(await readers.run(LONG, pid_for, name))

        async with trio.open_nursery() as nursery:
            for number in range(COLD_READERS):
                nursery.start_soon(ask, str(number))
        return pids if len(pids) == COLD_READERS and os.getpid() not in pids else None

    return await until(all_pids, "reader processes")


def pid_for(_name: str) -> int:
    """Returns the process in which it is called. In a reader process or a thread."""
    return os.getpid()


async def writer_of(fifo: Path) -> int:
    """Returns a descriptor that writes to `fifo`, once somebody reads from it."""

    def opened_by_reader() -> int | None:
        try:
            return os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None

    return await until(opened_by_reader, "somebody who reads")


def project_of(workspace: TestWorkspace) -> Project:
    """Returns the project of a tree as the registry would."""
    return Project(
        project_id=workspace.project_id,
        alias=None,
        root=workspace.root,
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
    )


def reader_pids() -> list[int]:
    """Returns the ids of this process's reader processes."""
    own = []
    for entry in Path("/proc").iterdir():
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()
            is_own = entry.name.isdigit() and int(state[1]) == os.getpid() and state[0] != "Z"
            if is_own and b"spawn_main" in (entry / "cmdline").read_bytes():
                own.append(int(entry.name))
        except (OSError, IndexError):
            continue
    return own
