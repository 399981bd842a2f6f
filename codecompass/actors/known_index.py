"""What a workspace knows of its index on disk, whether this or another process wrote it. The only place that keeps this state."""

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
"""How often, during a first job, the workspace checks for an index to answer from: the text of its own job, or a publication of
another process. A check that finds none costs a few system calls and a row of the registry."""


class KnownIndex:
    """`on_disk` is the result of the last inspection, with the damage found since.

    `text_ready_at` is when a first index could be searched, by the event loop's clock; minus infinity if there was an index at
    the start. `text_seconds` is how long its text took.
    """

    def __init__(self, bench: Workbench) -> None:
        self.on_disk = IndexOnDisk(schema_status="not_indexed", schema_version=0)
        self.text_ready_at = float("-inf")
        self.text_seconds = 0.0
        self._bench = bench
        self._log = structlog.get_logger(__name__)

    @property
    def meta(self) -> IndexMeta | None:
        """Metadata of the newest generation, None if no index can be read."""
        return self.on_disk.meta

    @property
    def lacks_symbols(self) -> bool:
        """Whether the index holds the text of all files, but not yet all symbols."""
        return self.meta is not None and self.meta.completeness == "partial"

    @property
    def is_whole(self) -> bool:
        """Whether there is an index that holds symbols, as far as is known without damage."""
        return self.meta is not None and not self.lacks_symbols and not self.on_disk.damage

    async def inspect(self) -> None:
        """Reads the state of the index on disk. Raises the same errors as `Workbench.inspect_index`."""
        self.on_disk = await self._bench.inspect_index()

    def mark_damaged(self, damage: str) -> None:
        """Notes that the index is damaged: no more answers come from it."""
        self.on_disk = IndexOnDisk(schema_status="corrupt_manifest", damage=damage)

    def forget_interruption(self) -> None:
        """Notes that a job has succeeded since jobs were interrupted."""
        self.on_disk = replace(self.on_disk, interruption=None)

    async def wait_first(self, published: trio.Event) -> bool:
        """Waits for a first generation: of the job that sets `published`, or of another process.

        Returns True if it appeared during the wait, False at once if there was one or the index is damaged.
        """
        began = trio.current_time()
        # The metadata of a damaged index may still be readable.
        while self.meta is None and not self.on_disk.damage:
            if published.is_set():
                await trio.sleep(FIRST_INSPECTION_SECONDS)
            else:
                with trio.move_on_after(FIRST_INSPECTION_SECONDS):
                    await published.wait()
            try:
                found = await self._bench.inspect_index()
            except CodeCompassError as error:
                self._log.info("index_not_inspected", error=error.message)
                continue
            if self.meta is None and found.meta is not None:
                self.on_disk = found
                self.text_ready_at = trio.current_time()
                self.text_seconds = self.text_ready_at - began
                return True
        return False
