"""The tunables of an index job, apart from the job: checking whether an index is fresh needs no event loop."""

from typing import Final

import msgspec
from msgspec import Struct

from codecompass.scan.rules import ScanRules
from codecompass.settings import IndexSettings
from codecompass.units import MIB, MILLISECONDS, SECONDS

TEXT_FIRST_BYTES: Final = 4 * MIB
"""Smaller first builds take about a second in all, and publishing the text first would only delay them."""

SLICE_SECONDS: Final = 15 * SECONDS
"""How often a first build publishes the symbols that it has."""


FORK_FROM_FILES: Final = 50
"""A smaller tree is built from nothing: that takes no longer than to fork an index."""

PARK_FROM_FILES: Final = 200
"""Changed files from which the index as it was is kept, and a nearer one is looked for."""


KNOWN_FROM_FILES: Final = 100
"""Files to be read from which git's index and other epochs are asked first: that takes as long as reading so many files."""


class IndexLimits(Struct, frozen=True, kw_only=True):
    """Tunables of a job. Sizes in bytes, times in seconds."""

    rules: ScanRules
    max_line_characters: int = 20_000
    parse_cpu_seconds: float = 10.0
    slice_seconds: float = SLICE_SECONDS
    text_first_bytes: int = TEXT_FIRST_BYTES
    fork_from_files: int = FORK_FROM_FILES
    park_from_files: int = PARK_FROM_FILES
    known_from_files: int = KNOWN_FROM_FILES

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same file could be indexed differently."""
        return msgspec.json.encode((self.rules, self.max_line_characters)).decode()


def index_limits(settings: IndexSettings) -> IndexLimits:
    """Returns the limits that the configuration sets."""
    return IndexLimits(
        rules=ScanRules(max_file_bytes=settings.max_file_size, extra_excludes=settings.exclude, extra_includes=settings.include),
        max_line_characters=settings.max_line_length,
        parse_cpu_seconds=settings.parse_timeout_ms * MILLISECONDS,
    )
