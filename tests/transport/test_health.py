"""The server's state, computed from what is published: which state wins, every field of the contract, no disk access."""

from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from codecompass import __version__
from codecompass.actors.job_state import JobState
from codecompass.actors.observation import WorkspaceObservation
from codecompass.identity import project_id
from codecompass.jobs import Interruption, Progress, RecordedProgress
from codecompass.projects.storage_cleanup import StorageState
from codecompass.projects.survey import SurveyedProject, SurveyResult
from codecompass.protocol.metadata import bare_metadata
from codecompass.store.job_log import JobRecord
from codecompass.store.lock import ProcessMark
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import IndexMeta
from codecompass.transport.health import MAX_PROJECTS, Moment, health

CALM = Moment(uptime_seconds=3600.9, prewarm_status="complete", prewarm_enabled=True, warmset_capacity=3)

META = IndexMeta(
    generation=4,
    completeness="complete",
    ref="main",
    commit="",
    published_at=1_771_842_600.0,
    file_count=3891,
    symbol_count=12847,
    source_bytes=1,
    rules_fingerprint="",
)


def project(name, *, is_default=False):
    root = Path("/srv") / name
    return Project(
        project_id=project_id(root),
        alias=None,
        root=root,
        is_auto_discovered=False,
        is_default=is_default,
        created_at=0.0,
        last_used_at=0.0,
    )


def known(name, **changes):
    entry = SurveyedProject(project=project(name), schema_status="compatible", current_schema_version=SCHEMA_VERSION, meta=META)
    return replace(entry, **changes)


def live(name, **changes):
    observation = WorkspaceObservation(
        project_id=project_id(Path("/srv") / name),
        project_name=project_id(Path("/srv") / name),
        root=f"/srv/{name}",
        lifecycle="running",
        indexing_status="ready",
        freshness_status="fresh",
        schema_status="compatible",
        ref="main",
        generation=4,
        file_count=3891,
        symbol_count=12847,
        last_indexed_at=META.published_at,
    )
    return replace(observation, **changes)


def job(name, **changes):
    state = JobState(
        job_id="abc123",
        project_id=project_id(Path("/srv") / name),
        project_name=name,
        root=f"/srv/{name}",
        mode="incremental",
        status="running",
        cause="sync_repo",
        created_at=META.published_at,
        started_at=META.published_at,
        progress=Progress(stage="parsing", files_scanned=3891, files_total=12),
    )
    return replace(state, **changes)


def report(moment, **arguments):
    reply = health(moment, metadata=bare_metadata(), **arguments)
    return msgspec.json.decode(msgspec.json.encode(reply))


def with_known(*entries, **changes):
    return replace(CALM, known=SurveyResult(projects=entries), **changes)


def test_the_report_is_that_of_the_contract_field_by_field():
    """Seeds 000 and 001, `health_check`."""
    home = project("backend", is_default=True)
    moment = replace(
        with_known(known("backend", project=home)),
        live=(live("backend", active_job=job("backend")),),
        warmset=(home.project_id,),
        home=home.project_id,
    )

    reply = report(moment)

    grammars = reply.pop("grammars")
    assert {"rust", "typescript", "python", "go"} <= set(grammars["available"])
    assert grammars["missing"] == []
    assert reply == {
        "status": "indexing",
        "version": __version__,
        "uptime_seconds": 3600,
        "tantivy_ok": True,
        "sqlite_ok": True,
        "active_job": {
            "job_id": "abc123",
            "project_id": home.project_id,
            "mode": "incremental",
            "status": "running",
            "changed_files": 12,
            "started_at": "2026-02-23T10:30:00Z",
        },
        "interrupted_recovery_report": None,
        "workspace_warmset": {"enabled": True, "capacity": 3, "members": ["/srv/backend"]},
        "prewarm_status": "complete",
        "startup_checks": {
            "index": {
                "status": "compatible",
                "current_schema_version": SCHEMA_VERSION,
                "required_schema_version": SCHEMA_VERSION,
                "message": None,
            }
        },
        "projects": [
            {
                "project_id": home.project_id,
                "repo_root": "/srv/backend",
                "index_status": "indexing",
                "residency": "live",
                "schema_status": "compatible",
                "current_schema_version": SCHEMA_VERSION,
                "required_schema_version": SCHEMA_VERSION,
                "freshness_status": "fresh",
                "last_indexed_at": "2026-02-23T10:30:00Z",
                "ref": "main",
                "file_count": 3891,
                "symbol_count": 12847,
            }
        ],
        "total_projects": 1,
        "metadata": {"codecompass_protocol_version": "1.0"},
    }


FAILED = live("a", lifecycle="failed", last_error="Boom: x")
BUSY = live("b", active_job=job("b"))


