"""A question about several projects, some of which cannot be read."""

import json
import os

import pytest
from msgspec.structs import replace

from codecompass.actors import cold_answers
from codecompass.errors import DeadlineExceeded
from codecompass.protocol.replies import SearchCodeReply
from codecompass.store.registry import Registry
from codecompass.store.word_summary import write_summary
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


ANSWER_COLD = cold_answers.answer_cold


async def ask(projects, tool, *, has_upkeep=True, **arguments):
    answer = await answered(projects, tool, has_upkeep=has_upkeep, **arguments)
    assert answer.error is None, answer.payload
    return json.loads(answer.payload)


async def answered(projects, tool, *, has_upkeep=True, **arguments):
    """Returns the answer in both forms."""
    async with open_serving(projects[0].home, has_upkeep=has_upkeep) as serving:
        for each in projects:
            await serving.registry.run(Registry.register, each.root)
        try:
            return await serving.answer(tool, workspace="*", limit=50, **arguments)
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


OF_P2 = [
    ("search_code", {"query": "retry_delay_2", "mode": "literal", "timeout_ms": 5_000}),
    ("search_code", {"query": "etry_delay_2", "mode": "literal", "timeout_ms": 5_000}),
    ("search_code", {"query": r"delay_2\(\w+\):", "mode": "regex", "timeout_ms": 5_000}),
    ("search_code", {"query": "unheard qqqzzz", "timeout_ms": 5_000}),
    ("locate_symbol", {"name": "retry_delay_2", "kind": "class"}),
]


@pytest.mark.parametrize("is_summarized", [False, True])
@pytest.mark.parametrize(("tool", "question"), OF_P2)
async def test_an_answer_that_lacks_a_project_does_not_read_as_if_there_were_nothing(projects, tool, question, is_summarized):
    """Only p2 may have it, and is not asked: neither form says that there is none, with or without summaries of the others."""
    for each in projects if is_summarized else ():
        assert write_summary(each.layout)
    unreadable(projects[2])

    answer = await answered(projects, tool, has_upkeep=False, **question)

    said = json.loads(answer.payload)
    if said["results"]:
        assert tool == "search_code"
        assert question.get("mode") is None
        return
    assert said["notice"].startswith("not known: 1 of 7 projects were not searched")
    assert said["metadata"]["result_completeness"] == "partial"
    assert any("no answer from p2" in each for each in said["metadata"]["warnings"])
    assert answer.text.startswith("not known: 1 of 7 projects were not searched")
    assert "warning: no answer from p2: " in answer.text
    assert "nothing found" not in answer.text


async def test_a_scan_that_was_cut_short_does_not_read_as_if_there_were_nothing(projects, monkeypatch):
    def cut(*arguments):
        found = ANSWER_COLD(*arguments)
        reply = found.reply
        assert isinstance(reply, SearchCodeReply)
        return replace(found, reply=replace(reply, is_counted=False))

    monkeypatch.setattr(cold_answers, "answer_cold", cut)

    answer = await answered(projects, "search_code", has_upkeep=False, query="def qqq", mode="literal")

    said = json.loads(answer.payload)
    assert said["notice"].startswith("not known: 7 of 7 projects were not searched, or not to the end")
    assert "warning: not searched to the end: p0, p1, p2, p3, p4, p5, p6; ask again" in answer.text


@pytest.mark.parametrize("is_summarized", [False, True])
async def test_where_every_project_was_asked_nothing_is_nothing(projects, is_summarized):
    for each in projects if is_summarized else ():
        assert write_summary(each.layout)

    for query, mode in (("unheard", "literal"), ("nheard_o", "literal"), (r"unhe\w+d", "regex")):
        answer = await answered(projects, "search_code", has_upkeep=False, query=query, mode=mode)

        assert answer.text.startswith("nothing found\n"), query
        said = json.loads(answer.payload)
        assert (said["total_candidates"], said["unit"]) == (0, "line")
        assert not [each for each in said["metadata"]["warnings"] if "no answer" in each or "to the end" in each]


@pytest.mark.parametrize("is_summarized", [False, True])
@pytest.mark.parametrize("spoil", [unreadable, never_read])
async def test_a_name_of_which_a_project_may_have_the_definition_is_not_said_to_have_none(projects, is_summarized, spoil):
    """With summaries the other projects are not asked at all: the error named none that was missing."""
    for each in projects if is_summarized else ():
        assert write_summary(each.layout)
    spoil(projects[2])

    answer = await answered(projects, "find_references", has_upkeep=False, symbol_name="retry_delay_2", timeout_ms=5_000)

    assert answer.error is not None
    assert "could be asked" in answer.error.message
    assert "no answer from p2" in answer.error.message.replace("No answer", "no answer")
    assert answer.error.code == ("workspace_busy" if spoil is never_read else "symbol_not_found")


NAMESAKES = 4
"""Classes of each project with a method of one name: three projects have fewer than an answer can be about, all have more."""


