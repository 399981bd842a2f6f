"""The word summaries of the projects of this home: read before a question about many of them, and made after it where they are
missing or old, one at a time, so that the next question opens few indexes."""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Final

import structlog
import trio

from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.cold_readers import ColdReaders
from codecompass.actors.failures import panics_as_errors
from codecompass.store.index import files_stamp
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.registry import Project
from codecompass.store.word_summary import WordSummary, read_summary, write_summary
from codecompass.units import MIB, SECONDS

MAX_BYTES: Final = 64 * MIB
"""Summaries that are kept in memory: of a thousand small projects, or of eighty with 5,000 files."""

MAX_WANTED: Final = 4_096
RETRY_SECONDS: Final = 600 * SECONDS
"""After this a summary that could not be made is tried again: one that hangs costs a reader, once."""

MAKING_SECONDS: Final = 10 * SECONDS
"""A summary of 20,000 files takes 2."""


class Summaries:
    """Reads and makes summaries. `serve` must run beside it."""

    def __init__(self, home: HomeLayout, blocking: BlockingCalls, readers: ColdReaders) -> None:
        self._home = home
        self._blocking = blocking
        self._readers = readers
        self._kept: OrderedDict[str, WordSummary] = OrderedDict()
        self._n_bytes = 0
        self._lock = threading.Lock()
        self._wanted: OrderedDict[str, None] = OrderedDict()
        self._has_wanted = trio.Event()
        self._failed: OrderedDict[str, float] = OrderedDict()
        """When, in trio time, the summary of a project could not be made."""

    async def known(self, projects: Sequence[Project]) -> Mapping[str, WordSummary]:
        """Returns the summaries that are of the newest state of their index, by project id. The others are made later, and those
        that an older version has made are made again."""
        ids = [each.project_id for each in projects]
        found = await self._blocking.run(lambda call: self._read(ids, call), self._home.root)
        now = trio.current_time()
        for project_id in ids:
            is_due = now - self._failed.get(project_id, -RETRY_SECONDS) >= RETRY_SECONDS
            summary = found.get(project_id)
            if (summary is None or not summary.is_newest) and is_due and len(self._wanted) < MAX_WANTED:
                self._wanted[project_id] = None
        if self._wanted:
            self._has_wanted.set()
        return found

    async def serve(self) -> None:
        """Makes the summaries that were missing. Runs until cancelled."""
        while True:
            await self._has_wanted.wait()
            project_id, _ = self._wanted.popitem(last=False)
            if not self._wanted:
                self._has_wanted = trio.Event()
            if not await self._make(project_id):
                self._failed[project_id] = trio.current_time()
                if len(self._failed) > MAX_WANTED:
                    self._failed.popitem(last=False)

    async def _make(self, project_id: str) -> bool:
        layout = self._home.project(project_id)
        try:
            with trio.move_on_after(MAKING_SECONDS):
                return await self._readers.run(MAKING_SECONDS, make_summary, layout, late_seconds=0)
        except Exception as error:  # noqa: BLE001 (a summary that cannot be made must not end the server)
            # It is made later; until then the index itself is asked.
            structlog.get_logger(__name__).warning("summary_not_made", project_id=project_id, error=str(error))
        return False

    def _read(self, ids: Sequence[str], call: BlockingCall) -> Mapping[str, WordSummary]:
        found: dict[str, WordSummary] = {}
        with self._lock:
            for project_id in ids:
                if call.is_over():
                    break
                summary = self._newest(project_id)
                if summary is not None:
                    found[project_id] = summary
        return found

    def _newest(self, project_id: str) -> WordSummary | None:
        layout = self._home.project(project_id)
        kept = self._kept.pop(project_id, None)
        if kept is not None:
            self._n_bytes -= kept.n_bytes
        is_newest = kept is not None and kept.stamp == files_stamp(layout)
        summary = kept if is_newest else read_summary(layout)
        if summary is not None:
            self._kept[project_id] = summary
            self._n_bytes += summary.n_bytes
        while self._n_bytes > MAX_BYTES:
            self._n_bytes -= self._kept.popitem(last=False)[1].n_bytes
        return summary


def make_summary(layout: ProjectLayout) -> bool:
    """As `write_summary`, with a panic of the text index as an error. In a reader process or a thread."""
    return panics_as_errors(write_summary)(layout)