@pytest.mark.parametrize(
    ("moment", "status"),
    [
        (CALM, "ready"),
        (replace(CALM, live=(live("a"),)), "ready"),
        (replace(CALM, live=(live("a", freshness_status="stale"),)), "ready"),
        (replace(CALM, live=(BUSY,)), "indexing"),
        (replace(CALM, live=(BUSY,), prewarm_status="warming"), "warming"),
        (replace(CALM, prewarm_status="pending"), "warming"),
        (replace(CALM, prewarm_status="skipped"), "ready"),
        (replace(CALM, live=(BUSY, FAILED), prewarm_status="warming"), "error"),
        (replace(CALM, prewarm_status="failed"), "error"),
        (replace(CALM, known=SurveyResult(registry_error="locked")), "error"),
        (with_known(known("a", schema_status="corrupt_manifest", meta=None)), "error"),
        (with_known(known("a", schema_status="reindex_required", meta=None)), "ready"),
        (with_known(known("a", schema_status="reindex_required", is_newer=True, meta=None)), "error"),
        (with_known(known("a", exists=False, schema_status="corrupt_manifest", meta=None)), "ready"),
        (with_known(known("a", schema_status="not_indexed", meta=None)), "ready"),
    ],
)
def test_the_worst_state_is_that_of_the_server(moment, status):
    assert report(moment)["status"] == status


@pytest.mark.parametrize(
    ("entry", "index_status", "freshness"),
    [
        (known("a"), "ready", "fresh"),
        (known("a", schema_status="not_indexed", meta=None), "not_indexed", "stale"),
        (known("a", schema_status="reindex_required", meta=None), "stale", "stale"),
        (known("a", schema_status="reindex_required", is_newer=True, meta=None), "error", "stale"),
        (known("a", schema_status="compatible", meta=None), "error", "stale"),
        (known("a", exists=False), "stale", "stale"),
    ],
)
def test_a_project_that_is_not_live_stands_as_its_files_do(entry, index_status, freshness):
    (shown,) = report(with_known(entry))["projects"]

    assert (shown["residency"], shown["index_status"], shown["freshness_status"]) == ("on_disk", index_status, freshness)


@pytest.mark.parametrize(
    ("changes", "index_status"),
    [
        ({}, "ready"),
        ({"freshness_status": "stale"}, "stale"),
        ({"indexing_status": "not_indexed", "schema_status": "not_indexed", "generation": 0}, "stale"),
        ({"indexing_status": "indexing"}, "indexing"),
        ({"active_job": job("a")}, "indexing"),
        ({"indexing_status": "failed"}, "error"),
        ({"lifecycle": "failed", "active_job": None}, "error"),
        ({"schema_status": "corrupt_manifest"}, "error"),
        ({"schema_status": "reindex_required"}, "stale"),
        ({"schema_status": "reindex_required", "active_job": job("a")}, "indexing"),
        ({"lifecycle": "restarting", "restarts": 2}, "ready"),
    ],
)
def test_a_live_project_stands_as_its_workspace_says(changes, index_status):
    (shown,) = report(replace(CALM, live=(live("a", **changes),), known=SurveyResult(projects=(known("a"),))))["projects"]

    assert (shown["residency"], shown["index_status"]) == ("live", index_status)
    assert shown.get("restarts", 0) == changes.get("restarts", 0)


@pytest.mark.parametrize("entries", [(), (known("a", schema_status="not_indexed", meta=None),)])
def test_a_live_project_that_nobody_has_indexed_is_not_indexed(entries):
    never = live("a", indexing_status="not_indexed", schema_status="not_indexed", generation=0, last_indexed_at=None)

    (shown,) = report(replace(CALM, live=(never,), known=SurveyResult(projects=entries)))["projects"]

    assert (shown["index_status"], shown["schema_status"]) == ("not_indexed", "not_indexed")


def test_a_failure_is_told_and_a_damaged_index_is_not_well():
    failed_job = job("a", status="failed", error="disk full")
    moment = replace(CALM, live=(live("a", last_job=failed_job), FAILED, live("c", schema_status="corrupt_manifest")))

    reply = report(replace(moment, known=SurveyResult(registry_error="locked", missing_grammars=("zig",))))

    assert {entry["repo_root"]: entry.get("last_error") for entry in reply["projects"]}["/srv/c"] is None
    assert "Boom: x" in str(reply["projects"])
    assert report(replace(CALM, live=(live("a", last_job=failed_job),)))["projects"][0]["last_error"] == "disk full"
    assert (reply["tantivy_ok"], reply["sqlite_ok"], reply["sqlite_error"]) == (False, False, "locked")
    assert reply["grammars"]["missing"] == ["zig"]
    assert "zig" not in reply["grammars"]["available"]


