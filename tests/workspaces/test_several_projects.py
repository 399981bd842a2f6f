"""Requests about several projects: which are queried, what the answer reports of each, and how faults of one affect others."""

import os
import shutil

import pytest
import trio

from tests.support.dead_mounts import dead_mount
from tests.workspaces.machine import word

pytestmark = pytest.mark.interaction

RETRY = "def retry_delay(attempt):\n    '''How long to wait before another attempt.'''\n    return 2 ** attempt\n"


@pytest.fixture
def three(machine):
    """`api` computes a delay, `web` only mentions one, `docs` has neither; all are indexed, none is live."""
    api = machine.project("api", {"src/retry.py": RETRY})
    web = machine.project("web", {"src/page.py": "def page(delay):\n    return f'{delay}'\n"})
    docs = machine.project("docs")
    for root in (api, web, docs):
        machine.index(root)
    return api, web, docs


def cold(machine, *flags, **variables):
    """Serves without making the most recently used projects live."""
    return machine.serve(*flags, CODECOMPASS_SERVER_PREWARM="false", **variables)


async def search(desk, query, workspace, **arguments):
    return await desk.call("search_code", query=query, workspace=workspace, **arguments)


def places(answer):
    return [(hit["project"], hit["path"]) for hit in answer.json["results"]]


def parts(answer):
    return {each["name"]: each for each in answer.metadata.get("projects", ())}


async def test_all_projects_answer_and_each_hit_names_its_own(machine, three):
    api, web, _docs = three
    async with cold(machine) as desk:
        answer = await search(desk, "retry delay attempt", "*")

    assert places(answer)[0] == ("api", "src/retry.py")
    assert ("web", "src/page.py") in places(answer)
    assert parts(answer)["api"]["root"] == str(api)
    assert parts(answer)["web"]["root"] == str(web)
    assert answer.metadata["n_projects"] == 3


@pytest.mark.parametrize("form", ["list", "commas", "paths", "ids", "mixed", "group"])
async def test_some_projects_are_named_in_any_way(machine, three, form):
    api, web, _docs = three
    ids = [machine.projects()[root].project_id for root in (api, web)]
    assert machine.run("projects", "group", "backend", str(api), str(web)).returncode == 0
    workspace = {
        "list": ["api", "web"],
        "commas": "api, web",
        "paths": [str(api), str(web / "src")],
        "ids": ids,
        "mixed": ["backend", "api", ids[1]],
        "group": "backend",
    }[form]
    async with cold(machine) as desk:
        answer = await search(desk, "only", workspace, limit=50)

    assert {project for project, _ in places(answer)} == {"api", "web"}
    assert answer.metadata["n_projects"] == 2


async def test_a_hit_is_followed_by_the_name_of_its_project(machine, three):
    async with cold(machine) as desk:
        outline = await desk.call("get_file_outline", workspace="api", path="src/retry.py")
        missing = await desk.call("get_file_outline", workspace="nothing", path="src/retry.py")

    assert [each["name"] for each in outline.json["symbols"]] == ["retry_delay"]
    assert missing.code == "workspace_not_registered"


async def test_a_name_that_no_project_has_is_refused_with_those_there_are(machine, three):
    async with cold(machine) as desk:
        answer = await search(desk, "retry", ["api", "wep"])

    assert answer.code == "project_not_found"
    assert "'web'" in answer.text
    assert "docs" in answer.text


async def test_projects_of_the_same_directory_name_are_told_apart(machine):
    roots = [machine.project("app", below=machine.dev / owner) for owner in ("one", "two")]
    for root in roots:
        machine.index(root)
    async with cold(machine) as desk:
        answer = await desk.call("locate_symbol", name="only_in_app", workspace="*")

    assert {hit["project"] for hit in answer.json["results"]} == {"app", "two-app"}


async def test_names_that_fit_exactly_come_first_whatever_project_they_are_in(machine):
    first = machine.project("a", {"src/near.py": "def settle_all():\n    pass\n"})
    second = machine.project("b", {"src/exact.py": "def settle():\n    pass\n"})
    for root in (first, second):
        machine.index(root)
    async with cold(machine) as desk:
        answer = await desk.call("locate_symbol", name="settle", workspace="*")

    assert [(hit["project"], hit["name"]) for hit in answer.json["results"]] == [("b", "settle"), ("a", "settle_all")]


async def test_a_literal_is_looked_for_in_each_project_in_turns(machine, three):
    async with cold(machine) as desk:
        answer = await search(desk, "return", "*", mode="literal", limit=3)

    assert {project for project, _ in places(answer)} == {"api", "web", "docs"}


