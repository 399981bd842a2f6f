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


async def test_warnings_of_many_projects_are_grouped_and_bounded(tmp_path):
    """Twelve shallow clones share one warning; seven of them lack contents, each those of another number of commits."""
    made = []
    for number in range(12):
        each = TestWorkspace(tmp_path / f"p{number:02}", tmp_path / "home", git=True)
        each.commit("begin")
        first = each.git("rev-parse", "HEAD").strip()
        (each.root / ".git/shallow").write_text(f"{first}\n")
        for step in range(8):
            each.write({f"{step}.py": f"delay = {step}\n"})
            each.commit(f"step {step}")
        for step in range(number + 1 if number < 7 else 0):
            blob = each.git("rev-parse", f"HEAD:{step}.py").strip()
            (each.root / ".git/objects" / blob[:2] / blob[2:]).unlink()
        # With an index git would read contents from the work tree instead.
        (each.root / ".git/index").unlink()
        made.append(each)
    async with open_serving(made[0].home) as serving:
        await registered(serving, made)

        answer = await serving.call("search_code", workspace="*", query="type:diff delay", limit=50, timeout_ms=60_000)

    shallow, *others = answer["metadata"]["warnings"]
    assert shallow.startswith("p00, p01, p02, p03, p04, p05, p06, p07, p08, p09 and 2 more: this clone is shallow")
    assert [each.split(" could not be read")[0] for each in others[:-1]] == [
        "p00: 1 commit",
        "p01: 2 commits",
        "p02: 3 commits",
        "p03: 4 commits",
    ]
    assert others[-1] == "3 projects had other warnings; name one alone for its own"


async def test_a_project_with_more_commits_than_a_page_was_searched_as_far_as_was_asked(projects):
    async with open_serving(projects[0].home) as serving:
        await registered(serving, projects)

        answer = await serving.call("search_code", workspace="*", query="type:commit", limit=1)

    assert len(answer["commits"]) == 1
    assert answer["next_offset"] == 1
    assert not answer["metadata"].get("warnings")
