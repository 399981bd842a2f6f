"""Verifies the indexes of the live workspaces in the background, one at a time: reads every byte and compares checksums.

Each file is read once in a process and again after a day; a new generation costs its new files. A damaged file is marked on disk:
the next question, in any process, finds the mark and has the index rebuilt.
"""

import time
from collections.abc import Callable, Collection
from typing import Final

import structlog
import trio

from codecompass.errors import CodeCompassError, IndexDamaged
from codecompass.store.layout import HomeLayout
from codecompass.store.verification import VerifiedFiles, verify_index
from codecompass.units import MIB, SECONDS

ROUND_SECONDS: Final = 20 * SECONDS
"""Pause between two rounds. A round without new files costs opening each index."""

BYTES_PER_SECOND: Final = 16 * MIB
"""Read rate: 2 % of a core, and little of a disk."""


class Verifier:
    """Verifies the indexes of a server. `live` returns the ids of the projects whose indexes are in use."""

    def __init__(self, home: HomeLayout, live: Callable[[], Collection[str]]) -> None:
        self._home = home
        self._live = live
        self._compared: dict[str, VerifiedFiles] = {}
        self._limiter = trio.CapacityLimiter(1)
        self._log = structlog.get_logger(__name__)

    async def work(self) -> None:
        """Verifies all live indexes, round after round. Runs until cancelled."""
        while True:
            await trio.sleep(ROUND_SECONDS)
            live = self._live()
            self._compared = {key: value for key, value in self._compared.items() if key in live}
            for project_id in live:
                await self.verify(project_id)

    async def verify(self, project_id: str) -> None:
        """Verifies the files of one index that have not been verified yet. Damage is logged, not raised."""
        compared = self._compared.setdefault(project_id, VerifiedFiles())
        layout = self._home.project(project_id)
        try:
            # It only reads, so its thread can be abandoned if the disk does not answer.
            await trio.to_thread.run_sync(
                verify_index, layout, project_id, _slowly, compared, limiter=self._limiter, abandon_on_cancel=True
            )
        except IndexDamaged as error:
            self._log.error("index_damaged", project=project_id, cause=error.message)
        except (CodeCompassError, OSError) as error:
            self._log.info("index_not_verified", project=project_id, cause=str(error))


def _slowly(n_bytes: int) -> None:
    trio.from_thread.check_cancelled()
    time.sleep(n_bytes / BYTES_PER_SECOND)
