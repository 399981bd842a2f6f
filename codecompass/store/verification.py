"""Reads every byte of an index and compares checksums, to find data that the disk has lost.

Nothing else finds a file that changed without a change of size and time. It reads the whole index, so `doctor` does it on
request, and a server in the background at a limited rate.
"""

import os
import time
from contextlib import closing, suppress
from typing import Final

from codecompass.errors import IndexDamaged
from codecompass.store.epochs import require_compatible
from codecompass.store.facts_record import Pace, Stamp, break_record, stamp_of
from codecompass.store.index import WorkspaceIndex
from codecompass.store.integrity import add_checksum, verify_facts, verify_text_file
from codecompass.store.layout import ProjectLayout
from codecompass.units import DAYS

VALID_SECONDS: Final = 1 * DAYS
"""A file is compared again after this time."""


class VerifiedFiles:
    """Remembers which files of an index were compared and when, so that an interrupted verification can continue."""

    def __init__(self) -> None:
        self._files: dict[tuple[str, Stamp], float] = {}

    def is_due(self, name: str, stamp: Stamp) -> bool:
        """Returns whether the file with this stamp has not been compared within VALID_SECONDS."""
        at = self._files.get((name, stamp))
        return at is None or time.monotonic() - at > VALID_SECONDS

    def note(self, name: str, stamp: Stamp) -> None:
        """Records that the file with this stamp was compared just now."""
        self._files[name, stamp] = time.monotonic()

    def keep(self, names: frozenset[str]) -> None:
        """Forgets all other files."""
        self._files = {key: at for key, at in self._files.items() if key[0] in names}


def verify_index(layout: ProjectLayout, project_id: str, pace: Pace, compared: VerifiedFiles | None = None) -> None:
    """Reads the current index in `layout`, except for files that are not due according to `compared`.

    Raises IndexDamaged if a file is not as it was written; later readers then get the same error, and the index is rebuilt.
    Raises the same errors as `WorkspaceIndex.snapshot` if it cannot be opened, OSError if it cannot be read.
    """
    compared = VerifiedFiles() if compared is None else compared
    epoch = require_compatible(layout).epoch
    try:
        # Closed before the files are read, which takes long, because an open index cannot be evicted.
        with closing(WorkspaceIndex(layout, project_id)) as index, index.snapshot() as snapshot:
            directory = layout.text(epoch, snapshot.generation)
            files = snapshot.facts.text_files()
        facts = layout.facts(epoch)
        stamp = stamp_of(os.stat(facts))
        if compared.is_due(str(facts), stamp):
            if not verify_facts(layout, epoch, pace):
                add_checksum(layout, epoch, pace)
            compared.note(str(facts), stamp)
        for file in files:
            if compared.is_due(file.name, file.stamp):
                verify_text_file(directory, file, pace)
                compared.note(file.name, file.stamp)
        compared.keep(frozenset({str(facts), *(file.name for file in files)}))
    except IndexDamaged:
        with suppress(OSError):
            break_record(layout, epoch)
        raise
