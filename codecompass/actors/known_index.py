"""What a workspace knows of its index on disk, its own or one that another process writes: the one place where that is kept."""

from typing import Final

import structlog
import trio
from msgspec.structs import replace

from codecompass.actors.index_answers import IndexOnDisk
from codecompass.actors.workbench import Workbench
from codecompass.errors import CodeCompassError
from codecompass.store.snapshot import IndexMeta
from codecompass.units import MILLISECONDS

FIRST_INSPECTION_SECONDS: Final = 50 * MILLISECONDS
"""How often a job without an index checks whether there is one to answer from by now: its own text, or what another process
has published meanwhile. A check that finds none costs a few system calls and a row of the registry."""


class KnownIndex:
    """`on_disk` is what was found last, with what is known of damage since.

    `text_ready_at` is when a first index could be searched, by this event loop's clock, long ago where there was one at the
    start; `text_seconds` is what its text took.
    """

    def __init__(self, bench: Workbench) -> None:
        self.on_disk = IndexOnDisk(schema_status="not_indexed", schema_version=0)
        self.text_ready_at = float("-inf")
        self.text_seconds = 0.0
        self._bench = bench
        self._log = structlog.get_logger(__name__)

    @property
    def meta(self) -> IndexMeta | None:
        """That of the newest generation, None where no index can be read."""
        return self.on_disk.meta

    @property
    def lacks_symbols(self) -> bool:
        """Whether the index holds all text, but not yet the symbols of all files."""
        return self.meta is not None and self.meta.completeness == "partial"

    async def inspect(self) -> None:
        """Reads what the index says of itself. Raises what `Workbench.inspect_index` raises."""
        self.on_disk = await self._bench.inspect_index()

    def mark_damaged(self, damage: str) -> None:
        """Gives up an index that was found damaged: nothing is answered from it any more."""
        self.on_disk = IndexOnDisk(schema_status="corrupt_manifest", damage=damage)

    def forget_interruption(self) -> None:
        """Notes that a job has succeeded since others were interrupted."""
        self.on_disk = replace(self.on_disk, interruption=None)

    async def wait_first(self, published: trio.Event) -> bool:
        """Returns once there is a first generation, of the job that sets `published` or of another process, or at once.

        True where it came while this waited. Never waits for a new epoch of a damaged index.
        """
        began = trio.current_time()
        # Of a damaged index the description may still be readable.
        while self.meta is None and not self.on_disk.damage:
            if published.is_set():
                await trio.sleep(FIRST_INSPECTION_SECONDS)
            else:
                with trio.move_on_after(FIRST_INSPECTION_SECONDS):
                    await published.wait()
            try:
                found = await self._bench.inspect_index()
            except CodeCompassError as error:
                self._log.info("not_looked", error=error.message)
                continue
            if self.meta is None and found.meta is not None:
                self.on_disk = found
                self.text_ready_at = trio.current_time()
                self.text_seconds = self.text_ready_at - began
                return True
        return False
