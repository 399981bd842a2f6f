"""The tools on a complete server: jobs, first contact, many workspaces, failures."""

import json
from functools import partial

import pytest
import trio

from codecompass.identity import project_id
from codecompass.projects.detection import RoutingRules
from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from tests.support.faults import held_workers
from tests.support.routing import Client
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace


@pytest.fixture
async def serving(repository):
    """A server with one registered project that is not indexed yet."""
    repository.write(SAMPLE)
    repository.commit()
    async with open_serving(repository.home) as serving:
        await serving.registry.run(
            Registry.adopt,
            (await serving.registry.run(Registry.register, repository.root)).project_id,
            alias="sample",
            as_default=True,
        )
        yield serving


@pytest.fixture
async def impatient(repository):
    """A server with a registered project, where questions do not wait for freshness."""
    repository.write({f"src/m{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(300)})
    settings = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0))
    async with open_serving(repository.home, settings=settings) as serving:
        await serving.registry.run(
            Registry.adopt, (await serving.registry.run(Registry.register, repository.root)).project_id, as_default=True
        )
        yield serving


# jobs


async def test_a_job_is_returned_at_once_with_the_token_that_the_contract_gives_it(impatient):
    reply = await impatient.call("index_repo")

    assert list(reply) == ["job_id", "progress_token", "status", "mode", "file_count", "metadata"]
    assert reply["progress_token"] == f"index-job-{reply['job_id']}"
    assert (reply["status"], reply["mode"], reply["file_count"]) == ("running", "full", None)
    assert reply["metadata"]["indexing_status"] == "indexing"
    assert reply["metadata"]["freshness_status"] == "syncing"
    assert reply["metadata"]["result_completeness"] == "partial"
    status = await impatient.call("index_status")
    assert status["active_job"]["job_id"] == reply["job_id"]
    assert set(status["active_job"]) == {
        "job_id", "progress_token", "mode", "status", "files_scanned", "files_indexed", "symbols_extracted",
        "estimated_completion_pct", "started_at",
    }  # fmt: skip


async def test_a_request_for_a_job_that_runs_already_joins_it(impatient):
    answers = []

    async def ask(tool):
        answers.append(await impatient.call(tool))

    async with trio.open_nursery() as nursery:
        for tool in ("index_repo", "sync_repo") * 10:
            nursery.start_soon(ask, tool)

    assert len({answer["job_id"] for answer in answers}) == 1
    assert {answer["status"] for answer in answers} == {"running"}
    end = await impatient.call("index_repo", wait_seconds=50)
    assert end["status"] == "published"


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "code"), [("index_repo", "index_in_progress"), ("sync_repo", "sync_in_progress")])
async def test_force_that_meets_an_updating_job_is_refused_with_that_job(impatient, repository, tool, code):
    end = await impatient.call("index_repo", wait_seconds=50)
    # A second scan follows the first index; the job requested below must not be that one.
    (project,) = await impatient.registry.run(Registry.projects)
    await impatient.wait_watched(project.project_id)
    assert end["status"] == "published"
    with held_workers():
        repository.write({f"src/n{n}.py": "x = 1\n" * 50 for n in range(200)})
        running = await impatient.call("sync_repo")
        refused = await impatient.refusal(tool, force=True)

    assert refused["error"]["code"] == code
    assert refused["error"]["data"]["job_id"] == running["job_id"]
    assert refused["metadata"]["workspace"] == str(repository.root)


async def test_waiting_gives_the_counts_of_the_finished_job_and_the_job_itself(serving, repository):
    client = Client()

    answer = await serving.answer("sync_repo", client, wait_seconds="50", workspace=repository.root)

    reply = json.loads(answer.payload)
    assert client.n_followed == 1
    assert answer.job.state.job_id == reply["job_id"]
    assert (reply["status"], reply["file_count"], reply["changed_files"], reply["symbol_count"]) == ("published", 5, 6, 14)
    assert reply["duration_seconds"] > 0
    assert reply["metadata"]["indexing_status"] == "ready"


@pytest.mark.parametrize("tool", ["index_repo", "sync_repo"])
async def test_what_a_job_says_at_its_end_is_what_the_call_would_have_said_had_it_waited(serving, tool):
    answer = await serving.answer(tool)

    with trio.fail_after(60):
        end = await answer.job.wait_end()
    later = json.loads(answer.at_end(end).payload)

    assert json.loads(answer.payload)["status"] == "running"
    assert (later["status"], later["file_count"], later["symbol_count"]) == ("published", 5, 14)
    assert later["job_id"] == end.job_id
    assert (later["metadata"]["indexing_status"], later["metadata"]["result_completeness"]) == ("ready", "complete")


async def test_whoever_waited_for_a_job_is_told_that_the_index_is_fresh_or_stale_and_not_that_it_is_at_work(serving):
    """After a first index the tree is scanned again, for changes from before the watcher started."""
    first = await serving.call("index_repo", wait_seconds=50)

    assert (first["status"], first["metadata"]["freshness_status"]) == ("published", "fresh")


