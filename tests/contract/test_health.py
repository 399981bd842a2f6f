"""`health_check`, and the progress of jobs in `index_status` and `health_check`."""

import re
from collections.abc import AsyncIterator

import pytest
import trio

from codecompass import __version__
from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from codecompass.store.schema import SCHEMA_VERSION
from tests.support.processes import run_python
from tests.support.serving import Serving, open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")

CHECK = {"status": "compatible", "current_schema_version": SCHEMA_VERSION, "required_schema_version": SCHEMA_VERSION}


async def test_health_has_every_field_of_the_contract(backend, repository):
    """Each field, null where the protocol has null."""
    await backend.call("locate_symbol", name="Claims")
    project = (await backend.registry.run(Registry.find, "backend")).project_id
    await backend.wait_known(project)
    await backend.wait_watched(project)

    reply = await backend.call("health_check", workspace=repository.root)

    uptime, grammars = reply.pop("uptime_seconds"), reply.pop("grammars")
    (entry,) = reply.pop("projects")
    assert isinstance(uptime, int)
    assert {"rust", "typescript", "python", "go"} <= set(grammars["available"])
    assert grammars["missing"] == []
    assert TIME.fullmatch(entry.pop("last_indexed_at"))
    assert reply == {
        "status": "ready",
        "version": __version__,
        "tantivy_ok": True,
        "sqlite_ok": True,
        "active_job": None,
        "interrupted_recovery_report": None,
        "workspace_warmset": {"enabled": False, "capacity": 3, "members": []},
        "prewarm_status": "skipped",
        "startup_checks": {"index": {**CHECK, "message": None}},
        "total_projects": 1,
        # Every reply about a workspace names it.
        "metadata": {"codecompass_protocol_version": "1.0", "workspace": str(repository.root)},
    }
    assert entry == {
        "project_id": "backend",
        "repo_root": str(repository.root),
        "index_status": "ready",
        "schema_status": "compatible",
        "current_schema_version": SCHEMA_VERSION,
        "required_schema_version": SCHEMA_VERSION,
        "freshness_status": "fresh",
        "ref": "main",
        "file_count": 4,
        "symbol_count": 23,
        "residency": "live",
    }


async def test_a_workspace_that_is_not_registered_is_an_error(backend, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    refusal = await backend.refusal("health_check", workspace=elsewhere)

    assert refusal["error"]["code"] == "workspace_not_registered"


# While a job runs.


@pytest.fixture
async def indexing(repository: TestWorkspace) -> AsyncIterator[Serving]:
    """Serves a repository that takes a while to index, with its job just started."""
    repository.write({f"src/m{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(300)})
    settings = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0))
    async with open_serving(repository.home, settings=settings) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, alias="backend", as_default=True)
        yield serving


async def test_index_repo_answers_with_the_job_and_its_token(indexing):
    reply = await indexing.call("index_repo", force=False)

    assert list(reply) == ["job_id", "progress_token", "status", "mode", "file_count", "metadata"]
    assert reply["progress_token"] == f"index-job-{reply['job_id']}"
    assert (reply["status"], reply["mode"]) == ("running", "full")
    assert reply["metadata"]["indexing_status"] == "indexing"
    assert reply["metadata"]["result_completeness"] == "partial"


async def test_index_status_tells_a_client_that_polls_what_notifications_would(indexing, repository):
    job = await indexing.call("index_repo")

    polled = []
    with trio.fail_after(60):
        while True:
            status = await indexing.call("index_status", workspace=repository.root)
            if status["active_job"] is None:
                break
            polled.append(status)

    first = polled[0]
    assert first["index_status"] == "indexing"
    assert (first["project_id"], first["repo_root"]) == ("backend", str(repository.root))
    active = first["active_job"]
    assert (active["job_id"], active["progress_token"]) == (job["job_id"], job["progress_token"])
    assert active["mode"] == "full"
    assert {each["active_job"]["status"] for each in polled} <= {"queued", "running"}
    assert TIME.fullmatch(active["started_at"])
    for field in ("files_scanned", "files_indexed", "symbols_extracted", "estimated_completion_pct"):
        values = [each["active_job"][field] for each in polled if each["active_job"]["job_id"] == job["job_id"]]
        assert all(type(value) is int for value in values)
        assert values == sorted(values), f"{field} never falls"
    assert all(0 <= each["active_job"]["estimated_completion_pct"] <= 100 for each in polled)
    assert "interrupted_recovery_report" not in first
    assert status["index_status"] == "ready"


async def test_health_names_the_active_job(indexing):
    """The server's status is `indexing` meanwhile."""
    job = await indexing.call("index_repo")

    async def counted():
        said = await indexing.call("health_check")
        assert said["active_job"] is not None, "the job ended before it was seen"
        return said if "changed_files" in said["active_job"] else None

    reply = await until(counted)

    active = reply["active_job"]
    assert TIME.fullmatch(active.pop("started_at"))
    expected = {"job_id": job["job_id"], "project_id": "backend", "mode": "full", "status": "running", "changed_files": 300}
    assert active == expected
    assert reply["status"] == "indexing"
    assert reply["projects"][0]["index_status"] == "indexing"


BEGIN_A_JOB = """
import sys
from pathlib import Path
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Registry, open_registry

with open_registry(HomeLayout(Path(sys.argv[1]))) as registry:
    log = JobLog(registry)
    log.start(log.create(sys.argv[2], "full", cause="test").job_id)
"""
"""Run in a separate process, which then exits."""


async def interruption(serving):
    return (await serving.call("index_status")).get("interrupted_recovery_report")


async def test_jobs_of_a_process_that_is_gone_are_reported_until_one_succeeds(repository):
    """`interrupted_recovery_report`: present if reconciliation found interrupted jobs, omitted otherwise."""
    repository.write({"a.py": "x = 1\n"})
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        begun = await trio.to_thread.run_sync(run_python, BEGIN_A_JOB, str(repository.home), project.project_id)
        assert begun.returncode == 0, begun.stderr
    async with open_serving(repository.home) as serving:
        report = await until(lambda: interruption(serving))
        health = await serving.call("health_check")
        await serving.call("index_repo", wait_seconds=50)
        after = await serving.call("index_status")

    assert TIME.fullmatch(report.pop("last_interrupted_at"))
    assert report == {
        "detected": True,
        "interrupted_jobs": 1,
        "recommended_action": "run sync_repo or index_repo for the affected workspace",
    }
    assert set(health["interrupted_recovery_report"]) == {*report, "last_interrupted_at"}
    assert "interrupted_recovery_report" not in after
