"""How the process uses memory: how often Python collects garbage, and what the C library's allocator keeps of freed memory.

Only glibc has to be told anything; elsewhere nothing is done about the allocator.
"""

import gc
import sys
import threading
from pathlib import Path
from typing import Final

SELDOM: Final = 100_000
"""New objects from which garbage is looked for in a command. Loading one makes 50,000, none of them garbage, and looking through
them 70 times takes 7 ms of 160."""

_USUAL: Final = gc.get_threshold()

MAX_ARENAS: Final = 2
"""glibc gives each thread an arena, up to eight for each core, and what one arena keeps no other can use. A server's threads take
turns with the interpreter's lock, so few allocate at once. Starlette, 2,400 mixed requests: 140 to 152 MB and growing with all
arenas, 111 MB and steady from the 600th request on with two (glibc 2.36, two cores, 2026-11-26)."""

_M_ARENA_MAX: Final = -8
"""malloc.h."""


def collect_seldom() -> None:
    """Has Python look for garbage seldom, which suits a process that ends soon."""
    gc.set_threshold(SELDOM, *_USUAL[1:])


def collect_as_usual() -> None:
    """Has Python look for garbage as often as it does by itself, which suits a process that stays."""
    gc.set_threshold(*_USUAL)


def keep_all() -> None:
    """Has Python never look through what there is by now: as the last thing that a process does, this saves it 20 ms."""
    gc.freeze()


def share_arenas() -> None:
    """Has all threads of this process allocate from MAX_ARENAS arenas. Does nothing once there are several threads: glibc calls
    mallopt unsafe beside them, and arenas that there are stay."""
    if sys.platform == "linux" and threading.active_count() == 1:
        import ctypes

        try:
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MAX_ARENAS)
        except (OSError, AttributeError):
            return  # musl has neither arenas nor mallopt


def release_memory() -> None:
    """Returns freed memory to the system: after a rebuild of 5,000 files about 40 MB (measured with glibc 2.36).

    The allocator keeps freed memory for reuse, and the next rebuild may be days away. Takes a few milliseconds. musl has no
    malloc_trim and returns memory without it.
    """
    gc.collect()
    if sys.platform == "linux":
        import ctypes

        try:
            ctypes.CDLL(None).malloc_trim(0)
        except (OSError, AttributeError):
            return


def resident_bytes() -> int:
    """Returns the resident memory of this process in bytes; 0 if the system does not say."""
    if sys.platform != "linux":
        return 0
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except (OSError, ValueError, IndexError):
        return 0
