"""The records of index jobs in the registry: which process runs them, their progress, and how they ended.

    queued -> running -> published | failed | cancelled
         \\__________\\-> interrupted            recorded by `recover`, after the process is gone

Owns the tables `jobs`, `error_codes` and `stop_requests`. A running job is alive while its project's writer lock is held, because
the system releases the lock however a process ends. The process id is only needed for the moments before the lock is taken and
after it is released.
"""

import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Final

from codecompass.errors import InternalError, PermissionDenied
from codecompass.jobs import FinalStatus, Interruption, Job, JobMode, JobOutcome, RecordedProgress
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import ProcessMark, is_alive, is_locked, this_process
from codecompass.store.registry import Registry
from codecompass.units import SECONDS

KEPT_JOBS: Final = 50
"""How many records are kept per project, beside those of open jobs."""

UNLOCKED_GRACE_SECONDS: Final = 30 * SECONDS
"""How long a running job of a living process may not hold its lock, because it is about to take it or has just released it."""


class JobRecord(Job, frozen=True, kw_only=True):
    """A job as recorded in the registry."""

    progress: RecordedProgress
    process: ProcessMark
    """The process that runs or ran it."""
    ref: str
    changed_files: int
    """Files that were new, edited or gone; 0 until the job has published."""
    duration_ms: int | None
    """Wall time from its start, None until it has ended."""


_COLUMNS: Final = (
    "job_id, project_id, mode, status, cause, error, ref, pid, process_started, progress, files_scanned, "
    "files_total, files_indexed, symbols_extracted, source_bytes, changed_files, duration_ms, created_at, started_at, finished_at"
)

_OTHER_ERROR_CODE: Final = "coalesce((SELECT code FROM error_codes WHERE error_codes.job_id = jobs.job_id), '')"
"""In place of the column `error_code`, in a registry without it."""

_OPEN_JOBS: Final = (
    "SELECT job_id, project_id, status, pid, process_started, updated_at FROM jobs "
    "WHERE status IN ('queued', 'running') ORDER BY sequence"
)


def new_job_id() -> str:
    """Returns a random id for a new job."""
    return os.urandom(6).hex()


