"""The report of an index job: what it did, given at its end."""

from collections.abc import Mapping

from msgspec import Struct

from codecompass.jobs import JobMode, JobOutcome, RecordedProgress
from codecompass.scan.files import Stamp
from codecompass.store.writer import WriteCounts


class JobReport(Struct, frozen=True, kw_only=True):
    """What a job that has published did. Metadata and counts are of the generation that it published."""

    mode: JobMode
    generation: int
    ref: str
    commit: str
    file_count: int
    """Files of the index."""
    symbol_count: int
    """Symbols of the index."""
    source_bytes: int
    """Size of the indexed files."""
    files_scanned: int
    """Files that the scan saw: all, or those of the changed directories."""
    files_changed: int
    """Files that are new, removed or have other content; files with new times alone are not counted."""
    counts: WriteCounts
    """Rows and documents written."""
    quarantined: tuple[str, ...]
    """Paths of files whose parse killed a worker process."""
    duration_seconds: float
    directories: frozenset[str] = frozenset()
    """Directories that a watcher has to watch, as they hold or may come to hold files of the index; '' is the root."""
    repositories: tuple[str, ...] = ()
    """Top directories of git repositories, to be watched as well."""
    linked: Mapping[str, Stamp] = {}
    """Stamps of files with several names: a watcher may miss a write through another name."""
    is_partial_scan: bool = False
    warnings: tuple[str, ...] = ()
    """Warnings of the scan, as sentences for people."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records of the job."""
        progress = RecordedProgress(
            percentage=100,
            files_scanned=self.files_scanned,
            files_total=self.files_changed,
            files_indexed=self.files_changed,
            symbols_extracted=self.counts.symbols_written,
            source_bytes=self.source_bytes,
        )
        return JobOutcome(progress=progress, mode=self.mode, ref=self.ref, changed_files=self.files_changed)