@pytest.fixture
async def namesakes(projects):
    """Each project defines and calls `settle` several times."""
    classes = "".join(f"class Book{n}:\n    def settle(self):\n        return Book{n}().settle()\n\n\n" for n in range(NAMESAKES))
    for each in projects:
        each.write({"books.py": classes})
        await each.sync()
    return projects


@pytest.fixture
def asked_for_uses(monkeypatch):
    """The names of the projects that look for uses, and not for definitions alone."""
    asked = []

    def noted(home, project, request, options, *arguments):
        if not options.is_definition_only:
            asked.append(project.name)
        return ANSWER_COLD(home, project, request, options, *arguments)

    monkeypatch.setattr(cold_answers, "answer_cold", noted)
    return asked


async def test_a_name_with_too_many_definitions_is_refused_before_any_use_of_it_is_looked_for(namesakes, asked_for_uses):
    """A common name took seconds in each of many repositories, for an answer that lists its definitions."""
    answer = await answered(namesakes, "find_references", has_upkeep=False, symbol_name="settle")

    assert answer.error.code == "ambiguous_symbol"
    assert answer.error.data["candidate_count"] == NAMESAKES * N_PROJECTS
    assert answer.error.data["candidates"][NAMESAKES]["path"] == "p1:books.py"
    assert asked_for_uses == []


async def test_only_projects_that_define_a_name_look_for_its_uses(projects, asked_for_uses):
    answer = await ask(projects, "find_references", has_upkeep=False, symbol_name="retry_delay_5")

    assert answer["definition"]["project"] == "p5"
    # The others are asked for uses of what they import.
    assert asked_for_uses[0] == "p5"
    assert asked_for_uses.count("p5") == 1


async def test_a_project_that_is_named_first_is_asked_for_the_uses_of_a_name_that_all_define(namesakes):
    async with open_serving(namesakes[0].home, has_upkeep=False) as serving:
        for each in namesakes:
            await serving.registry.run(Registry.register, each.root)
        answer = await serving.call("find_references", workspace=["p3", "*"], symbol_name="settle")

    assert {each["project"] for each in answer["definitions"]} == {"p3"}
    assert answer["total"] == NAMESAKES


@pytest.fixture
async def written_in_c(projects):
    """p5 and p6 define a function in a language whose packages are not imported by name."""
    for number in (5, 6):
        definition = "int settle(int n)\n{\n    return n;\n}\n"
        use = f"int go{number}(void)\n{{\n    return settle(1);\n}}\n"
        projects[number].write({f"settle{number}.c": f"{definition}\n{use}"})
        await projects[number].sync()
    return projects


async def test_an_answer_about_uses_names_projects_that_may_define_the_name_too(written_in_c):
    """It passed for complete where only the defining project is looked through."""
    unreadable(written_in_c[2])

    answer = await ask(written_in_c, "find_references", has_upkeep=False, symbol_name="settle")

    assert answer["total"] == 2
    assert answer["metadata"]["result_completeness"] == "partial"
    assert any("no answer from p2" in each for each in answer["metadata"]["warnings"])


async def test_a_project_that_fails_while_it_looks_for_uses_is_named(written_in_c, monkeypatch):
    def failing(home, project, request, options, *arguments):
        if project.name == "p6" and not options.is_definition_only:
            raise DeadlineExceeded("it did not answer in time")
        return ANSWER_COLD(home, project, request, options, *arguments)

    monkeypatch.setattr(cold_answers, "answer_cold", failing)

    answer = await ask(written_in_c, "find_references", has_upkeep=False, symbol_name="settle")

    assert {each["project"] for each in answer["references"]} == {"p5"}
    assert any("no answer from p6" in each for each in answer["metadata"]["warnings"])


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


@pytest.mark.parametrize(("lines", "total", "is_counted"), [(100, 700, True), (400, 1_000, False), (1_500, 1_000, False)])
async def test_lines_of_all_projects_are_counted_together_up_to_the_bound_of_one(projects, lines, total, is_counted):
    for each in projects:
        each.write({"many.txt": "needle\n" * lines})
        await each.sync()

    answer = await ask(projects, "search_code", query="needle", mode="literal")

    assert (answer["total_candidates"], answer.get("is_counted", True)) == (total, is_counted)
    assert {part.get("total_candidates") for part in answer["metadata"]["projects"]} == ({lines} if is_counted else {None})


async def test_lines_of_a_token_are_counted_in_each_project_that_is_searched_for_it(projects):
    for each in projects[:4]:
        each.write({f"many{number}.py": "NEEDLE_TOKEN = 1\n" * 80 for number in range(10)})
        await each.sync()

    answer = await ask(projects, "search_code", query="NEEDLE_TOKEN")

    assert (answer["unit"], answer["total_candidates"], answer.get("is_counted", True)) == ("line", 3_200, True)


async def test_what_no_project_can_answer_is_told_for_its_reason_and_not_as_busy(projects):
    answer = await answered(projects, "search_code", has_upkeep=False, query="type:commit retry")

    assert answer.error is not None
    assert answer.error.message.startswith("none of 7 projects answered (")
    assert answer.error.code == "invalid_input", "they have no history"
    assert "retry_after_ms" not in (answer.error.data or {})