@pytest.mark.invariant("No project outside the allowed roots takes part in a question about several projects")
async def test_nothing_outside_of_the_allowed_roots_takes_part(machine, three):
    api, _web, _docs = three
    elsewhere = machine.project("secret", {"src/retry.py": RETRY}, below=machine.base / "elsewhere")
    machine.index(elsewhere)
    assert machine.run("projects", "group", "mixed", str(api), str(elsewhere)).returncode == 0
    async with cold(machine, "--allowed-root", machine.dev) as desk:
        everything = await search(desk, "retry delay", "*", limit=50)
        group = await search(desk, "retry delay", "mixed", limit=50)
        named = await search(desk, "retry delay", ["api", "secret"])
        by_id = await search(desk, "retry delay", ["api", machine.projects()[elsewhere].project_id])
        by_path = await search(desk, "retry delay", ["api", str(elsewhere)])

    assert {project for project, _ in places(everything)} <= {"api", "web", "docs"}
    assert everything.metadata["n_projects"] == 3
    assert {project for project, _ in places(group)} == {"api"}
    assert (named.code, by_id.code, by_path.code) == ("project_not_found", "project_not_found", "workspace_not_allowed")
    for answer in (everything, group, by_id):
        assert "secret" not in answer.text
        assert str(elsewhere) not in answer.text


async def test_a_project_whose_root_has_become_a_link_to_elsewhere_costs_its_own_part(machine, three):
    _api, web, _docs = three
    elsewhere = machine.project("secret", below=machine.base / "elsewhere")
    shutil.rmtree(web)
    web.symlink_to(elsewhere)
    async with cold(machine, "--allowed-root", machine.dev) as desk:
        answer = await search(desk, "retry delay", "*")

    assert places(answer)[0][0] == "api"
    assert "web" not in {project for project, _ in places(answer)}
    assert any("no answer from web" in warning for warning in answer.metadata["warnings"])
    assert "secret" not in answer.text


async def test_one_without_an_index_is_named_and_not_indexed_for_it(machine, three):
    new = machine.project("new", {"src/retry.py": RETRY})
    machine.register(new)
    async with cold(machine) as desk:
        answer = await search(desk, "retry delay", "*")
        health = await desk.health()

    assert places(answer)[0][0] == "api"
    assert any("no answer from new: it has no index yet" in warning for warning in answer.metadata["warnings"])
    assert answer.metadata["result_completeness"] == "partial"
    (state,) = [each["index_status"] for each in health["projects"] if each["repo_root"] == str(new)]
    assert state == "not_indexed"


@pytest.mark.invariant("A project that fails affects only its own part of an answer about several")
async def test_one_on_a_file_system_that_does_not_answer_costs_its_own_part(machine, three):
    api, web, _docs = three
    async with cold(machine) as desk:
        await desk.ready(word(api), workspace=api)
        with dead_mount(web), trio.fail_after(60):
            answer = await search(desk, "retry delay", "*", timeout_ms=20_000)

    assert places(answer)[0] == ("api", "src/retry.py")
    assert any("no answer from web" in warning for warning in answer.metadata["warnings"])


async def test_projects_that_are_asked_do_not_become_live(machine, three):
    async with cold(machine) as desk:
        await search(desk, "retry delay", "*")
        await desk.call("locate_symbol", name="retry_delay", workspace="*")
        health = await desk.health()

    assert {each["residency"] for each in health["projects"]} == {"on_disk"}


async def test_a_live_project_answers_with_an_edit_made_just_before(machine, three):
    api, _web, _docs = three
    async with cold(machine) as desk:
        await desk.ready(word(api), workspace=api)
        (api / "src" / "new.py").write_text("def brand_new_word():\n    pass\n")
        answer = await desk.call("locate_symbol", name="brand_new_word", workspace=["api"])

    assert [hit["path"] for hit in answer.json["results"]] == ["src/new.py"]
    assert parts(answer)["api"]["freshness_status"] == "fresh"
    assert (answer.metadata["freshness_status"], answer.metadata["result_completeness"]) == ("fresh", "complete")


async def test_a_hit_in_a_file_that_has_changed_is_marked_where_its_project_is_not_live(machine, three):
    api, _web, _docs = three
    (api / "src" / "retry.py").write_text("# moved\n" + RETRY)
    os.utime(api / "src" / "main.py")
    async with cold(machine) as desk:
        changed = await search(desk, "retry delay attempt", "*")
        touched = await desk.call("locate_symbol", name=word(api), workspace="*")

    (hit,) = [hit for hit in changed.json["results"] if hit["path"] == "src/retry.py"]
    assert hit["stale"]
    assert parts(changed)["api"]["freshness_status"] == "unchecked"
    assert changed.metadata["freshness_status"] == "stale"
    assert "stale" not in touched.json["results"][0]