def test_failing_and_live_projects_come_first_and_all_are_counted():
    entries = [known(f"p{n:02}") for n in range(40)]
    moment = replace(
        with_known(*entries), live=(live("p39"), live("p38", lifecycle="failed"), live("p37", active_job=job("p37")))
    )

    reply = report(moment, limit=MAX_PROJECTS)

    roots = [entry["repo_root"] for entry in reply["projects"]]
    assert len(roots) == MAX_PROJECTS == 20
    assert roots[:4] == ["/srv/p38", "/srv/p37", "/srv/p39", "/srv/p00"]
    assert reply["total_projects"] == 40
    assert len(report(moment)["projects"]) == 40


def test_interrupted_jobs_are_summed_and_the_last_one_dates_them():
    entries = (known("a", interruption=Interruption(1, META.published_at)), known("b", interruption=Interruption(2, 1.0)))

    assert report(with_known(*entries))["interrupted_recovery_report"] == {
        "detected": True,
        "interrupted_jobs": 3,
        "last_interrupted_at": "2026-02-23T10:30:00Z",
        "recommended_action": "run sync_repo or index_repo for the affected workspace",
    }
    assert report(with_known(*entries), about=entries[1].project)["interrupted_recovery_report"]["interrupted_jobs"] == 2


def test_of_one_project_nothing_else_is_said():
    moment = replace(with_known(known("a"), known("b", schema_status="reindex_required", meta=None)), live=(FAILED,))

    reply = report(moment, about=project("b"))

    assert [entry["repo_root"] for entry in reply["projects"]] == ["/srv/b"]
    assert reply["total_projects"] == 1
    check = reply["startup_checks"]["index"]
    assert check["status"] == "reindex_required"
    assert "rebuilds it" in check["message"]
    assert "codecompass index --force" in check["message"]


def test_of_an_index_of_a_newer_program_the_startup_check_says_to_upgrade():
    moment = with_known(known("b", schema_status="reindex_required", is_newer=True, meta=None))

    check = report(moment, about=project("b"))["startup_checks"]["index"]

    assert "Upgrade this program" in check["message"]
    assert "--force" not in check["message"]


def test_without_a_project_the_startup_check_says_so():
    check = report(CALM)["startup_checks"]["index"]

    assert (check["status"], check["current_schema_version"]) == ("not_indexed", 0)
    assert check["message"]


def test_a_store_over_its_quota_is_told_and_one_within_it_is_not_mentioned():
    full = replace(CALM, storage=StorageState(used_bytes=20, max_bytes=10, report="too much. Remove something."))

    assert health(CALM, metadata=bare_metadata()).storage is None
    told = health(full, metadata=bare_metadata()).storage
    assert (told.used_bytes, told.max_bytes, told.message) == (20, 10, "too much. Remove something.")


def test_what_another_process_publishes_and_does_is_seen_for_a_live_project_too():
    theirs = JobRecord(
        job_id="j9",
        project_id=project_id(Path("/srv/a")),
        mode="full",
        status="running",
        cause="test",
        error="",
        error_code="",
        ref="",
        process=ProcessMark(1, "x"),
        progress=RecordedProgress(files_total=7),
        changed_files=0,
        duration_ms=None,
        created_at=1.0,
        started_at=2.0,
        finished_at=None,
    )
    newer = known("a", meta=replace(META, published_at=4e9, file_count=77), active_job=theirs, is_elsewhere=True)
    moment = with_known(newer, live=(live("a"),))

    seen = health(moment, metadata=bare_metadata())

    assert (seen.projects[0].file_count, seen.projects[0].index_status, seen.active_job.job_id) == (77, "indexing", "j9")
    ours = with_known(replace(newer, is_elsewhere=False), live=(live("a"),))
    assert health(ours, metadata=bare_metadata()).active_job is None


def test_what_is_wrong_with_the_machine_and_what_scans_could_not_find_out_are_named():
    seen = live("shop", scan_warnings=("nothing counts as tracked in ./: git could not be started",))
    moment = replace(CALM, known=SurveyResult(problems=("git cannot be run",)), live=(seen,))

    found = health(moment, metadata=bare_metadata(warnings=("before",)))

    assert found.metadata.warnings == (
        "before",
        "git cannot be run",
        "/srv/shop: nothing counts as tracked in ./: git could not be started",
    )


def test_a_project_that_cannot_be_registered_has_failed_and_says_why():
    seen = live("shop", indexing_status="failed", schema_status="not_indexed", generation=0, refusal="the disk is full")

    (entry,) = health(replace(CALM, live=(seen,)), metadata=bare_metadata()).projects

    assert (entry.index_status, entry.last_error) == ("error", "the disk is full")
