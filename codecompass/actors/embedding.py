"""Makes vectors after each publication of a workspace, as a task of its own beside questions and jobs: the last of all its work.

a complete generation --> run --> done until the next one
                           `---> failed: run again once the endpoint may be asked again
"""

from collections.abc import Callable
from typing import Final

import structlog
import trio

from codecompass.actors.known_index import KnownIndex
from codecompass.actors.workbench import Workbench
from codecompass.errors import CodeCompassError
from codecompass.semantic.target import SemanticUnavailable
from codecompass.units import SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 60 * SECONDS
"""After a failure. The pause doubles from the first to the longest."""

OTHERS_SECONDS: Final = 30 * SECONDS
"""How often it is tried where another process makes the vectors of this project."""


class Embedding:
    """Everything but `keep_up` is synchronous. `is_working` says that texts are read or sent right now."""

    def __init__(self, bench: Workbench, index: KnownIndex, announce: Callable[[], None]) -> None:
        self.is_working = False
        self._bench = bench
        self._index = index
        self._announce = announce
        self._done: float | None = None
        self._failure = ""
        self._wanted = trio.Event()
        self._log = structlog.get_logger(__name__)

    @property
    def state(self) -> str:
        """What others are told: waiting, working, ready, or why the last run failed."""
        if self._failure:
            return f"unavailable ({self._failure})"
        meta = self._index.meta
        if meta is None or meta.completeness != "complete":
            return "waiting"
        return "ready" if meta.published_at == self._done else "working"

    def note(self) -> None:
        """Looks whether there is a newer generation. Called after each transition of the workspace."""
        meta = self._index.meta
        if meta is not None and meta.completeness == "complete" and meta.published_at != self._done:
            self._wanted.set()

    async def keep_up(self) -> None:
        """Never ends by itself, and never because of a failure."""
        pause = FIRST_PAUSE_SECONDS
        while True:
            await self._wanted.wait()
            self._wanted = trio.Event()
            meta = self._index.meta
            published_at = None if meta is None else meta.published_at
            self.is_working = True
            wait = 0.0
            try:
                if await self._bench.make_vectors():
                    self._done, self._failure, pause = published_at, "", FIRST_PAUSE_SECONDS
                else:
                    wait = OTHERS_SECONDS
            except (SemanticUnavailable, CodeCompassError) as error:
                self._log.info("vectors_not_made", cause=str(error), again_in_seconds=pause)
                self._failure = str(error)
                wait, pause = pause, min(2 * pause, LONGEST_PAUSE_SECONDS)
            except Exception as error:  # noqa: BLE001 (a defect in here costs answers by meaning, not the workspace)
                self._log.exception("vectors_failed", again_in_seconds=pause)
                self._failure = type(error).__name__
                wait, pause = pause, min(2 * pause, LONGEST_PAUSE_SECONDS)
            finally:
                self.is_working = False
            self._announce()
            if wait:
                await trio.sleep(wait)
                self._wanted.set()
