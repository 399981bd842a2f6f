"""Several programs on one store: one writes at a time, all read and see each other's publications; crashes lose nothing."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import AsyncExitStack

import pytest
import trio

from codecompass.store.lock import is_locked, is_read
from codecompass.store.schema import REGISTRY_VERSION
from tests.support.served import holding, reached
from tests.workspaces.machine import DEADLINE_SECONDS, Desk, word

pytestmark = pytest.mark.interaction

NEWER_PROGRAM = (
    sys.executable,
    "-c",
    "import codecompass.store.schema as schema\nschema.SCHEMA_VERSION += 1\nfrom codecompass.__main__ import main\nmain()\n",
)
"""The next version of the program: this one with another schema version."""


def named(root, name):
    (root / "src" / "added.py").write_text(f"def {name}():\n    return 2\n")


def projects(health):
    return [(project["file_count"], project["index_status"]) for project in health.json["projects"]]


def held(machine):
    """Makes a registered project whose index job does not end where `holding` is in the environment, until `go` is there."""
    root = machine.project("shop", {"held.py": "x = 1\n"})
    machine.register(root)
    return root


async def stop_between_jobs(desk, layout):
    """Suspends the server between jobs: suspended during a job, even one without changes, it would block all other writers."""
    with trio.fail_after(DEADLINE_SECONDS):
        while True:
            desk.stop()
            if not is_locked(layout):
                return
            desk.go_on()
            await desk.call("health_check")


async def test_two_servers_share_one_index_and_one_writes_at_a_time(machine):
    root = machine.heavy("heavy", 100)
    machine.register(root)
    layout = machine.home.project(machine.projects()[root].project_id)
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(machine.serve("--workspace", root)) for _ in range(2)]
        started = await first.call("index_repo")
        seen = await second.until(lambda answer: "active_job" in answer.json, "index_status")
        health = await second.until(lambda answer: answer.json["projects"][0]["index_status"] == "indexing", "health_check")
        found = await second.until(lambda answer: not answer.code and answer.json["results"], "search_code", query=word(root))
        await first.ready(word(root))
        ready = await second.ready(word(root))
        jobs = await second.jobs()

    assert seen.json["active_job"]["job_id"] == started.json["job_id"]
    assert health.json["active_job"]["job_id"] == started.json["job_id"]
    assert found.paths == {"src/main.py"}
    assert ready.names == {word(root)}
    assert {job["status"] for job in jobs} == {"published"}
    assert started.json["job_id"] in {job["job_id"] for job in jobs}
    assert not is_locked(layout)


async def test_what_one_publishes_the_other_answers_from_within_a_second(machine):
    root = machine.project("shop")
    machine.register(root)
    async with AsyncExitStack() as stack:
        first, second = [await stack.enter_async_context(machine.serve("--workspace", root)) for _ in range(2)]
        await first.ready(word(root))
        before = (await second.ready(word(root))).metadata["generation"]
        named(root, "added_later")
        await first.until(lambda answer: answer.names == {"added_later"}, "locate_symbol", name="added_later")
        after = await second.until(
            lambda answer: answer.names == {"added_later"},
            "locate_symbol",
            name="added_later",
            freshness_policy="best_effort",
        )

    assert after.metadata["generation"] > before


async def test_an_index_from_the_command_line_is_seen_by_a_server_and_the_other_way_round(machine):
    root = machine.project("shop")
    machine.index(root)
    async with machine.serve("--workspace", root) as desk:
        await desk.ready(word(root))
        await stop_between_jobs(desk, machine.home.project(machine.projects()[root].project_id))
        (root / "src" / "more.py").write_text("def more_of_it():\n    pass\n")
        machine.index(root, "--force")
        desk.go_on()
        # The server may read files again that its watcher reported, and is `indexing` until it finds them unchanged.
        health = await desk.until(lambda answer: projects(answer) == [(3, "ready")], "health_check")
        found = await desk.find("more_of_it", freshness_policy="best_effort")
        jobs = await desk.jobs()
    listed = machine.run("status", "--json", "--workspace", root)
    modes = [job["mode"] for job in jobs if job["status"] == "published"]

    assert health.json["projects"][0]["residency"] == "live"
    assert found.names == {"more_of_it"}
    assert modes.count("full") == 2, "the first one and the forced one"
    assert '"file_count":3' in listed.stdout.replace(" ", "")


async def test_the_command_line_waits_while_a_server_writes_and_says_for_whom(machine):
    root = held(machine)
    async with machine.serve("--workspace", root, **holding(machine.base)) as desk:
        job = (await desk.call("index_repo")).json["job_id"]
        await reached(machine.base)
        with machine.start("index", "--workspace", root, stderr=subprocess.PIPE) as process:
            said = await trio.to_thread.run_sync(process.stderr.readline)
            (machine.base / "go").touch()
            await trio.to_thread.run_sync(process.wait, DEADLINE_SECONDS)

    assert job.encode() in said
    assert process.returncode == 0


async def test_when_the_writer_is_killed_the_next_one_takes_over_and_the_loss_is_told_until_it_is_made_good(machine):
    root = held(machine)
    async with machine.serve("--workspace", root) as survivor:
        await survivor.call("health_check")
        async with machine.serve("--workspace", root, **holding(machine.base)) as victim:
            lost = (await victim.call("index_repo")).json["job_id"]
            await reached(machine.base)
            await machine.wait_job(root)
            victim.kill()
        told = await survivor.until(lambda answer: answer.json.get("interrupted_recovery_report"), "health_check")
        ready = await survivor.ready(word(root))
        status = await survivor.call("index_status")
        healed = await survivor.until(lambda answer: not answer.json.get("interrupted_recovery_report"), "health_check")

    assert told.json["interrupted_recovery_report"]["interrupted_jobs"] == 1
    assert ready.names == {word(root)}
    assert {job["job_id"]: job["status"] for job in status.json["recent_jobs"]}[lost] == "interrupted"
    assert "interrupted_recovery_report" not in status.json
    assert healed.json["status"] == "ready"


async def test_a_server_that_waits_for_the_writer_goes_on_where_that_one_was_killed(machine):
    root = held(machine)
    async with machine.serve("--workspace", root) as survivor:
        writer = machine.start("index", "--workspace", root, **holding(machine.base))
        await reached(machine.base)
        await machine.wait_job(root)
        waiting = await survivor.call("index_repo")
        others = (await survivor.call("index_status")).json
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait()
        ready = await survivor.ready(word(root))
        jobs = {job["job_id"]: job["status"] for job in await survivor.jobs()}

    assert others["active_job"]["job_id"] != waiting.json["job_id"]
    assert "interrupted_recovery_report" not in others
    assert ready.names == {word(root)}
    assert jobs[waiting.json["job_id"]] == "published"
    assert sorted(jobs.values()) == ["interrupted", "published"]


async def test_after_a_restart_an_interruption_is_told_within_a_second_and_gone_after_the_next_success(machine):
    root = held(machine)
    writer = machine.start("index", "--workspace", root, **holding(machine.base))
    await reached(machine.base)
    await machine.wait_job(root)
    os.kill(writer.pid, signal.SIGKILL)
    writer.wait()

    async with machine.serve("--workspace", root) as desk:
        told = await desk.until(lambda answer: answer.json.get("interrupted_recovery_report"), "health_check")
        status = await desk.call("index_status")
        await desk.call("sync_repo", wait_seconds=50)
        after = await desk.call("index_status")
        await desk.until(lambda answer: not answer.json.get("interrupted_recovery_report"), "health_check")

    assert told.json["interrupted_recovery_report"]["detected"] is True
    assert status.json["interrupted_recovery_report"]["interrupted_jobs"] == 1
    assert "interrupted_recovery_report" not in after.json


@pytest.mark.invariant("Nobody deletes an index that another process has open")
async def test_an_eviction_spares_what_another_server_has_open(machine):
    old, new = machine.project("old"), machine.project("new")
    flags = ("--auto-workspace", "--allowed-root", machine.dev, "--max-auto-workspaces", "1")
    async with AsyncExitStack() as stack:
        reader, evictor = [await stack.enter_async_context(machine.serve(*flags)) for _ in range(2)]
        await reader.ready(word(old), workspace=old)
        layout = machine.home.project(machine.projects()[old].project_id)
        assert is_read(layout)
        refused = await evictor.find(word(new), workspace=new)
        still = await reader.find(word(old), workspace=old)

    assert refused.code == "workspace_limit_exceeded"
    assert still.names == {word(old)}
    assert list(machine.projects()) == [old]


@pytest.mark.invariant("An evicted project is still known")
async def test_what_another_server_evicted_comes_back_by_path_and_by_id(machine):
    old, new = machine.project("old"), machine.project("new")
    flags = ("--auto-workspace", "--allowed-root", machine.dev, "--max-auto-workspaces", "1")
    async with machine.serve(*flags) as desk:
        await desk.ready(word(old), workspace=old)
        identifier = machine.projects()[old].project_id
        await desk.ready(word(new), workspace=new)
    assert list(machine.projects()) == [new]
    assert not machine.home.project(identifier).root.exists()

    async with machine.serve("--allowed-root", machine.dev) as desk:
        by_id = await desk.ready(word(old), project_id=identifier)
        by_path = await desk.find(word(old), workspace=old / "src")

    assert by_id.names == by_path.names == {word(old)}


@pytest.mark.invariant("An older program never rebuilds an index that a newer one wrote")
async def test_two_versions_of_the_program_do_not_rebuild_each_other_s_index_in_turn(machine):
    """The newer one rebuilds the index once; the older one reports that and leaves it alone."""
    root = machine.project("shop")
    machine.register(root)
    async with AsyncExitStack() as stack:
        older = await stack.enter_async_context(machine.serve("--workspace", root))
        await older.ready(word(root))
        newer = await stack.enter_async_context(machine.serve("--workspace", root, program=NEWER_PROGRAM))
        await newer.ready(word(root))
        refusals = [
            await older.find(word(root)),
            await older.call("search_code", query="shop"),
            await older.call("sync_repo", wait_seconds=50),
        ]
        named(root, "added_later")
        found = await newer.until(lambda answer: answer.names == {"added_later"}, "locate_symbol", name="added_later")
        refusals += [await older.find("added_later"), await older.call("index_repo", force=True, wait_seconds=50)]
        again = await newer.find(word(root))
        jobs = await newer.jobs()
    restarted = machine.run("search", word(root), "--workspace", root)

    assert found.names == {"added_later"}
    assert again.names == {word(root)}
    for refusal in refusals:
        said = refusal.message if refusal.code else refusal.json.get("error_message", "")
        assert refusal.code in ("index_incompatible", ""), refusal.text
        assert "newer codecompass" in said, refusal.text
        assert "Upgrade" in said
    assert restarted.returncode == 1
    assert "newer codecompass" in restarted.stderr
    assert len([job for job in jobs if job["mode"] == "full" and job["status"] == "published"]) == 2


@pytest.mark.invariant(of="tests/workspaces/test_upgrades.py")
async def test_an_older_server_under_load_goes_on_with_its_projects_while_a_newer_one_takes_one_up(machine):
    """Every answer of both is right, or says that a newer program wrote the index; names, groups and jobs stay."""
    own, taken = machine.project("own"), machine.heavy("taken")
    for root in (own, taken):
        machine.register(root, alias=f"{root.name}-project")
        machine.index(root)
    machine.run("projects", "group", "both", "own-project", "taken-project")
    is_over = trio.Event()
    answers = {own: [], taken: []}
    async with machine.serve() as older, trio.open_nursery() as nursery:

        async def ask(root):
            while not is_over.is_set():
                answers[root].append(await older.find(word(root), workspace=root))

        for root in answers:
            await older.ready(word(root), workspace=root)
            nursery.start_soon(ask, root)
        async with machine.serve(program=NEWER_PROGRAM) as newer:
            ready = await newer.ready(word(taken), workspace=taken)
            named(own, "added_later")
            found = await older.until(
                lambda answer: answer.names == {"added_later"}, "locate_symbol", name="added_later", workspace=own
            )
            refused = await older.until(lambda answer: answer.code, "locate_symbol", name=word(taken), workspace=taken)
            jobs = await newer.jobs(workspace=taken)
        is_over.set()
    listed = machine.run("projects", "groups")

    assert ready.names == {word(taken)}
    assert found.names == {"added_later"}
    assert "newer codecompass" in refused.message
    assert {(answer.code, *answer.names) for answer in answers[own]} == {("", word(own))}
    told = {(answer.code, answer.message) if answer.code else ("", *answer.names) for answer in answers[taken]}
    assert told <= {("", word(taken)), ("index_incompatible", refused.message)}
    assert {job["status"] for job in jobs} == {"published"}
    assert {project.alias for project in machine.projects().values()} == {"own-project", "taken-project"}
    assert listed.stdout.count("-project") == 2


async def test_a_store_whose_registry_a_newer_program_wrote_is_refused_and_left_alone(machine):
    root = machine.project("shop")
    machine.register(root)
    newer = (sys.executable, "-c", NEWER_PROGRAM[2].replace("SCHEMA_VERSION += 1", "REGISTRY_VERSION += 1"))
    with sqlite3.connect(machine.home.registry) as connection:
        connection.execute(f"PRAGMA user_version = {REGISTRY_VERSION + 1}")
    connection.close()

    async with machine.serve("--workspace", root) as desk:
        refused = await desk.find(word(root))
        health = await desk.until(lambda answer: not answer.json["sqlite_ok"], "health_check")
    async with machine.serve("--workspace", root, program=newer) as desk:
        ready = await desk.ready(word(root))

    assert refused.code == "index_incompatible"
    assert "newer codecompass" in refused.message
    assert "newer codecompass" in health.json["sqlite_error"]
    assert ready.names == {word(root)}


async def test_the_list_of_projects_tells_who_is_live_on_disk_or_not_indexed(machine):
    live, resting, unindexed = (machine.project(name) for name in ("live", "resting", "unindexed"))
    for root in (live, resting, unindexed):
        machine.register(root)
    machine.index(resting)
    async with machine.serve("--no-prewarm") as desk:
        await desk.ready(word(live), workspace=live)
        listed = machine.run("projects", "list", "--json")
        shown = machine.run("projects", "list")
        health = await desk.until(lambda answer: answer.json["total_projects"] == 3, "health_check")

    found = {project["repo_root"]: project.get("residency") for project in json.loads(listed.stdout)["projects"]}
    assert found == {str(live): "live", str(resting): "on_disk", str(unindexed): None}
    assert "ready, live" in shown.stdout
    residency = {project["repo_root"]: project["residency"] for project in health.json["projects"]}
    assert residency == {str(live): "live", str(resting): "on_disk", str(unindexed): "on_disk"}


async def test_a_server_over_http_and_one_over_stdio_share_an_index(machine):
    from mcp import Client

    root = machine.project("shop")
    machine.register(root, is_default=True)
    server = machine.start("serve-mcp", "--transport", "http", "--port", "0", stderr=subprocess.PIPE)
    try:
        while not (said := await trio.to_thread.run_sync(server.stderr.readline)).startswith(b"Listening on "):
            assert said, "it has ended"
        url = said.decode().split()[2].rstrip(".")
        async with machine.serve(cwd=root) as desk, Client(f"{url}/mcp", mode="legacy") as client:
            over_http = Desk(client, machine.base / "none.pid", machine.base / "none.log")
            await over_http.ready(word(root))
            named(root, "added_later")
            texts = [
                (
                    await each.until(
                        lambda answer: answer.names == {"added_later"}, "locate_symbol", name="added_later", workspace=root
                    )
                ).json["results"]
                for each in (desk, over_http)
            ]
            jobs = [await each.jobs(workspace=root) for each in (desk, over_http)]
    finally:
        server.terminate()
        server.communicate()

    assert texts[0] == texts[1]
    assert {job["status"] for job in jobs[1]} == {"published"}
    assert server.returncode == 0