class JobLog:
    """The job records of all projects, through the connection of a registry: for one caller at a time.

    A record is returned as the transaction that changes it reads it: as soon as that has ended, another process may remove the
    project with its jobs, as `codecompass stop` does with one whose first index was ended.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def create(self, project_id: str, mode: JobMode, *, cause: str, job_id: str | None = None) -> JobRecord:
        """Returns a new queued job of the calling process, with the given id or a new one."""
        job_id = job_id or new_job_id()
        process = this_process()
        now = time.time()
        with self._registry.transaction() as connection:
            connection.execute(
                "INSERT INTO jobs (job_id, project_id, mode, status, cause, error, ref, pid, process_started, progress, "
                "files_scanned, files_total, files_indexed, symbols_extracted, source_bytes, changed_files, created_at, "
                "updated_at) VALUES (?, ?, ?, 'queued', ?, '', '', ?, ?, 0, 0, 0, 0, 0, 0, 0, ?, ?)",
                (job_id, project_id, mode, cause, process.pid, process.started, now, now),
            )
            return self._require(job_id)

    def start(self, job_id: str) -> JobRecord:
        """Records that the job runs. Any other running job of the project becomes interrupted: there is only one writer."""
        now = time.time()
        with self._registry.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET status = 'interrupted', finished_at = ?, updated_at = ? WHERE status = 'running' "
                "AND project_id = (SELECT project_id FROM jobs WHERE job_id = ?) AND job_id != ?",
                (now, now, job_id, job_id),
            )
            connection.execute(
                "UPDATE jobs SET status = 'running', started_at = ?, updated_at = ? WHERE job_id = ?", (now, now, job_id)
            )
            return self._require(job_id)

    def update(self, job_id: str, progress: RecordedProgress) -> bool:
        """Records the progress of the job, and returns whether somebody wants it ended. Each call is a transaction: call it at
        most a few times a second."""
        with self._registry.transaction() as connection:
            _write_progress(connection, job_id, progress, time.time())
            return connection.execute("SELECT 1 FROM stop_requests WHERE job_id = ?", (job_id,)).fetchone() is not None

    def request_stop(self, job_id: str) -> None:
        """Asks the process that runs the job, of this version or a later one, to end it: it finds out with its next `update`."""
        with self._registry.transaction() as connection:
            connection.execute("INSERT OR IGNORE INTO stop_requests SELECT job_id FROM jobs WHERE job_id = ?", (job_id,))

    def finish(self, job_id: str, status: FinalStatus, outcome: JobOutcome = JobOutcome()) -> JobRecord:  # noqa: B008 (frozen)
        """Records the end of the job, and removes the oldest records of the project."""
        now = time.time()
        with self._registry.transaction() as connection:
            if outcome.progress is not None:
                _write_progress(connection, job_id, outcome.progress, now)
            connection.execute(
                "UPDATE jobs SET status = ?, mode = coalesce(?, mode), ref = ?, changed_files = ?, error = ?, "
                # A clock that was set back must not give a negative duration.
                "duration_ms = max(0, CAST((? - coalesce(started_at, created_at)) * 1000 AS INTEGER)), "
                "finished_at = ?, updated_at = ? WHERE job_id = ?",
                (status, outcome.mode, outcome.ref, outcome.changed_files, outcome.error, now, now, now, job_id),
            )
            if self._registry.has_error_codes:
                connection.execute("UPDATE jobs SET error_code = ? WHERE job_id = ?", (outcome.error_code, job_id))
            elif outcome.error_code:
                connection.execute("INSERT OR REPLACE INTO error_codes VALUES (?, ?)", (job_id, outcome.error_code))
            connection.execute(
                "DELETE FROM jobs WHERE status NOT IN ('queued', 'running') "
                "AND project_id = (SELECT project_id FROM jobs WHERE job_id = ?) "
                "AND sequence NOT IN (SELECT sequence FROM jobs AS kept WHERE kept.project_id = jobs.project_id "
                "ORDER BY sequence DESC LIMIT ?)",
                (job_id, KEPT_JOBS),
            )
            return self._require(job_id)

    def find(self, job_id: str) -> JobRecord | None:
        """Returns the job with this id."""
        found = self._jobs("WHERE job_id = ?", (job_id,))
        return found[0] if found else None

    def active(self, project_id: str) -> JobRecord | None:
        """Returns the project's running job, otherwise its next queued one."""
        found = self._jobs(
            "WHERE project_id = ? AND status IN ('queued', 'running') ORDER BY status DESC, sequence LIMIT 1", (project_id,)
        )
        return found[0] if found else None

    def recent(self, project_id: str, limit: int) -> tuple[JobRecord, ...]:
        """Returns the project's finished jobs, newest first."""
        return self._jobs(
            "WHERE project_id = ? AND status NOT IN ('queued', 'running') ORDER BY sequence DESC LIMIT ?", (project_id, limit)
        )

    def recover(self, home: HomeLayout) -> tuple[JobRecord, ...]:
        """Records every open job whose process is gone as interrupted, and returns these jobs.

        Writes nothing if there are none, so it is cheap enough to call every second. Returns none if the registry cannot be
        written.
        """
        now = time.time()
        if not _lost(self._registry.rows(_OPEN_JOBS), home, now):
            return ()
        try:
            return self._interrupt_lost(home, now)
        except PermissionDenied:
            return ()

    def _interrupt_lost(self, home: HomeLayout, now: float) -> tuple[JobRecord, ...]:
        with self._registry.transaction(may_be_of_copy=True) as connection:
            # Read again inside the write transaction: a job may have ended meanwhile.
            lost = _lost(connection.execute(_OPEN_JOBS).fetchall(), home, now)
            connection.executemany(
                "UPDATE jobs SET status = 'interrupted', finished_at = ?, updated_at = ? WHERE job_id = ?",
                [(now, now, job_id) for job_id in lost],
            )
            return tuple(self._require(job_id) for job_id in lost)

    def all_active(self) -> Mapping[str, JobRecord]:
        """Returns the active job (see `active`) of each project that has one, by project id."""
        found = self._jobs("WHERE status IN ('queued', 'running') ORDER BY status, sequence DESC", ())
        return {job.project_id: job for job in found}

    def all_interruptions(self) -> Mapping[str, Interruption]:
        """Returns the interruptions since the last successful job of each project that has any, by project id."""
        return self._interruptions()

    def interruption(self, project_id: str) -> Interruption | None:
        """Returns the interruptions since the project's last successful job, None if there are none."""
        return self._interruptions("AND project_id = ?", (project_id,)).get(project_id)

    def _interruptions(self, condition: str = "", arguments: Sequence[object] = ()) -> Mapping[str, Interruption]:
        # By the order of the records, not by their times, because clocks can be set back.
        rows = self._registry.rows(
            "SELECT project_id, count(*), max(finished_at) FROM jobs AS lost "
            f"WHERE status = 'interrupted' {condition} AND sequence > "
            "coalesce((SELECT max(sequence) FROM jobs WHERE project_id = lost.project_id AND status = 'published'), 0) "
            "GROUP BY project_id",
            arguments,
        )
        return {name: Interruption(count, last) for name, count, last in rows}

    def _require(self, job_id: str) -> JobRecord:
        found = self.find(job_id)
        if found is None:
            raise InternalError(f"job {job_id} is gone from the registry: its project was removed. Index it again.")
        return found

    def _jobs(self, rest: str, arguments: Sequence[object]) -> tuple[JobRecord, ...]:
        error_code = "error_code" if self._registry.has_error_codes else _OTHER_ERROR_CODE
        return tuple(
            JobRecord(
                job_id=row[0],
                project_id=row[1],
                mode=row[2],
                status=row[3],
                cause=row[4],
                error=row[5],
                ref=row[6],
                process=ProcessMark(row[7], row[8]),
                progress=RecordedProgress(
                    percentage=row[9],
                    files_scanned=row[10],
                    files_total=row[11],
                    files_indexed=row[12],
                    symbols_extracted=row[13],
                    source_bytes=row[14],
                ),
                changed_files=row[15],
                duration_ms=row[16],
                created_at=row[17],
                started_at=row[18],
                finished_at=row[19],
                error_code=row[20],
            )
            for row in self._registry.rows(f"SELECT {_COLUMNS}, {error_code} FROM jobs {rest}", arguments)
        )


def _lost(rows: Sequence[tuple], home: HomeLayout, now: float) -> list[str]:  # type: ignore[type-arg]
    lost = []
    for job_id, project_id, status, pid, started, updated_at in rows:
        is_running = status == "running"
        if is_running and is_locked(home.project(project_id)):
            continue
        is_recent = not is_running or now - updated_at < UNLOCKED_GRACE_SECONDS
        if is_recent and is_alive(ProcessMark(pid, started)):
            continue
        lost.append(job_id)
    return lost


def _write_progress(connection: sqlite3.Connection, job_id: str, progress: RecordedProgress, now: float) -> None:
    connection.execute(
        "UPDATE jobs SET progress = ?, files_scanned = ?, files_total = ?, files_indexed = ?, symbols_extracted = ?, "
        "source_bytes = ?, updated_at = ? WHERE job_id = ?",
        (
            progress.percentage,
            progress.files_scanned,
            progress.files_total,
            progress.files_indexed,
            progress.symbols_extracted,
            progress.source_bytes,
            now,
            job_id,
        ),
    )