async def test_a_strict_question_gets_nothing_from_an_index_that_was_not_compared_with_its_tree(machine, three):
    api, _web, _docs = three
    async with cold(machine) as desk:
        await desk.ready(word(api), workspace=api)
        some = await search(desk, "retry delay", "*", freshness_policy="strict")
        none = await search(desk, "retry delay", ["web"], freshness_policy="strict")
    async with cold(machine, CODECOMPASS_QUERY_FRESHNESS_POLICY="strict") as desk:
        by_setting = await search(desk, "retry delay", ["web"])

    assert {project for project, _ in places(some)} == {"api"}
    assert any("no answer from web, docs" in each or "no answer from docs, web" in each for each in some.metadata["warnings"])
    assert (none.code, by_setting.code) == ("index_stale", "index_stale")


async def test_of_many_projects_those_with_most_of_the_question_are_searched(machine):
    """There are more projects than are searched; samples select."""
    for number in range(16):
        root = machine.project(f"p{number:02}", {"src/wait.py": f"def wait_{number}(attempt):\n    return attempt\n"})
        machine.index(root)
    right = machine.project("zz", {"src/retry.py": RETRY})
    machine.index(right)
    async with cold(machine) as desk:
        answer = await search(desk, "retry delay attempt", "*")

    assert places(answer)[0] == ("zz", "src/retry.py")
    assert answer.metadata["n_projects"] == 17


@pytest.mark.parametrize("argument", [{"ref": "main"}, {"changed_since": "main"}, {"why_not": "src/a.py"}, {"project_id": "api"}])
async def test_what_is_about_one_project_is_refused_for_several(machine, three, argument):
    async with cold(machine) as desk:
        answer = await search(desk, "retry", "*", **argument)

    assert answer.code == "invalid_input"
    assert next(iter(argument)) in answer.text


async def test_the_text_names_projects_before_paths_and_their_directories_once(machine, three):
    api, _web, _docs = three
    async with cold(machine, CODECOMPASS_SERVER_ANSWERS="text") as desk:
        answer = await desk.client.call_tool("search_code", {"query": "retry delay attempt", "workspace": "*"})

    lines = answer.content[0].text.splitlines()
    assert lines[0] == "api:src/retry.py"
    assert [line for line in lines if line.startswith(f"api = {api} (")]


@pytest.fixture
def library(machine):
    """`shop` defines a function and a class; `till` uses both, `unrelated` has a function of the same name."""
    shop = machine.project(
        "shop", {"shop/__init__.py": "def settle(n):\n    return n\n\n\ndef twice(n):\n    return settle(n) * 2\n"}
    )
    till = machine.project(
        "till",
        {
            "till.py": "from shop import settle\n\n\ndef close():\n    return settle(1)\n",
            "tests/test_till.py": "import shop\n\n\ndef test_settle():\n    assert shop.settle(1)\n",
        },
    )
    unrelated = machine.project("unrelated", {"own.py": "def settle():\n    pass\n\n\nsettle()\n"})
    for root in (shop, till, unrelated):
        machine.index(root)
    return shop, till, unrelated


def uses(answer):
    return [(use["project"], use["path"], use["line_start"], use["confidence"]) for use in answer.json["references"]]


USES = [
    ("till", "till.py", 1, "exact"),
    ("till", "till.py", 5, "exact"),
    ("shop", "shop/__init__.py", 6, "exact"),
    ("till", "tests/test_till.py", 5, "exact"),
]
"""Product code of other projects first, then of the defining one, then tests."""


async def test_uses_are_found_wherever_the_package_is_imported(machine, library):
    async with cold(machine) as desk:
        answer = await desk.call("find_references", symbol_name="settle", workspace=["shop", "*"])
        pages = [
            await desk.call("find_references", symbol_name="settle", workspace=["shop", "*"], limit=2, offset=offset)
            for offset in (0, 2)
        ]

    assert answer.json["definition"]["project"] == "shop"
    assert uses(answer) == USES
    assert [use for page in pages for use in uses(page)] == USES
    assert {page.json["total"] for page in pages} == {4}
    assert {name: part["total_candidates"] for name, part in parts(answer).items()} == {"shop": 1, "till": 3}


async def test_a_name_that_several_projects_define_is_answered_for_each_of_them(machine, library):
    async with cold(machine) as desk:
        answer = await desk.call("find_references", symbol_name="settle", workspace="*")
        one = await desk.call("find_references", symbol_name="twice", workspace="*")
        none = await desk.call("find_references", symbol_name="no_such_name", workspace="*")

    definitions = answer.json["definitions"]
    assert {(each["project"], each["path"]) for each in definitions} == {("shop", "shop/__init__.py"), ("unrelated", "own.py")}
    assert answer.json["definition"] == definitions[0]
    of_shop = next(number for number, each in enumerate(definitions) if each["project"] == "shop")
    assert [use[:2] for use in uses(answer) if use in USES] == [use[:2] for use in USES]
    assert sum(each["definition"] == of_shop for each in answer.json["references"]) == len(USES) == definitions[of_shop]["n_uses"]
    assert one.json["definition"]["project"] == "shop"
    assert none.code == "symbol_not_found"
