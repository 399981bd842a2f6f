"""What lies outside of the allowed roots does not exist: not as a project, and not as the repository of one within.

A server is asked with everything that it has: all tools, resources, completions, prompts, pages and endpoints. `secret` was
registered and indexed by an earlier server without allowed roots; its names, paths and counts occur nowhere else.
"""

import os
import re
import shutil
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from codecompass.identity import canonical_root, project_id
from codecompass.projects.detection import RoutingRules
from codecompass.store.registry import Registry, set_project_group
from codecompass.transport.tools.listing import TOOLS
from tests.scan.trees import git, repository
from tests.support.routing import Client
from tests.support.serving import Serving, open_serving
from tests.support.waiting import until
from tests.support.wire import modern
from tests.transport.http.client import ask, message, modern_headers
from tests.ui.pages import PAGE_SETTINGS, page_server

CANARY = "zirconium"
"""In the path, the alias, the group, the branch, a file and a definition of the project outside."""

N_SYMBOLS = 7_919
"""Definitions of the project outside. No other count of these tests is the same."""


class Mine:
    """`inside` is allowed; the project outside is at `secret`."""

    def __init__(self, top: Path) -> None:
        self.home = top / "home"
        self.inside = top / "inside"
        self.shop = repository(self.inside / "shop", tracked={"shop.py": "def total():\n    return 1\n"})
        definitions = "".join(f"def {CANARY}_{number}(): pass\n" for number in range(N_SYMBOLS))
        self.secret = repository(top / "outside" / f"{CANARY}-vault", tracked={f"{CANARY}.py": definitions})
        git(self.secret, "branch", "-m", f"{CANARY}-branch")
        self.secret_id = project_id(self.secret)


@pytest.fixture
async def mine(tmp_path: Path) -> Mine:
    found = Mine(canonical_root(tmp_path))
    async with open_serving(found.home) as before:
        for root in (found.secret, found.shop):
            await before.call("index_repo", Client(transport="stdio"), workspace=root, wait_seconds=50)
        secret = await before.registry.run(Registry.rename, found.secret_id, f"{CANARY}-name")
        await before.registry.run(lambda registry: set_project_group(registry, f"{CANARY}-group", [secret]))
    return found


def arguments_of(mine: Mine, tool: str) -> list[dict]:
    """Returns arguments for a tool: about nothing, about the project inside, and about the one outside by each of its names."""
    subject = {
        "search_code": {"query": CANARY},
        "locate_symbol": {"name": CANARY},
        "find_references": {"name": CANARY},
        "get_code_context": {"query": CANARY},
        "get_file_outline": {"path": f"{CANARY}.py"},
        "read_file": {"path": f"{CANARY}.py"},
        "index_repository": {"repo_path": str(mine.shop)},
    }.get(tool, {})
    names = [mine.secret_id, f"{CANARY}-name", f"{CANARY}-vault", f"{CANARY}-group"]
    about = [{}, {"workspace": str(mine.shop)}, {"workspace": "*"}, {"workspace": "shop,*"}]
    # `index_repository` would give a name that nobody has to the project that it indexes.
    about += [{"project_id": name} for name in (names[:2] if tool == "index_repository" else names)]
    about += [{"workspace": name} for name in names]
    about += [{"workspace": str(mine.secret)}, {"workspace": f"shop,{CANARY}-name"}, {"ref": f"{CANARY}-branch"}]
    return [{**subject, **each} for each in about]


def check(answer: bytes | str, mine: Mine, given: object) -> None:
    """Asserts that an answer has nothing of the project outside but what the question itself has."""
    text = answer.decode("utf-8", "replace") if isinstance(answer, bytes) else answer
    said = text
    for typed in sorted(_texts(given), key=len, reverse=True):
        said = said.replace(typed, "")
    assert CANARY not in said, (given, text)
    assert mine.secret_id not in said, (given, text)
    assert "outside/" not in said, (given, text)
    assert not re.search(rf"\b({N_SYMBOLS}|{N_SYMBOLS:,})\b", said), (given, text)


def _texts(given: object) -> list[str]:
    if isinstance(given, dict):
        return [text for value in given.values() for text in _texts(value)]
    return [given] if isinstance(given, str) and given else []


@asynccontextmanager
async def restricted(mine: Mine):
    settings = replace(PAGE_SETTINGS, server=replace(PAGE_SETTINGS.server, prewarm=True, warmset_capacity=10))
    async with page_server(mine.home, allowed_roots=[mine.inside], settings=settings) as browser:
        yield browser


@pytest.mark.invariant(
    "A project outside of the allowed roots is in no answer, list, count, name or page, and its index is not opened"
)
async def test_every_tool_answers_as_if_it_were_not_there(mine: Mine):
    async with restricted(mine) as browser:
        for transport in ("stdio", "http"):
            for tool in (each.request.tool for each in TOOLS):
                for given in arguments_of(mine, tool):
                    answer = await browser.serving.answer(tool, Client(transport=transport), **given)
                    check(answer.payload, mine, given)
                    check(answer.text, mine, given)