async def test_a_published_job_is_never_said_to_be_syncing(impatient, repository):
    """Even if another job follows immediately and nobody waits for it."""
    said = []
    for n in range(5):
        repository.write({f"src/m{n}.py": f"def edited_{n}():\n    return {n}\n"})
        tool = "sync_repo" if n % 2 else "index_repo"
        answer = await impatient.call(tool, wait_seconds=50)
        said.append((answer["status"], answer["metadata"]["freshness_status"]))

    assert {status for status, _ in said} == {"published"}
    assert "syncing" not in {freshness for _, freshness in said}


async def test_nobody_is_followed_without_a_wait(serving):
    client = Client()

    await serving.call("index_repo", client)

    assert client.n_followed == 0


async def test_a_job_that_fails_says_why_and_the_call_itself_has_worked(serving, repository):
    repository.layout.root.parent.mkdir(parents=True)
    repository.layout.root.write_text("not a directory")

    reply = await serving.call("index_repo", wait_seconds=50)
    named = await serving.refusal("index_repository", Client(roots=[repository.root]), repo_path=repository.root)

    at_end = (await serving.answer("index_repo")).at_end
    assert json.loads(at_end((await serving.answer("index_repo", wait_seconds=50)).job.state).payload)["status"] == "failed"
    assert reply["status"] == "failed"
    assert "cannot write the index store" in reply["error_message"]
    assert reply["file_count"] is None
    assert named["error"]["data"]["job_id"]
    assert "cannot write the index store" in named["error"]["message"]


async def test_a_repository_that_is_gone_is_said_to_be(serving, repository):
    await serving.call("index_repo", wait_seconds=50)
    repository.root.rename(repository.root.with_name("moved"))

    by_path = await serving.refusal("search_code", query="x", workspace=repository.root)
    by_default = await serving.refusal("search_code", query="x")

    assert by_path["error"]["code"] == "workspace_not_registered"
    assert by_default["error"]["code"] == "project_not_found"
    assert "pass another workspace" in by_default["error"]["message"]


# first contact


async def test_a_registered_project_without_an_index_answers_its_first_question(serving):
    found = await serving.call("search_code", query="validate_token")

    assert found["results"][0]["name"] == "validate_token"


@pytest.mark.parametrize("tool", ["search_code", "get_code_context", "locate_symbol"])
async def test_a_client_is_told_how_far_the_index_is_that_its_first_question_waits_for(serving, tool):
    client = Client()
    arguments = {"name": "validate_token"} if tool == "locate_symbol" else {"query": "validate_token"}

    await serving.call(tool, client, **arguments)
    assert client.n_followed == 1

    await serving.call(tool, client, **arguments)
    assert client.n_followed == 1


