"""A search of commits as a tool: of one project, of several, and what it does not need."""

import pytest

from codecompass.protocol.text import render
from codecompass.store.registry import Registry
from tests.support.routing import Client
from tests.support.serving import open_serving
from tests.support.workspace import TestWorkspace


@pytest.fixture
def projects(tmp_path):
    made = []
    for number, name in enumerate(("api", "web")):
        each = TestWorkspace(tmp_path / name, tmp_path / "home", git=True)
        for step in range(2):
            each.write({"retry.py": f"delay = {number}{step}\n"})
            each.git("add", "-A")
            day = f"202{step}-01-0{number + 1}T00:00:00Z"
            each.git("commit", "-q", "-m", f"{name} {step}", "--date", day)
        made.append(each)
    return made


async def registered(serving, projects):
    for each in projects:
        await serving.registry.run(Registry.register, each.root)


async def test_one_project_is_answered_without_an_index(projects):
    async with open_serving(projects[0].home) as serving:
        await registered(serving, projects)

        answer = await serving.call("search_code", workspace=str(projects[0].root), query="type:diff delay", limit=1)

        assert serving.server.supervisor.find(projects[0].project_id) is None
    (hit,) = answer["commits"]
    assert hit["subject"] == "api 1"
    assert [(line["side"], line["line"], line["text"]) for line in hit["changed_lines"]] == [
        ("-", 1, "delay = 00"),
        ("+", 1, "delay = 01"),
    ]
    assert (answer["next_offset"], answer["is_counted"]) == (1, False)


async def test_pages_go_on_where_they_ended(projects):
    async with open_serving(projects[0].home) as serving:
        await registered(serving, projects)
        asked = {"workspace": str(projects[0].root), "query": "type:commit", "limit": 1}

        pages = [await serving.call("search_code", **asked, offset=offset) for offset in (0, 1, 2)]

    assert [[hit["subject"] for hit in page["commits"]] for page in pages if "commits" in page] == [["api 1"], ["api 0"]]
    assert [page.get("next_offset", 0) for page in pages] == [1, 0, 0]


async def test_several_projects_are_merged_and_one_that_fails_costs_its_own_part(projects, tmp_path):
    plain = TestWorkspace(tmp_path / "plain", tmp_path / "home")
    async with open_serving(projects[0].home) as serving:
        await registered(serving, [*projects, plain])

        answer = await serving.call("search_code", workspace="*", query="type:commit 1")

    assert {(hit["project"], hit["subject"]) for hit in answer["commits"]} == {("api", "api 1"), ("web", "web 1")}
    assert any("plain" in warning and "git repository" in warning for warning in answer["metadata"]["warnings"])
    assert {part["name"] for part in answer["metadata"]["projects"]} == {"api", "web"}


async def test_as_text_each_commit_has_a_heading_and_its_lines(projects):
    async with open_serving(projects[0].home) as serving:
        await registered(serving, projects)
        asked = {"workspace": str(projects[0].root), "query": "type:diff delay"}

        outcome = await serving.server.tools.show("search_code", asked, Client(), "text")

    lines = render(outcome.reply).splitlines()
    assert lines[0].endswith(": api 1")
    assert lines[1:3] == ["retry.py:1:-delay = 00", "retry.py:1:+delay = 01"]
    assert lines[3] == ""


async def test_a_time_that_cannot_be_read_is_refused(projects):
    async with open_serving(projects[0].home) as serving:
        await registered(serving, projects)

        refusal = await serving.refusal("search_code", workspace="*", query="type:commit since:soon")

    assert refusal["error"]["code"] == "invalid_input"
