"""Processes that keep a processor busy, for measurements on a busy machine."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bench.measure import python

LONGEST_SECONDS: Final = 7_200

_BURN: Final = f"""
import os, time
parent, end = os.getppid(), time.monotonic() + {LONGEST_SECONDS}
while os.getppid() == parent and time.monotonic() < end:
    sum(range(1_000_000))
"""
"""Exits when its parent is gone, however that ended, and after LONGEST_SECONDS."""


@contextmanager
def busy(count: int) -> Iterator[tuple[int, ...]]:
    """Keeps `count` processes busy while the block runs; yields their ids. They are killed when it ends, however it ends."""
    burners: list[subprocess.Popen[bytes]] = []
    try:
        while len(burners) < count:
            burners.append(subprocess.Popen(python("-c", _BURN), stdin=subprocess.DEVNULL))
        yield tuple(burner.pid for burner in burners)
    finally:
        for burner in burners:
            burner.kill()
        for burner in burners:
            burner.wait()
