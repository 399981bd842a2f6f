"""Runs a command in a separate process and measures its cost, including all descendants.

CPU time comes from the kernel's accounting when the process is reaped. Memory is sampled where the system reports it, because the
kernel's maximum includes the parent's memory at the time of the fork; sampling costs this process, not the measured one.
"""

import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Container, Mapping, Sequence
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from codecompass.units import KIB, NANOSECONDS_PER_SECOND

SAMPLE_SECONDS: Final = 0.05
"""Interval between samples of the memory of all processes: they grow over seconds, and a sample costs about 0.1 ms."""

MAX_RSS_UNIT: Final = 1 if sys.platform == "darwin" else KIB
"""The unit of `ru_maxrss`, in bytes."""


CPU_CLOCK: Final = 2
"""Linux computes the id of another process's CPU clock from its pid and this (`man 3 clock_getcpuclockid`)."""


class ProcessMemory(Struct, frozen=True, kw_only=True):
    """The current memory of a running process and its descendants in bytes: resident (shared pages count once per process),
    anonymous, and the number of processes. Zeros if the system does not report it."""

    rss: int = 0
    anonymous: int = 0
    n_processes: int = 0


class Usage(Struct, frozen=True, kw_only=True):
    """The cost of a run. Times in seconds, memory in bytes.

    `cpu_seconds` is user and system time of the process and of the descendants that it waited for. `peak_rss` is that of the
    largest single process; `peak_rss_all` the highest sum over processes in one sample (shared pages count once per process),
    None if the system does not report it. For a process too short to be sampled, `peak_rss` is the kernel's maximum, which is at
    least ours.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_rss: int
    peak_rss_all: int | None = None


class Finished(Struct, frozen=True, kw_only=True):
    """A successful run, and what it wrote to stdout."""

    usage: Usage
    stdout: bytes


class RunFailed(Exception):
    """The command failed; the message has the end of its stderr."""


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    accepted: Container[int] = (0,),
) -> Finished:
    """Runs `command` to its end. `environment` is added to ours. Raises RunFailed if its exit code is not `accepted`."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        started = time.monotonic()
        process = subprocess.Popen(
            list(command),
            cwd=cwd,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
        )
        with MemorySampler(process.pid) as sampler:
            try:
                _, status, resources = os.wait4(process.pid, 0)
            except BaseException:
                process.kill()
                process.wait()
                raise
        wall = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode not in accepted:
            tail = err.read().decode("utf-8", "replace")[-2000:]
            raise RunFailed(f"{' '.join(map(str, command))} ended with {process.returncode}:\n{tail}")
        usage = Usage(
            wall_seconds=wall,
            cpu_seconds=resources.ru_utime + resources.ru_stime,
            peak_rss=sampler.largest or resources.ru_maxrss * MAX_RSS_UNIT,
            peak_rss_all=sampler.together or None,
        )
        return Finished(usage=usage, stdout=out.read())


def python(*arguments: str | os.PathLike[str]) -> list[str | os.PathLike[str]]:
    """Returns the command line that runs this Python with `arguments`."""
    return [sys.executable, *arguments]


def memory_of(pid: int) -> ProcessMemory:
    """Returns the current memory of a process and its descendants."""
    seen = [values for values in map(_status_bytes, descendants(pid)) if values]
    return ProcessMemory(
        rss=sum(values.get("VmRSS", 0) for values in seen),
        anonymous=sum(values.get("RssAnon", 0) for values in seen),
        n_processes=len(seen),
    )


def cpu_seconds_of(pid: int) -> float:
    """Returns the CPU time so far of a process and its descendants, ended ones included; 0.0 if the system does not report it."""
    if sys.platform != "linux":
        return 0.0
    total, ended = 0, 0
    for each in descendants(pid):
        try:
            total += time.clock_gettime_ns((~each << 3) | CPU_CLOCK)
            # After the name in parentheses: user and system time of awaited children are the fields 14 and 15.
            ended += sum(map(int, Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[13:15]))
        except OSError:
            continue  # it has just exited
    return total / NANOSECONDS_PER_SECOND + ended / os.sysconf("SC_CLK_TCK")


def own_cpu_seconds_of(pid: int) -> float:
    """Returns the CPU time so far of one running process, without its descendants; 0.0 if the system does not report it."""
    try:
        return time.clock_gettime_ns((~pid << 3) | CPU_CLOCK) / NANOSECONDS_PER_SECOND if sys.platform == "linux" else 0.0
    except OSError:
        return 0.0  # it has just exited


class MemorySampler:
    """Samples the memory of a process and its descendants in a thread: the highest peak of any single one, and the highest
    sum. Both are 0 if nothing could be sampled."""

    def __init__(self, pid: int) -> None:
        self.largest = 0
        self.together = 0
        self._pid = pid
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if Path("/proc/self/status").exists():
            self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(SAMPLE_SECONDS):
            seen = [_memory(pid) for pid in descendants(self._pid)]
            self.together = max(self.together, sum(now for now, _ in seen))
            self.largest = max(self.largest, *(peak for _, peak in seen))


def descendants(pid: int) -> list[int]:
    """Returns `pid` and its running descendants. Linux only; elsewhere `pid` alone."""
    found, position = [pid], 0
    while position < len(found):
        try:
            for task in Path(f"/proc/{found[position]}/task").iterdir():
                found += map(int, (task / "children").read_text().split())
        except OSError:
            pass  # it has just exited
        position += 1
    return found


def _memory(pid: int) -> tuple[int, int]:
    """Returns current and peak resident bytes; 0 for a process that has exited."""
    values = _status_bytes(pid)
    return values.get("VmRSS", 0), values.get("VmHWM", 0)


def _status_bytes(pid: int) -> dict[str, int]:
    """Returns the memory figures of /proc/PID/status by name, in bytes; empty for a process that has exited."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return {}
    values = (line.partition(":") for line in lines if line.startswith(("Vm", "Rss")))
    return {name: int(value.split()[0]) * KIB for name, _, value in values}
