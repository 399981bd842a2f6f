"""Progress notifications of index jobs, as a client receives them."""

import re

import pytest

from codecompass.store.registry import Registry
from tests.support.serving import open_serving
from tests.transport.harness import connected

N_FILES = 100

PATTERNS = {
    "Scanning": (re.compile(r"Scanning files: \d+ discovered"), 0, 10),
    "Parsing": (re.compile(rf"Parsing files: \d+/{N_FILES} \(\d+%\)"), 10, 70),
    "Indexing:": (re.compile(rf"Indexing: \d+/{N_FILES} files, \d+ symbols"), 70, 95),
    "Finalizing": (re.compile(r"Finalizing index\.\.\."), 95, 99),
}
"""The stages: message and range of percentages."""


@pytest.fixture
async def serving(repository):
    repository.write({f"src/m{n}.py": f"def function_{n}():\n    return {n}\n" for n in range(N_FILES)})
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, alias="backend", as_default=True)
        yield serving


def progress_of(line):
    return [message["params"] for message in line.seen if message.get("method") == "notifications/progress"]


async def test_each_stage_of_a_hundred_files_is_told_in_its_words_and_then_the_end(serving):
    """At least three notifications before the end."""
    async with connected(serving.server.core) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50}, _meta={"progressToken": "mine"})

    *reports, end = progress_of(line)
    assert len(reports) >= 3
    stages = []
    for params in reports:
        value = params["value"]
        assert params["progressToken"] == "mine"
        assert set(value) == {"kind", "title", "message", "percentage"}
        assert (value["kind"], value["title"]) == ("report", "Indexing project: backend")
        assert params["message"] == value["message"]
        stage = value["message"].split()[0]
        pattern, least, most = PATTERNS[stage]
        assert pattern.fullmatch(value["message"])
        assert type(value["percentage"]) is int
        assert least <= value["percentage"] <= most
        stages.append(stage)
    assert list(dict.fromkeys(stages)) == list(PATTERNS)
    assert set(end["value"]) == {"kind", "title", "message"}
    assert (end["value"]["kind"], end["value"]["title"]) == ("end", "Indexing complete: backend")
    assert re.fullmatch(rf"Indexed {N_FILES} files, {N_FILES} symbols in \d+\.\ds", end["value"]["message"])


async def test_progress_only_rises_and_the_end_is_last(serving):
    """`progress` of the standard, beside `value`."""
    async with connected(serving.server.core) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50}, _meta={"progressToken": 7})

    values = [params["progress"] for params in progress_of(line)]
    assert values == sorted(set(values))
    assert (values[0], values[-1]) == (0, 100)
    assert [params["value"]["kind"] for params in progress_of(line)].count("end") == 1


async def test_a_client_that_declared_notifications_gets_them_under_the_token_of_the_job(serving):
    """`progressToken` is `index-job-{job_id}`, as returned by `index_repo`."""
    async with connected(serving.server.core) as line:
        await line.initialize(notifications={})
        answer = await line.tool("index_repo")
        while not any(params["value"]["kind"] == "end" for params in progress_of(line)):
            await line.next()

    job = answer["structuredContent"]
    assert job["progress_token"] == f"index-job-{job['job_id']}"
    assert {params["progressToken"] for params in progress_of(line)} == {job["progress_token"]}


async def test_a_client_that_declared_nothing_and_asked_for_nothing_is_told_nothing(serving):
    async with connected(serving.server.core) as line:
        await line.initialize()
        await line.tool("index_repo", {"wait_seconds": 50})

    assert progress_of(line) == []


async def test_a_job_that_fails_ends_with_its_reason(serving, repository):
    project = await serving.registry.run(Registry.find, "backend")
    blocked = repository.home / "projects" / project.project_id
    blocked.parent.mkdir(parents=True, exist_ok=True)
    blocked.write_text("a file where the index has to be")
    async with connected(serving.server.core) as line:
        await line.initialize()
        answer = await line.call(
            "tools/call", {"name": "index_repo", "arguments": {"wait_seconds": 50}, "_meta": {"progressToken": "mine"}}
        )

    end = progress_of(line)[-1]["value"]
    assert answer["result"]["content"]
    assert set(end) == {"kind", "title", "message"}
    assert (end["kind"], end["title"]) == ("end", "Indexing failed: backend")
    assert end["message"].startswith("Error: ")
    assert str(blocked) in end["message"]
