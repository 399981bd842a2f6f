"""Finds steps of tasks that hold the event loop: `pytest -n0 --loop-steps 20` names each that took 20 ms or more.

While a task runs, nobody else is served. A second thread looks where a step is once it has taken that long, so that the report
names the line. On a busy machine a step takes long for no reason of its own: the processor time beside it tells.
"""

import os
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import trio
from msgspec import Struct

import codecompass

LOOK_SECONDS = 0.002
OWN = str(Path(codecompass.__file__).parent) + os.sep


class LongStep(Struct, frozen=True):
    """A step of a task that took long: where it was seen, and its times in milliseconds."""

    test: str
    task: str
    place: str
    wall_ms: float
    cpu_ms: float


class StepWatch(trio.abc.Instrument):
    """Collects the long steps of all event loops of this thread in which it is an instrument."""

    def __init__(self, least_seconds: float) -> None:
        self._least = least_seconds
        self._thread = threading.get_ident()
        self._began = 0.0
        self._cpu = 0.0
        self._place = ""
        self.test = ""
        self.found: list[LongStep] = []

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._place = ""
        self._cpu = time.thread_time()
        self._began = time.monotonic()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        seconds = time.monotonic() - self._began
        self._began = 0.0
        if seconds >= self._least:
            cpu = time.thread_time() - self._cpu
            self.found.append(LongStep(self.test, task.name, self._place, seconds * 1000, cpu * 1000))

    def start(self) -> None:
        """Begins to look, in a second thread that ends with the process, where long steps are."""
        threading.Thread(target=self._look, name="Trio thread of no work: loop steps", daemon=True).start()

    def _look(self) -> None:
        pause = threading.Event()  # a test may replace time.sleep
        while not pause.wait(LOOK_SECONDS):
            began = self._began
            if began and not self._place and time.monotonic() - began >= self._least:
                frame = sys._current_frames().get(self._thread)
                if frame is not None and began == self._began:
                    self._place = _place_of(frame)

    def report(self) -> Iterator[str]:
        """Yields a line for each place, the slowest first: how often, the longest step with its processor time, task and test."""
        by_place: dict[str, list[LongStep]] = {}
        for each in self.found:
            by_place.setdefault(each.place, []).append(each)
        for place, steps in sorted(by_place.items(), key=lambda item: -max(each.wall_ms for each in item[1])):
            worst = max(steps, key=lambda each: each.wall_ms)
            times = f"{len(steps):4} times, {worst.wall_ms:6.0f} ms ({worst.cpu_ms:.0f} of processor)"
            yield f"{times}  {place or '(not in the program, or not seen)'}  {worst.task}  {worst.test}"


def _place_of(frame: FrameType) -> str:
    """Returns the innermost line of the program, and what it calls; '' for a step of the tests alone."""
    stack = traceback.extract_stack(frame)
    own = [each for each in stack if each.filename.startswith(OWN)]
    if not own:
        return ""
    last, inner = own[-1], stack[-1]
    place = f"{last.filename.removeprefix(OWN)}:{last.lineno} {last.name}"
    return place if inner is last else f"{place} -> {inner.name}"
