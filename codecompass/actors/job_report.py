"""What an index job did, told by the job at its end."""

from collections.abc import Mapping

from msgspec import Struct

from codecompass.jobs import JobMode, JobOutcome, RecordedProgress
from codecompass.scan.files import Stamp
from codecompass.store.writer import WriteCounts


class JobReport(Struct, frozen=True, kw_only=True):
    """What a job that has published did."""

    mode: JobMode
    generation: int
    ref: str
    commit: str
    file_count: int
    """Files of the index, as `symbol_count` are its symbols and `source_bytes` the size of its files."""
    symbol_count: int
    source_bytes: int
    files_scanned: int
    """Files that the scan saw: all, or those of the changed directories."""
    files_changed: int
    """Files that are new, removed or of another content; a file with new times alone is not counted."""
    counts: WriteCounts
    quarantined: tuple[str, ...]
    """Paths of files whose parse ended a worker process."""
    duration_seconds: float
    directories: frozenset[str] = frozenset()
    """What a watcher has to watch: directories that hold or may come to hold files of the index, '' for the root."""
    repositories: tuple[str, ...] = ()
    """Top directories of git repositories, to be watched as well."""
    linked: Mapping[str, Stamp] = {}
    """Stamps of files with several names: a watcher may miss a write through another name."""
    is_partial_scan: bool = False
    warnings: tuple[str, ...] = ()
    """Sentences of the scan for people."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records of it."""
        progress = RecordedProgress(
            percentage=100,
            files_scanned=self.files_scanned,
            files_total=self.files_changed,
            files_indexed=self.files_changed,
            symbols_extracted=self.counts.symbols_written,
            source_bytes=self.source_bytes,
        )
        return JobOutcome(progress=progress, mode=self.mode, ref=self.ref, changed_files=self.files_changed)
