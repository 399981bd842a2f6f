"""What the log records about jobs while they run, when they end, and when their process ends."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from codecompass.jobs import JobOutcome, RecordedProgress
from codecompass.store import job_log
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import writer_lock
from codecompass.store.registry import Registry, open_registry


@pytest.fixture
def home(tmp_path) -> HomeLayout:
    return HomeLayout(tmp_path / "home")


@pytest.fixture
def registry(home):
    with open_registry(home) as registry:
        yield registry


@pytest.fixture
def project(registry: Registry) -> str:
    return registry.register(Path("/srv/shop")).project_id


def run_process(home: HomeLayout, project: str, statements: str) -> None:
    """Runs `statements` in another process and waits until it has ended."""
    code = (
        "import pathlib, sys\n"
        "from codecompass.store.layout import HomeLayout\n"
        "from codecompass.store.registry import open_registry\n"
        "from codecompass.store.job_log import JobLog\n"
        "home, project = HomeLayout(pathlib.Path(sys.argv[1])), sys.argv[2]\n"
        f"with open_registry(home) as registry:\n    log = JobLog(registry)\n    {statements}\n"
    )
    subprocess.run([sys.executable, "-c", code, str(home.root), project], check=True)


def test_a_job_goes_from_queued_over_running_to_published(registry, project):
    log = JobLog(registry)

    queued = log.create(project, "incremental", cause="cli")
    running = log.start(queued.job_id)
    log.update(queued.job_id, RecordedProgress(percentage=40, files_scanned=10, files_total=10, files_indexed=4))
    midway = log.active(project)
    done = log.finish(queued.job_id, "published", JobOutcome(mode="full", ref="main", changed_files=10))

    assert (queued.status, queued.started_at, queued.cause) == ("queued", None, "cli")
    assert running.status == "running"
    assert running.started_at is not None
    assert midway is not None
    assert (midway.progress.percentage, midway.progress.files_indexed) == (40, 4)
    assert (done.status, done.mode, done.ref, done.changed_files) == ("published", "full", "main", 10)
    assert done.duration_ms is not None
    assert done.duration_ms >= 0
    assert done.progress.percentage == 40
    assert log.active(project) is None
    assert log.recent(project, 5) == (done,)


def test_a_failed_job_keeps_its_reason(registry, project):
    log = JobLog(registry)
    job = log.create(project, "full", cause="cli")

    failed = log.finish(
        job.job_id,
        "failed",
        JobOutcome(error="disk full", error_code="permission_denied", progress=RecordedProgress(percentage=7)),
    )
    assert failed.error_code == "permission_denied"

    assert (failed.status, failed.error, failed.progress.percentage) == ("failed", "disk full", 7)


def test_the_running_job_is_named_before_the_waiting_ones(registry, project):
    log = JobLog(registry)
    first, second = (log.create(project, "incremental", cause="cli") for _ in range(2))

    log.start(second.job_id)

    active = log.active(project)
    assert active is not None
    assert active.job_id == second.job_id
    log.finish(second.job_id, "cancelled")
    active = log.active(project)
    assert active is not None
    assert active.job_id == first.job_id


def test_finished_jobs_come_newest_first_and_the_oldest_are_forgotten(registry, project):
    log = JobLog(registry)
    waiting = log.create(project, "full", cause="cli")
    ids = []

    for _ in range(job_log.KEPT_JOBS + 5):
        job = log.create(project, "incremental", cause="watcher")
        ids.append(log.finish(job.job_id, "published").job_id)

    recent = [job.job_id for job in log.recent(project, 1000)]
    assert recent == ids[:-51:-1]
    assert log.find(waiting.job_id) is not None


def test_a_job_of_a_process_that_ended_is_interrupted(home, registry, project):
    run_process(home, project, "log.start(log.create(project, 'full', cause='cli').job_id)")
    run_process(home, project, "log.create(project, 'incremental', cause='cli')")
    log = JobLog(registry)

    lost = log.recover(home)

    assert [(job.mode, job.status) for job in lost] == [("full", "interrupted"), ("incremental", "interrupted")]
    assert log.active(project) is None
    assert log.recover(home) == ()


def test_a_job_whose_index_is_being_written_is_not(home, registry, project):
    """The lock shows that its owner is alive, even if the process table does not: it may be in another container."""
    run_process(home, project, "log.start(log.create(project, 'full', cause='cli').job_id)")

    with writer_lock(home.project(project), "test"):
        assert JobLog(registry).recover(home) == ()

    assert len(JobLog(registry).recover(home)) == 1


def test_a_job_of_a_living_process_may_be_about_to_take_the_lock(home, registry, project):
    log = JobLog(registry)
    job = log.create(project, "full", cause="cli")
    assert log.recover(home) == ()

    log.start(job.job_id)
    assert log.recover(home) == ()


def test_a_job_that_lost_its_lock_long_ago_is_interrupted_though_its_process_lives(home, registry, project, monkeypatch):
    """A server whose disk was full when the job ended could not record that; the entry must not stay for ever."""
    log = JobLog(registry)
    log.start(log.create(project, "full", cause="cli").job_id)
    monkeypatch.setattr(job_log, "UNLOCKED_GRACE_SECONDS", 0.0)

    assert len(log.recover(home)) == 1


def test_a_new_job_ends_what_was_left_running_in_its_project_only(home, registry, project):
    other = registry.register(Path("/srv/other")).project_id
    run_process(home, project, "log.start(log.create(project, 'full', cause='cli').job_id)")
    run_process(home, other, "log.start(log.create(project, 'full', cause='cli').job_id)")
    log = JobLog(registry)

    log.start(log.create(project, "incremental", cause="cli").job_id)

    assert [job.status for job in log.recent(project, 5)] == ["interrupted"]
    assert log.recent(other, 5) == ()


def test_an_interruption_is_reported_until_the_next_success(home, registry, project):
    log = JobLog(registry)
    assert log.interruption(project) is None
    for _ in range(2):
        run_process(home, project, "log.start(log.create(project, 'full', cause='cli').job_id)")
    log.recover(home)

    report = log.interruption(project)
    log.finish(log.create(project, "full", cause="cli").job_id, "failed", JobOutcome(error="x"))
    after_failure = log.interruption(project)
    log.finish(log.create(project, "full", cause="cli").job_id, "published")

    assert report is not None
    assert report.n_jobs == 2
    assert report.last_at > 0
    assert after_failure == report
    assert log.interruption(project) is None


def test_a_record_is_read_before_another_process_can_remove_it(home, registry, project):
    """`stop` forgets a project as soon as its job is recorded as cancelled: the job's process failed, and did not say that it was
    stopped."""
    log, statements = JobLog(registry), []
    with open_registry(home) as other:
        registry._connection.set_trace_callback(statements.append)
        for change in (
            lambda: log.create(project, "full", cause="cli", job_id="a"),
            lambda: log.start("a"),
            lambda: log.finish("a", "cancelled"),
        ):
            record = change()
            assert statements[-1] == "COMMIT"
        registry._connection.set_trace_callback(None)
        other.remove(project)

    assert (record.job_id, record.status) == ("a", "cancelled")
    assert log.find("a") is None


def test_jobs_go_with_their_project(registry, project):
    log = JobLog(registry)
    job = log.create(project, "full", cause="cli")

    registry.remove(project)

    assert log.find(job.job_id) is None


def test_a_clock_that_is_set_back_makes_no_negative_times_and_no_lasting_interruption(home, registry, project, monkeypatch):
    run_process(home, project, "log.start(log.create(project, 'full', cause='cli').job_id)")
    log = JobLog(registry)
    monkeypatch.setattr(time, "time", lambda real=time.time: real() + 86_400)
    log.recover(home)
    assert log.interruption(project) is not None
    job = log.create(project, "full", cause="cli")
    log.start(job.job_id)
    monkeypatch.undo()

    done = log.finish(job.job_id, "published")

    assert done.duration_ms == 0
    assert log.interruption(project) is None
