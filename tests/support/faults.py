"""Real faults: stopped and killed processes, damaged files, vanishing file systems."""

import contextlib
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def workers(server: int | None = None) -> list[int]:
    """Returns the pids of a server's worker processes; by default those of this process."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError, IndexError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if parent == (server or os.getpid()) and b"codecompass.worker" in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
    return found


@contextmanager
def held_workers() -> Iterator[list[int]]:
    """Stops the running worker processes for the duration of the block, so that a job that needs them is blocked.

    Workers are started by the first job, so one must have run.
    """
    held = workers()
    assert held, "no worker process has been started yet"
    for pid in held:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield held
    finally:
        for pid in held:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def damage(path: Path, how: str) -> None:
    """Damages a file in place: truncates it (`emptied`, `halved`), overwrites it with random bytes (`overwritten`) or flips a bit
    (`flipped`)."""
    size = path.stat().st_size
    if not size:
        return
    with path.open("r+b") as file:
        match how:
            case "emptied":
                file.truncate(0)
            case "halved":
                file.truncate(size // 2)
            case "overwritten":
                file.write(random.Random(size).randbytes(size))
            case "flipped":
                file.seek(size // 2)
                (byte,) = file.read(1)
                file.seek(size // 2)
                file.write(bytes([byte ^ 16]))
            case _:
                raise AssertionError(how)


@contextmanager
def small_file_system(path: Path, size: str) -> Iterator[None]:
    """Mounts an empty tmpfs at `path`, and unmounts it even if files are open. Skips the test if mounting is not permitted."""
    if sys.platform != "linux" or os.geteuid() != 0:
        pytest.skip("mounting takes root on Linux")
    path.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "codecompass-test", str(path)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip(f"mounting is not allowed here: {done.stderr.decode(errors='replace').strip()}")
    try:
        yield
    finally:
        if os.path.ismount(path):
            unmount(path)


def unmount(path: Path) -> None:
    """Unmounts a file system that is in use."""
    subprocess.run(["umount", "-l", str(path)], check=True)
