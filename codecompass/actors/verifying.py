"""Reads the indexes of the live workspaces whole, in the background, and compares their checksums: one at a time, slowly.

Each file once in a process, and again after a day; a new generation costs its new files. What is damaged is marked on disk: the
next question, of any process, finds that and has the index built anew.
"""

import time
from collections.abc import Callable, Collection
from typing import Final

import structlog
import trio

from codecompass.errors import CodeCompassError, IndexDamaged
from codecompass.store.layout import HomeLayout
from codecompass.store.verification import Compared, verify_index
from codecompass.units import MIB, SECONDS

ROUND_SECONDS: Final = 20 * SECONDS
"""Between two rounds; one without a new file costs opening each index."""

BYTES_PER_SECOND: Final = 16 * MIB
"""2 % of a core, and little of a disk."""


class Verifier:
    """One for a server. `live` returns the ids of the projects whose indexes are in use."""

    def __init__(self, home: HomeLayout, live: Callable[[], Collection[str]]) -> None:
        self._home = home
        self._live = live
        self._compared: dict[str, Compared] = {}
        self._limiter = trio.CapacityLimiter(1)
        self._log = structlog.get_logger(__name__)

    async def work(self) -> None:
        """Goes round for ever."""
        while True:
            await trio.sleep(ROUND_SECONDS)
            live = self._live()
            self._compared = {key: value for key, value in self._compared.items() if key in live}
            for project_id in live:
                await self.verify(project_id)

    async def verify(self, project_id: str) -> None:
        """Reads what has not been compared yet of one index. Whatever is found is logged."""
        compared = self._compared.setdefault(project_id, Compared())
        layout = self._home.project(project_id)
        try:
            # Only reads: where a disk does not answer, nobody has to wait for it.
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
