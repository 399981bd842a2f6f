"""The log of index jobs in the registry: who indexes what, how far it is, and what became of it.

    queued -> running -> published | failed | cancelled
         \\__________\\-> interrupted            found at the next look, when their process is gone

Owns the table `jobs`. A running job is alive while its project's writer lock is held: the lock, not the process id, is what
the system releases however a process ends. The id only bridges the moments around taking and dropping the lock.
"""

import secrets
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
"""Finished jobs of a project that are remembered."""

UNLOCKED_GRACE_SECONDS: Final = 30 * SECONDS
"""How long a running job of a living process may be seen without its lock: it is about to take it, or just let it go."""


class JobRecord(Job, frozen=True, kw_only=True):
    """A job as the registry has it."""

    progress: RecordedProgress
    process: ProcessMark
    """The process that runs or ran it."""
    ref: str
    changed_files: int
    """Files that were new, edited or gone; 0 until it has published."""
    duration_ms: int | None
    """Wall time from its start, None until it has ended."""


_COLUMNS: Final = (
    "job_id, project_id, mode, status, cause, error, error_code, ref, pid, process_started, progress, files_scanned, "
    "files_total, files_indexed, symbols_extracted, source_bytes, changed_files, duration_ms, created_at, started_at, finished_at"
)


_OPEN_JOBS: Final = (
    "SELECT job_id, project_id, status, pid, process_started, updated_at FROM jobs "
    "WHERE status IN ('queued', 'running') ORDER BY sequence"
)


def new_job_id() -> str:
    """Returns an id that no job has."""
    return secrets.token_hex(6)