async def test_an_unknown_workspace_is_taken_up_answers_partially_and_then_wholly(tmp_path):
    project = TestWorkspace(tmp_path / "dev" / "shop", tmp_path / "home", git=True)
    # So many that definitions are still being read when the text is answered from.
    project.write({**SAMPLE, **{f"src/m{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(300)}})
    settings = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0))
    rules = RoutingRules(allowed_roots=(project.root.parent,), auto_workspace=True)
    async with open_serving(project.home, settings=settings, rules=rules) as serving:
        ask = partial(serving.call, "search_code", query="validate_token", workspace=project.root)

        first = await ask()
        job = await serving.call("index_repo", workspace=project.root, wait_seconds=50)
        then = await ask()

    assert [result["path"] for result in first["results"]] == [result["path"] for result in then["results"]]
    assert (first["metadata"]["indexing_status"], first["metadata"]["result_completeness"]) == ("indexing", "partial")
    assert job["status"] == "published"
    assert then["results"][0]["name"] == "validate_token"
    assert then["metadata"]["result_completeness"] == "complete"


async def test_fifty_first_questions_for_an_unknown_workspace_share_one_job(tmp_path):
    project = TestWorkspace(tmp_path / "dev" / "shop", tmp_path / "home", git=True)
    project.write(SAMPLE)
    rules = RoutingRules(allowed_roots=(project.root.parent,), auto_workspace=True)
    answers = []
    async with open_serving(project.home, rules=rules) as serving:

        async def ask():
            answers.append(await serving.answer("locate_symbol", name="validate_token", workspace=str(project.root)))

        async with trio.open_nursery() as nursery:
            for _ in range(50):
                nursery.start_soon(ask)
        status = await serving.call("index_status", workspace=project.root)

    assert len({answer.payload for answer in answers}) == 1
    assert len(json.loads(answers[0].payload)["results"]) == 1
    assert len(status["recent_jobs"]) == 1


# many workspaces


async def test_answers_come_from_the_workspace_that_was_named_and_from_no_other(tmp_path):
    projects = [TestWorkspace(tmp_path / f"p{n}" / "shop", tmp_path / "home", git=True) for n in range(4)]
    for n, project in enumerate(projects):
        project.write({**SAMPLE, "src/canary.py": f"def canary_{n}():\n    return 'same'\n"})
    answers = {}
    async with open_serving(tmp_path / "home") as serving:
        for project in projects:
            await serving.registry.run(Registry.register, project.root)

        async def ask(n, other):
            answers[n, other] = await serving.call("locate_symbol", name=f"canary_{other}", workspace=projects[n].root)

        async with trio.open_nursery() as nursery:
            for n in range(4):
                for other in range(4):
                    nursery.start_soon(ask, n, other)

    for (n, other), answer in answers.items():
        names = {result["name"] for result in answer["results"]}
        assert answer["metadata"]["workspace"] == str(projects[n].root)
        assert (f"canary_{other}" in names) is (n == other)
        assert names <= {f"canary_{n}"}


async def test_warnings_and_the_hint_of_routing_are_in_the_metadata(serving, repository, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home", git=True)
    other.write({"a.py": "x = 1\n"})
    await serving.registry.run(Registry.register, other.root)
    rules = RoutingRules(environment=(("CODECOMPASS_PROJECT", str(repository.root)),), cwd=other.root)
    async with open_serving(tmp_path / "home2", rules=rules) as second:
        for project in (repository, other):
            await second.registry.run(Registry.register, project.root)
        client = Client()

        first = await second.call("locate_symbol", client, name="Order", limit=1000)
        again = await second.refusal("get_file_outline", client, path="no/such/file")

    assert first["metadata"]["hint"] == "Tip: Use Claude Code for automatic project detection"
    assert len(first["metadata"]["warnings"]) == 2
    assert str(other.root) in first["metadata"]["warnings"][1]
    assert "hint" not in again["metadata"]
    assert len(again["metadata"]["warnings"]) == 1


# the name of a project


async def test_a_directory_is_indexed_under_its_name_and_answers_to_it(tmp_path):
    project = TestWorkspace(tmp_path / "dev" / "shop", tmp_path / "home", git=True)
    project.write(SAMPLE)
    rules = RoutingRules(allowed_roots=(project.root.parent,), auto_workspace=True)
    async with open_serving(project.home, rules=rules) as serving:
        reply = await serving.call("index_repository", repo_path=project.root, project_id="client-a")
        found = await serving.call("search_code", query="total_price", project_id="client-a", detail_level="context", limit=1)

    assert (reply["status"], reply["project_id"], reply["schema_name"]) == ("success", "client-a", "project_client_a")
    assert reply["repository_id"] == int(project_id(project.root)[:12], 16)
    assert reply["files_indexed"] == 5
    assert reply["chunks_created"] >= 4
    assert reply["duration_seconds"] > 0
    assert found["metadata"]["schema_name"] == "project_client_a"
    assert found["metadata"]["project_id"] == "client-a"
    assert {"content", "start_line", "end_line"} <= set(found["results"][0])


# health


async def test_health_knows_projects_that_are_not_live_and_jobs_that_run(impatient, repository, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home")
    await impatient.registry.run(Registry.register, other.root)
    job = await impatient.call("index_repo")

    during = await impatient.call("health_check")
    await impatient.call("index_repo", wait_seconds=50)
    await impatient.wait_known(repository.project_id)

    async def quiet():
        health = await impatient.call("health_check")
        return health if health["active_job"] is None and health["projects"][0]["index_status"] != "stale" else None

    # The watcher that starts after the first job causes another scan, and a job indexes what it finds.
    after = await until(quiet)

    assert during["status"] == "indexing"
    assert during["active_job"]["job_id"] == job["job_id"]
    assert during["active_job"]["mode"] == "full"
    assert after["active_job"] is None
    assert [(entry["repo_root"], entry["residency"], entry["index_status"]) for entry in after["projects"]] == [
        (str(repository.root), "live", "ready"),
        (str(other.root), "on_disk", "not_indexed"),
    ]
    assert after["total_projects"] == 2


async def test_health_of_a_project_that_was_just_registered_needs_no_look_at_the_disk(serving, tmp_path):
    new = TestWorkspace(tmp_path / "new", tmp_path / "home")
    await serving.registry.run(Registry.register, new.root)

    reply = await serving.call("health_check", workspace=new.root)

    assert [entry["repo_root"] for entry in reply["projects"]] == [str(new.root)]
    assert reply["startup_checks"]["index"]["status"] == "not_indexed"


async def test_health_needs_no_project(tmp_path):
    async with open_serving(tmp_path / "home") as serving:
        reply = await serving.call("health_check", Client(transport="http"))

    assert (reply["status"], reply["projects"]) == ("ready", [])


@pytest.mark.parametrize("is_absolute", [False, True])
async def test_a_path_through_a_link_leads_to_the_file_where_it_is(tmp_path, is_absolute):
    project = TestWorkspace(tmp_path / "project", tmp_path / "home")
    project.write({"shared/votes.py": "def count_votes(): pass\n", "packages/a/main.py": "import votes\n"})
    (tmp_path / "project" / "packages" / "a" / "shared").symlink_to("../../shared")
    await project.sync()
    path = "packages/a/shared/votes.py"

    async with open_serving(project.home) as serving:
        await serving.registry.run(Registry.register, project.root)
        outline = await serving.call(
            "get_file_outline", workspace=project.root, path=f"{project.root}/{path}" if is_absolute else path
        )

    assert (outline["file_path"], outline["symbols"][0]["name"]) == ("shared/votes.py", "count_votes")
