"""A question about several projects, some of which cannot be read."""

import os

import pytest

from codecompass.store.registry import Registry
from tests.support.serving import open_serving
from tests.support.workspace import TestWorkspace

N_PROJECTS = 7
"""More than are searched by words without looking at a sample of each."""


@pytest.fixture
async def projects(tmp_path):
    made = [TestWorkspace(tmp_path / f"p{number}", tmp_path / "home") for number in range(N_PROJECTS)]
    for number, each in enumerate(made):
        each.write({"retry.py": f"def retry_delay_{number}(attempt):\n    '''How long to wait before another attempt.'''\n"})
        await each.sync()
    return made


async def ask(projects, tool, *, has_upkeep=True, **arguments):
    async with open_serving(projects[0].home, has_upkeep=has_upkeep) as serving:
        for each in projects:
            await serving.registry.run(Registry.register, each.root)
        try:
            return await serving.call(tool, workspace="*", limit=50, **arguments)
        finally:
            for each in projects:
                if each.layout.current.is_fifo():
                    release(each.layout.current)


def release(fifo):
    """Ends the wait of all that read from `fifo`, now and later."""
    writer = os.open(fifo, os.O_RDWR)
    fifo.unlink()
    os.close(writer)


def unreadable(project):
    """Makes the system refuse to open the index, in a way for which there is no error of ours."""
    project.layout.root.rename(project.layout.root.with_name("away"))
    project.layout.root.symlink_to(project.layout.root)


def never_read(project):
    """Makes reading the index wait forever."""
    project.layout.current.unlink()
    os.mkfifo(project.layout.current)


@pytest.mark.invariant(of="test_one_on_a_file_system_that_does_not_answer_costs_its_own_part")
@pytest.mark.parametrize("has_upkeep", [True, False])
@pytest.mark.parametrize("spoil", [unreadable, never_read])
@pytest.mark.parametrize(
    ("tool", "question"),
    [
        ("search_code", {"query": "how long to wait before another attempt", "timeout_ms": 10_000}),
        ("search_code", {"query": "another attempt", "mode": "literal", "timeout_ms": 10_000}),
        ("locate_symbol", {"name": "retry_delay_5"}),
        ("find_references", {"symbol_name": "retry_delay_5"}),
    ],
)
async def test_a_project_that_cannot_be_read_costs_its_own_part(projects, tool, question, spoil, has_upkeep):
    spoil(projects[2])

    answer = await ask(projects, tool, has_upkeep=has_upkeep, **question)

    silent = [warning for warning in answer["metadata"]["warnings"] if warning.startswith("no answer from")]
    assert answer["definition"] if tool == "find_references" else answer["results"]
    assert answer["metadata"]["result_completeness"] == "partial"
    assert "p2" in " ".join(silent)
    if tool == "locate_symbol":
        assert answer["results"][0]["project"] == "p5"


@pytest.mark.parametrize("pattern", ["([{<", "[a", "(a", "a{2000}", "\\1", "*"])
async def test_a_regular_expression_that_is_refused_is_so_for_all_projects_at_once(projects, pattern):
    async with open_serving(projects[0].home) as serving:
        for each in projects:
            await serving.registry.run(Registry.register, each.root)
        refused = await serving.refusal("search_code", workspace="*", query=pattern, mode="regex")

    assert refused["error"]["code"] == "invalid_input"
    assert refused["error"]["data"]["field"] == "query"


async def test_a_name_is_found_exactly_however_many_projects_have_similar_ones(projects, monkeypatch):
    """It stopped after 128 of 500 projects, with three similar names of each."""
    monkeypatch.setattr("codecompass.transport.tools.project_answers.ALWAYS_ASKED", 1)
    monkeypatch.setattr("codecompass.transport.tools.project_answers.ASKED_FOR_SIMILAR", 2)

    answer = await ask(projects, "locate_symbol", has_upkeep=False, name="retry_delay_6")

    assert [(hit["project"], hit["match"]) for hit in answer["results"][:1]] == [("p6", "exact")]
    assert [each for each in answer["metadata"]["warnings"] if "were not searched" in each] == []


async def test_a_question_that_fits_in_no_project_has_a_weak_answer(projects):
    reply = await ask(projects, "search_code", query="how are shaders of a graphics device compiled before the attempt")

    assert reply["weak"]
    assert reply["results"]
    assert reply["notice"].startswith("weak: no project")


async def test_one_project_in_which_it_fits_is_enough(projects):
    projects[3].write({"shaders.py": "def compile_shaders(device):\n    '''Compiles the shaders of a graphics device.'''\n"})
    await projects[3].sync()

    reply = await ask(projects, "search_code", query="how are shaders of a graphics device compiled")

    assert "weak" not in reply


@pytest.mark.parametrize(("lines", "is_counted"), [(3, True), (6_000, False)])
async def test_a_total_is_exact_only_if_it_is_in_each_project(projects, lines, is_counted):
    projects[0].write({f"many{number}.py": "votes = 1\n" * (lines // 3) for number in range(3)})
    await projects[0].sync()

    reply = await ask(projects, "search_code", query="votes = 1", mode="literal")

    assert (reply["unit"], reply.get("is_counted", True)) == ("line", is_counted)
    assert reply["total_candidates"] == lines or (not is_counted and 1_000 <= reply["total_candidates"] < lines)
