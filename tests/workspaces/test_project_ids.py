"""The rules of seed 003: a name for a project, and answers from that project alone.

| rule | test |
|---|---|
| every tool takes project_id | test_every_tool_takes_a_name_and_answers_from_that_project_alone |
| pattern and length, checked first | test_a_name_is_checked_before_anything_is_touched, tests/protocol/test_decode.py |
| first index provisions, repeating it is harmless | test_the_first_index_registers_the_name_and_repeating_it_changes_nothing |
| the same files in two projects are separate | test_the_same_tree_under_two_names_stays_apart, test_isolation.py |
| omitted: the default project answers | test_without_a_name_the_default_project_answers_as_before |
| permission denied | test_a_store_that_cannot_be_written_is_permission_denied |
| names are persistent | test_a_name_survives_a_restart |
| paths are checked as elsewhere | test_hostile_paths.py |
"""

import pytest

from codecompass.identity import project_id
from tests.support.tools import THE_TEN, TOOLS
from tests.workspaces.machine import word

pytestmark = pytest.mark.interaction

BAD = [
    "My_Project",
    "a--b",
    "-a",
    "a-",
    "a b",
    "client-a\n",
    "é",
    "x" * 51,
    "../x",
    "a;DROP TABLE projects",
    "A",
    "a.b",
    "\u0430",
]


async def test_every_tool_takes_a_name_and_answers_from_that_project_alone(machine):
    root, other = machine.project("one"), machine.project("two")
    machine.register(root, alias="client-a")
    machine.register(other, is_default=True)
    async with machine.serve("--tools", "all") as desk:
        await desk.ready(word(root), project_id="client-a")
        for tool in THE_TEN:
            given = TOOLS[tool].arguments(symbol=word(root))
            for name in ("client-a", project_id(root)):
                answer = await desk.call(tool, **given, project_id=name)
                assert (answer.code, answer.metadata["workspace"]) == ("", str(root)), answer.text
                assert str(other) not in answer.text
        searched = await desk.call("search_code", query=word(root), project_id="client-a", detail_level="context")
        unknown = await desk.find("x", project_id="client-b")
        contradicting = await desk.find("x", project_id="client-a", workspace=other)
        listed = (await desk.client.list_tools()).tools

    assert searched.metadata["project_id"] == "client-a"
    assert searched.metadata["schema_name"] == "project_client_a"
    assert {"content", "line_start", "line_end"} <= set(searched.json["results"][0])
    assert unknown.code == "project_not_found"
    assert contradicting.code == "invalid_input"
    assert all("project_id" in tool.input_schema["properties"] for tool in listed)


async def test_a_name_is_checked_before_anything_is_touched(machine):
    root = machine.project("shop")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        for name in BAD:
            for tool, arguments in (("index_repository", {"repo_path": root}), ("search_code", {"query": "x"})):
                refused = await desk.call(tool, **arguments, project_id=name)
                assert refused.code == "invalid_input", name
                assert refused.json["error"]["data"]["field"] == "project_id"
                assert refused.json["error"]["data"]["constraint"] == "Must match pattern: ^[a-z0-9]+(-[a-z0-9]+)*$"
                assert "lowercase alphanumeric with hyphens" in refused.message

    assert machine.projects() == {}


async def test_the_first_index_registers_the_name_and_repeating_it_changes_nothing(machine):
    root, other = machine.project("shop"), machine.project("other")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        first = await desk.call("index_repository", repo_path=root, project_id="client-a")
        again = await desk.call("index_repository", repo_path=root, project_id="client-a")
        taken = await desk.call("index_repository", repo_path=other, project_id="client-a")
        found = await desk.find(word(root), project_id="client-a")

    assert {key: first.json[key] for key in ("status", "project_id", "schema_name", "files_indexed")} == {
        "status": "success",
        "project_id": "client-a",
        "schema_name": "project_client_a",
        "files_indexed": 2,
    }
    assert first.json["chunks_created"] > 0
    assert again.json["repository_id"] == first.json["repository_id"]
    assert again.json["files_indexed"] == 2
    assert taken.code == "invalid_input"
    assert found.names == {word(root)}
    assert [project.alias for project in machine.projects().values()] == ["client-a"]


async def test_the_same_tree_under_two_names_stays_apart(machine):
    first = machine.project("shop", below=machine.dev / "one")
    second = machine.project("shop", {"src/extra.py": "def extra():\n    pass\n"}, below=machine.dev / "two")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        for root, name in ((first, "client-a"), (second, "client-b")):
            await desk.call("index_repository", repo_path=root, project_id=name)
        for _ in range(5):
            a, b = [await desk.find(word(first), project_id=name) for name in ("client-a", "client-b")]
            assert (a.names, a.metadata["workspace"]) == ({word(first)}, str(first))
            assert (b.names, b.metadata["workspace"]) == ({word(first)}, str(second))
            assert (await desk.find("extra", project_id="client-b")).names == {"extra"}
            assert "extra" not in (await desk.find("extra", project_id="client-a")).names
        ids = [
            (await desk.find(word(first), project_id=name)).json["results"][0]["symbol_id"] for name in ("client-a", "client-b")
        ]

    assert ids[0] != ids[1]


async def test_without_a_name_the_default_project_answers_as_before(machine):
    default, named = machine.project("default"), machine.project("named")
    machine.register(default, is_default=True)
    machine.register(named, alias="client-a")
    async with machine.serve() as desk:
        before = await desk.ready(word(default))
        await desk.ready(word(named), project_id="client-a")
        after = await desk.ready(word(default), project_id=None)

    assert before.names == after.names == {word(default)}
    assert "schema_name" not in after.metadata


async def test_a_name_survives_a_restart(machine):
    root = machine.project("shop")
    async with machine.serve("--auto-workspace", "--allowed-root", machine.dev) as desk:
        await desk.call("index_repository", repo_path=root, project_id="client-a")
    async with machine.serve() as desk:
        found = await desk.ready(word(root), project_id="client-a")

    assert found.names == {word(root)}


async def test_a_store_that_cannot_be_written_is_permission_denied(machine):
    root = machine.project("shop")
    machine.register(root, alias="client-a")
    layout = machine.home.project(project_id(root))
    layout.root.parent.mkdir(exist_ok=True)
    layout.root.write_text("a file where a directory has to be: also root cannot write into it")
    async with machine.serve() as desk:
        started = await desk.call("index_repo", project_id="client-a", wait_seconds=50)
        asked = await desk.until(lambda answer: answer.code, "search_code", query="x", project_id="client-a")

    assert started.json["error_code"] == "permission_denied"
    assert "CODECOMPASS_HOME" in started.json["error_message"]
    assert str(layout.root) in asked.message