class JobLog:
    """Jobs of all projects, through the registry's connection and under its rule: one caller at a time."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def create(self, project_id: str, mode: JobMode, *, cause: str, job_id: str | None = None) -> JobRecord:
        """Returns a new queued job of the calling process, with an id of its own or one from `new_job_id`."""
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
        """Notes that the job runs. Whatever else was running in its project is over: there is one writer at a time."""
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

    def update(self, job_id: str, progress: RecordedProgress) -> None:
        """Overwrites how far the job is. A write of its own: call it a few times a second at most."""
        with self._registry.transaction() as connection:
            connection.execute(
                "UPDATE jobs SET progress = ?, files_scanned = ?, files_total = ?, files_indexed = ?, "
                "symbols_extracted = ?, source_bytes = ?, updated_at = ? WHERE job_id = ?",
                (*_counters(progress), time.time(), job_id),
            )

    def finish(self, job_id: str, status: FinalStatus, outcome: JobOutcome = JobOutcome()) -> JobRecord:  # noqa: B008 (frozen)
        """Records the end of the job; forgets the project's oldest jobs."""
        now = time.time()
        with self._registry.transaction() as connection:
            if outcome.progress is not None:
                connection.execute(
                    "UPDATE jobs SET progress = ?, files_scanned = ?, files_total = ?, files_indexed = ?, "
                    "symbols_extracted = ?, source_bytes = ? WHERE job_id = ?",
                    (*_counters(outcome.progress), job_id),
                )
            connection.execute(
                "UPDATE jobs SET status = ?, mode = coalesce(?, mode), ref = ?, changed_files = ?, error = ?, error_code = ?, "
                # A clock that was set back meanwhile must not make it a negative time.
                "duration_ms = max(0, CAST((? - coalesce(started_at, created_at)) * 1000 AS INTEGER)), "
                "finished_at = ?, updated_at = ? WHERE job_id = ?",
                (
                    status,
                    outcome.mode,
                    outcome.ref,
                    outcome.changed_files,
                    outcome.error,
                    outcome.error_code,
                    now,
                    now,
                    now,
                    job_id,
                ),
            )
            connection.execute(
                "DELETE FROM jobs WHERE status NOT IN ('queued', 'running') "
                "AND project_id = (SELECT project_id FROM jobs WHERE job_id = ?) "
                "AND sequence NOT IN (SELECT sequence FROM jobs AS kept WHERE kept.project_id = jobs.project_id "
                "ORDER BY sequence DESC LIMIT ?)",
                (job_id, KEPT_JOBS),
            )
        return self._require(job_id)

    def find(self, job_id: str) -> JobRecord | None:
        """Returns the job of that id."""
        found = self._jobs("WHERE job_id = ?", (job_id,))
        return found[0] if found else None

    def active(self, project_id: str) -> JobRecord | None:
        """Returns the project's running job, else the queued one that is next."""
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
        """Notes as interrupted every open job that has nobody left to finish it, and returns those found now.

        Writes nothing where none is found: cheap enough to be called every second. Where the log cannot be written, none is
        noted; whoever may write it next does so.
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
            # Looked at again inside the write transaction: a job that ends meanwhile waits with saying so until we are done.
            lost = _lost(connection.execute(_OPEN_JOBS).fetchall(), home, now)
            connection.executemany(
                "UPDATE jobs SET status = 'interrupted', finished_at = ?, updated_at = ? WHERE job_id = ?",
                [(now, now, job_id) for job_id in lost],
            )
        return tuple(self._require(job_id) for job_id in lost)

    def all_active(self) -> Mapping[str, JobRecord]:
        """Returns the active job of each project that has one, by the project's id; see `active`."""
        found = self._jobs("WHERE status IN ('queued', 'running') ORDER BY status, sequence DESC", ())
        return {job.project_id: job for job in found}

    def all_interruptions(self) -> Mapping[str, Interruption]:
        """Returns what was interrupted since the last success, of each project that has such, by the project's id."""
        rows = self._registry.rows(
            "SELECT project_id, count(*), max(finished_at) FROM jobs AS lost WHERE status = 'interrupted' AND sequence > "
            "coalesce((SELECT max(sequence) FROM jobs WHERE project_id = lost.project_id AND status = 'published'), 0) "
            "GROUP BY project_id"
        )
        return {project_id: Interruption(count, last) for project_id, count, last in rows}

    def interruption(self, project_id: str) -> Interruption | None:
        """Returns what was interrupted since the project's last successful job, None where nothing was."""
        # By the order in which jobs came, not by their times: clocks are set.
        ((count, last),) = self._registry.rows(
            "SELECT count(*), max(finished_at) FROM jobs WHERE project_id = ? AND status = 'interrupted' AND sequence > "
            "coalesce((SELECT max(sequence) FROM jobs WHERE project_id = ? AND status = 'published'), 0)",
            (project_id, project_id),
        )
        return Interruption(count, last) if count else None

    def _require(self, job_id: str) -> JobRecord:
        found = self.find(job_id)
        if found is None:
            raise InternalError(f"job {job_id} is gone from the registry: its project was removed. Index it again.")
        return found

    def _jobs(self, rest: str, arguments: Sequence[object]) -> tuple[JobRecord, ...]:
        return tuple(
            JobRecord(
                job_id=row[0],
                project_id=row[1],
                mode=row[2],
                status=row[3],
                cause=row[4],
                error=row[5],
                error_code=row[6],
                ref=row[7],
                process=ProcessMark(row[8], row[9]),
                progress=RecordedProgress(
                    percentage=row[10],
                    files_scanned=row[11],
                    files_total=row[12],
                    files_indexed=row[13],
                    symbols_extracted=row[14],
                    source_bytes=row[15],
                ),
                changed_files=row[16],
                duration_ms=row[17],
                created_at=row[18],
                started_at=row[19],
                finished_at=row[20],
            )
            for row in self._registry.rows(f"SELECT {_COLUMNS} FROM jobs {rest}", arguments)
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


def _counters(progress: RecordedProgress) -> tuple[int, ...]:
    return (
        progress.percentage,
        progress.files_scanned,
        progress.files_total,
        progress.files_indexed,
        progress.symbols_extracted,
        progress.source_bytes,
    )