@pytest.mark.invariant(of="test_every_tool_answers_as_if_it_were_not_there")
async def test_no_endpoint_and_no_page_names_or_counts_it(mine: Mine):
    async with restricted(mine) as browser:
        await browser.wait_known(1)
        for page in ("/health", "/metrics", "/", "/ui", "/ui/projects", "/ui/activity"):
            check((await browser.get(page)).body, mine, {})
        for page in (
            "/ui",
            "/ui/results",
            "/ui/file",
            "/ui/files",
            "/ui/symbol",
            "/ui/goto",
            "/ui/diff",
            "/ui/project",
            "/ui/why",
        ):
            for name in (mine.secret_id, f"{CANARY}-name", "*", ""):
                given = {"project": name, "q": CANARY, "path": f"{CANARY}.py", "name": CANARY}
                check((await browser.get(page, **given)).body, mine, {**given, "other": CANARY})
        for action in ("rebuild", "sync", "cancel"):
            given = {"project": mine.secret_id, "action": action}
            check((await browser.post("/ui/act", **given)).body, mine, given)


@pytest.mark.invariant(of="test_every_tool_answers_as_if_it_were_not_there")
async def test_no_resource_completion_or_prompt_names_it(mine: Mine):
    async with restricted(mine) as browser:
        async with open_serving(mine.home) as other:
            stdio = Client(transport="stdio")
            made = await other.call("index_repo", stdio, workspace=mine.secret, wait_seconds=50, force=True)
        questions = [
            ("resources/list", {}, None),
            ("resources/templates/list", {}, None),
            ("prompts/list", {}, None),
            ("tools/list", {}, None),
            *(
                ("resources/read", {"uri": uri}, uri)
                for uri in ("codecompass://workspaces", f"codecompass://jobs/{made['job_id']}")
            ),
        ]
        for reference, name in (
            ({"type": "ref/prompt", "name": "explain_symbol"}, "symbol"),
            ({"type": "ref/prompt", "name": "explore_codebase"}, "focus"),
            ({"type": "ref/resource", "uri": "codecompass://outline/{path}"}, "path"),
        ):
            parameters = {"ref": reference, "argument": {"name": name, "value": CANARY[:5]}}
            questions.append(("completion/complete", parameters, None))
        for method, parameters, name in questions:
            body = message(method, modern(parameters))
            answer = await ask(browser.port, "POST", "/mcp", body, **modern_headers(method, name))
            assert answer.status in (200, 400, 404), answer.body
            check(answer.body, mine, {**parameters, "job": made["job_id"]})


def open_files() -> list[str]:
    places = [f"/proc/self/fd/{each}" for each in os.listdir("/proc/self/fd")]
    return [os.readlink(each) for each in places if os.path.lexists(each)]


@pytest.mark.invariant(of="test_every_tool_answers_as_if_it_were_not_there")
async def test_it_is_neither_warmed_nor_opened(mine: Mine):
    async with restricted(mine) as browser:
        await until(lambda: browser.serving.server.moment().prewarm_status == "complete", seconds=60)

        moment, opened = browser.serving.server.moment(), open_files()

    assert [each.project_id for each in moment.live] == [project_id(mine.shop)]
    assert moment.warmset == (project_id(mine.shop),)
    assert not [each for each in opened if mine.secret_id in each]


# the repositories of projects within


def lead_out(mine: Mine, way: str) -> Path:
    """Makes a project within the allowed root whose repository leads out of it."""
    top = repository(mine.inside / way, tracked={"own.py": "def own():\n    return 1\n"})
    dot_git = top / ".git"
    if way == "pointer":
        shutil.rmtree(dot_git)
        dot_git.write_text(f"gitdir: {mine.secret}/.git\n")
    elif way == "link":
        shutil.rmtree(dot_git)
        dot_git.symlink_to(mine.secret / ".git")
    elif way == "common":
        (dot_git / "commondir").write_text(f"{mine.secret}/.git\n")
    elif way == "alternates":
        (dot_git / "objects/info/alternates").write_text(f"{mine.secret}/.git/objects\n")
        (dot_git / "refs/heads/theirs").write_bytes(git(mine.secret, "rev-parse", "HEAD"))
    elif way == "refs":
        shutil.rmtree(dot_git / "refs")
        (dot_git / "refs").symlink_to(mine.secret / ".git/refs")
    elif way == "work tree":
        shutil.rmtree(top)
        git(mine.secret, "worktree", "add", "-q", "--no-checkout", "-b", "side", str(top))
        (top / "own.py").write_text("def own():\n    return 1\n")
    return top


