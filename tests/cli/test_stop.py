"""`stop`, and what a first index that does not finish leaves behind."""

import json
import subprocess
import time

import pytest

from codecompass.actors.uses_pass import UsesPass
from codecompass.cli.commands import stop as command
from codecompass.errors import PermissionDenied
from codecompass.jobs import RecordedProgress
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from tests.cli.test_index import large_tree

NONE = {"projects": []}


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """The end of a job is waited for, however busy the machine is."""
    monkeypatch.setattr(command, "END_DEADLINE_SECONDS", 120)


def wait_for_job(cli, process) -> None:
    active = None
    while active is None:
        assert process.poll() is None, process.communicate()
        active = cli("status", "--json").json["active_job"] if (cli.home / "registry.db").exists() else None


def test_without_a_running_job_it_says_so(cli, shop, indexed):
    done = cli("stop")

    assert done.code == 3
    assert f"no index job of {shop} is running" in done.err
    assert cli("stop", "no-such").code == 3


def test_a_request_reaches_the_process_that_records_the_progress(cli, shop):
    cli("init")
    with open_registry(HomeLayout(cli.home)) as registry:
        (project,) = registry.projects()
        log = JobLog(registry)
        job, other = (log.create(project.project_id, "full", cause="test") for _ in range(2))

        before = log.update(job.job_id, RecordedProgress())
        log.request_stop(job.job_id)
        log.request_stop("no such job")

        assert (before, log.update(job.job_id, RecordedProgress()), log.update(other.job_id, RecordedProgress())) == (
            False,
            True,
            False,
        )


def test_a_job_is_over_before_uses_are_read_in_the_background(cli, shop, monkeypatch):
    """Nobody holds the lock of its index then: it would look like the job of a process that is gone."""
    seen, read = [], UsesPass.run

    async def look_and_read(uses: UsesPass) -> int:
        with open_registry(HomeLayout(cli.home)) as registry:
            (project,) = registry.projects()
            lost = JobLog(registry).recover(HomeLayout(cli.home))
            seen.append(([job.status for job in JobLog(registry).recent(project.project_id, 9)], lost))
        return await read(uses)

    monkeypatch.setattr(UsesPass, "run", look_and_read)

    done = cli("index", "--json")

    assert seen == [(["published"], ())]
    assert done.json["status"] == "published"


@pytest.mark.parametrize(
    "failure", [PermissionDenied("the disk is full", path="/", suggested_action="free space"), KeyboardInterrupt()]
)
def test_a_job_that_has_published_is_not_undone_by_what_happens_later(cli, shop, monkeypatch, failure):
    async def fail(_uses: UsesPass) -> int:
        raise failure

    monkeypatch.setattr(UsesPass, "run", fail)

    cli("index")

    status = cli("status", "--json").json
    assert (status["index_status"], status["recent_jobs"][0]["status"]) == ("ready", "published")


@pytest.mark.slow
def test_the_job_of_another_command_is_ended(cli, program):
    """Its command exits with 1, and nothing is left registered."""
    root = large_tree(cli)
    process = program.start("index")
    wait_for_job(cli, process)

    done = cli("stop", root, "--json", cwd=cli.user)

    _, err = process.communicate(timeout=60)
    assert (done.code, done.json["status"]) == (0, "cancelled")
    assert process.returncode == 1
    assert b"ended by codecompass stop" in err
    assert b"Traceback" not in err
    assert cli("projects", "list", "--json").json == NONE
    assert cli("index", "--json").json["file_count"] == 300


@pytest.mark.slow
def test_the_job_of_a_server_is_ended_and_the_server_goes_on(cli, program):
    root = large_tree(cli)
    server = subprocess.Popen(
        program.command(("serve-mcp", "--workspace", str(root))),
        cwd=cli.user,
        env=cli.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        call(server, "initialize", hello)
        call(server, "tools/call", {"name": "index_repo", "arguments": {}})
        wait_for_job(cli, server)

        done = cli("stop", root, "--json")

        assert (done.code, done.json["status"]) == (0, "cancelled")
        assert call(server, "tools/call", {"name": "health_check", "arguments": {}})["isError"] is False
    finally:
        server.stdin.close()
        server.stdout.close()
        server.wait(timeout=60)


def call(server, method, parameters):
    identifier = time.monotonic_ns()
    message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": parameters}
    server.stdin.write(json.dumps(message).encode() + b"\n")
    server.stdin.flush()
    for line in server.stdout:
        answer = json.loads(line)
        if answer.get("id") == identifier and "result" in answer:
            return answer["result"]
    raise AssertionError("the server has ended")


@pytest.mark.parametrize("command", [("index",), ("search", "cart")])
def test_a_first_index_that_fails_leaves_nothing_registered(cli, shop, command):
    write_protected = cli.home / "projects"
    cli("projects", "list")
    write_protected.parent.mkdir(exist_ok=True)
    write_protected.write_text("in the way")

    done = cli(*command)

    assert done.code == 1
    assert cli("projects", "list", "--json").json == NONE


def test_a_project_that_was_made_known_stays_when_its_first_index_fails(cli, shop):
    cli("init")
    (cli.home / "projects").write_text("in the way")

    assert cli("index").code == 1
    assert len(cli("projects", "list", "--json").json["projects"]) == 1
