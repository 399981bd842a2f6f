"""The tunables of an index job, separate from the job because checking whether an index is fresh needs no event loop."""

from typing import Final

import msgspec
from msgspec import Struct

from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.scan.rules import ScanRules
from codecompass.settings import IndexSettings
from codecompass.units import MIB, MILLISECONDS, SECONDS

TEXT_FIRST_BYTES: Final = 4 * MIB
"""Bytes to read from which a first build publishes the text first. Smaller ones take about a second in all, which it would only
delay."""

SLICE_SECONDS: Final = 15 * SECONDS
"""How often a first build publishes the symbols extracted so far."""

FORK_FROM_FILES: Final = 50
"""A tree with fewer files is indexed from nothing: that takes no longer than forking an index."""

PARK_FROM_FILES: Final = 200
"""Number of changed files from which the current epoch is parked and a nearer one is looked for."""

KNOWN_FROM_FILES: Final = 100
"""Number of files to read from which git's index and other epochs are consulted first: that takes as long as reading so many."""


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
        """Differs between limits by which the same file could be indexed differently."""
        rules = msgspec.to_builtins(self.rules)
        # Which repositories count decides what is indexed by what is on disk, as their files do; it is no setting of the index.
        del rules["git_roots"]
        return msgspec.json.encode((rules, self.max_line_characters)).decode()


def index_limits(settings: IndexSettings, git_roots: GitRoots = ANYWHERE) -> IndexLimits:
    """Returns the limits that the settings give. A repository that leads out of `git_roots` counts as none."""
    return IndexLimits(
        rules=ScanRules(
            max_file_bytes=settings.max_file_size,
            extra_excludes=settings.exclude,
            extra_includes=settings.include,
            git_roots=git_roots,
        ),
        max_line_characters=settings.max_line_length,
        parse_cpu_seconds=settings.parse_timeout_ms * MILLISECONDS,
    )