@pytest.mark.invariant(of="test_no_way_leads_out")
@pytest.mark.parametrize("way", ["pointer", "link", "common", "alternates", "refs", "work tree"])
async def test_no_question_reads_a_repository_that_leads_out(mine: Mine, way: str):
    top = lead_out(mine, way)
    secret = git(mine.secret, "rev-parse", "HEAD").decode().strip()
    refs = ["HEAD", "theirs", f"{CANARY}-branch", secret, "main"]
    questions: list[tuple[str, dict]] = [
        ("list_refs", {}),
        ("index_status", {}),
        ("health_check", {}),
        ("diff_context", {}),
        *(("diff_context", {"base": ref}) for ref in refs),
        *(("diff_context", {"base": "HEAD", "head": ref}) for ref in refs),
        *(("search_code", {"query": "own", "changed_since": ref}) for ref in refs),
        *(("search_code", {"query": "pass", "ref": ref}) for ref in refs),
        *(("get_file_outline", {"path": f"{CANARY}.py", "ref": ref}) for ref in refs),
    ]
    async with page_server(mine.home, allowed_roots=[mine.inside]) as browser:
        made = await browser.serving.call("index_repo", Client(transport="stdio"), workspace=top, wait_seconds=50)
        project = await browser.index(top)
        for tool, given in questions:
            answer = await browser.serving.answer(tool, Client(), workspace=top, **given)
            check(answer.payload, mine, {**given, "id": secret})
        for page in ("/ui/diff", "/ui/project", "/ui/projects", "/ui/file"):
            check((await browser.get(page, project=project, path="own.py", ref="theirs")).body, mine, {})
        found = await browser.serving.call("locate_symbol", workspace=top, name="own")

    assert made["status"] == "published"
    assert [hit["path"] for hit in found["results"]] == ["own.py"]


async def refusal_of_name(serving: Serving, mine: Mine, name: str) -> str:
    """Returns the error for giving `name` to the project inside, without the name itself."""
    refused = await serving.refusal("index_repository", Client(transport="stdio"), repo_path=str(mine.shop), project_id=name)
    check(str(refused), mine, {"project_id": name})
    return refused["error"]["message"].replace(name, "NAME")


@pytest.mark.invariant(
    "A refused name says nothing of projects outside of the allowed roots, nor does the report of a full store"
)
async def test_a_project_with_a_name_is_refused_any_other_in_the_same_words(mine: Mine):
    async with open_serving(mine.home, rules=RoutingRules(allowed_roots=(mine.inside,))) as serving:
        await serving.registry.run(Registry.rename, project_id(mine.shop), "mine")
        names = (f"{CANARY}-name", f"{CANARY}-group", mine.secret_id, "free", "0123456789abcdef")
        refused = [await refusal_of_name(serving, mine, name) for name in names]

    assert len(set(refused)) == 1, refused


@pytest.mark.invariant(of="test_a_project_with_a_name_is_refused_any_other_in_the_same_words")
async def test_an_id_outside_cannot_be_told_from_an_unknown_one_and_a_name_is_refused_without_a_reason(mine: Mine):
    async with open_serving(mine.home, rules=RoutingRules(allowed_roots=(mine.inside,))) as serving:
        ids = [await refusal_of_name(serving, mine, name) for name in (mine.secret_id, "0123456789abcdef")]
        taken = [await refusal_of_name(serving, mine, f"{CANARY}-{what}") for what in ("name", "group")]

    assert len(set(ids)) == len(set(taken)) == 1, (ids, taken)
    assert "not a name to be given here" in taken[0]


async def test_a_work_tree_whose_repository_is_within_has_its_refs(mine: Mine):
    side = mine.inside / "side"
    git(mine.shop, "worktree", "add", "-q", "-b", "side", str(side))
    rules = RoutingRules(allowed_roots=(mine.inside,))
    async with open_serving(mine.home, rules=rules) as serving:
        await serving.call("index_repo", Client(transport="stdio"), workspace=side, wait_seconds=50)
        listed = await serving.call("list_refs", workspace=side)
        found = await serving.call("locate_symbol", workspace=side, name="total", ref="main")

    assert {each["name"] for each in listed["refs"]} == {"main", "side"}
    assert [hit["path"] for hit in found["results"]] == ["shop.py"]


async def test_a_person_can_allow_the_directory_of_a_repository(mine: Mine):
    top = lead_out(mine, "work tree")
    rules = RoutingRules(allowed_roots=(mine.inside,), allowed_git_dirs=(mine.secret / ".git",))
    async with open_serving(mine.home, rules=rules) as serving:
        await serving.call("index_repo", Client(transport="stdio"), workspace=top, wait_seconds=50)
        listed = await serving.call("list_refs", workspace=top)

    assert {each["name"] for each in listed["refs"]} == {f"{CANARY}-branch", "side"}


async def test_an_answer_says_why_git_is_not_used(mine: Mine):
    top = lead_out(mine, "pointer")
    async with open_serving(mine.home, rules=RoutingRules(allowed_roots=(mine.inside,))) as serving:
        made = await serving.call("index_repo", Client(transport="stdio"), workspace=top, wait_seconds=50)
        listed = await serving.call("list_refs", workspace=top)
        refused = await serving.refusal("search_code", workspace=top, query="own", ref="HEAD")

    assert any("--allowed-git-dir" in each for each in listed["metadata"]["warnings"]), listed
    assert any("--allowed-git-dir" in each for each in made["metadata"]["warnings"]), made
    assert "--allowed-git-dir" in refused["error"]["message"]
