"""`ref` in requests: the answer is about the commit that it names, whatever is checked out or written meanwhile."""

import os
from functools import partial

import pytest
import trio

from codecompass.errors import IndexInProgress
from codecompass.settings import QuerySettings, ServerSettings, Settings, StorageSettings
from codecompass.store.housekeeping import remove_project
from codecompass.store.layout import commit_layouts
from codecompass.store.lock import lock_for_reading
from codecompass.store.registry import Registry
from tests.support.routing import Client
from tests.support.serving import open_serving
from tests.support.tools import QUESTIONS, TOOLS
from tests.support.waiting import until

OLD = {
    "src/shop.py": "class Cart:\n    def total(self):\n        return price(self)\n\n\ndef price(cart):\n    return 1\n",
    "gone.py": "def only_then(): pass\n",
}
NEW = {
    "src/shop.py": "import os\n\n\nclass Basket:\n    def total(self):\n        return cost()\n\n\ndef cost():\n    return 2\n",
    "new.py": "def only_now(): pass\n",
}


def settings(**storage):
    return Settings(
        server=ServerSettings(prewarm=False),
        query=QuerySettings(freshness_wait_ms=60_000, first_answer_wait_ms=600_000, files_answer_after_ms=600_000),
        storage=StorageSettings(**storage),
    )


@pytest.fixture
def history(repository):
    """Two commits: `v1` is the first; `main` is the second and checked out."""
    repository.write(OLD)
    repository.commit()
    repository.git("tag", "v1")
    (repository.root / "gone.py").unlink()
    repository.write(NEW)
    repository.commit()
    return repository


@pytest.fixture
async def served(history):
    async with open_serving(history.home, settings=settings(max_refs=2)) as serving:
        project = await serving.registry.run(Registry.register, history.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        yield serving


def body(hit):
    return hit["body"]


async def until_idle(served, history, commit):
    """Returns once the index of a commit is idle. Retires its actor."""
    await until(partial(served.server.supervisor.evict_commit, history.project_id, commit))


def kept(history):
    return {layout.root.name for layout in commit_layouts(history.layout)}


@pytest.mark.parametrize("tool", QUESTIONS)
@pytest.mark.parametrize("name", ["v1", "HEAD~1", "commit"])
async def test_every_question_is_answered_about_the_ref_and_says_which_commit_that_is(served, history, tool, name):
    commit = history.git("rev-parse", "v1").strip()
    ref = commit if name == "commit" else name

    metadata = (await served.call(tool, ref=ref, **TOOLS[tool].arguments(symbol="price", path="src/shop.py")))["metadata"]

    assert (metadata["ref"], metadata["commit"]) == (ref, commit)
    assert metadata["freshness_status"] == "fresh"


@pytest.mark.invariant("An answer about a ref is from the commit that it names, whatever the tree holds")
async def test_the_lines_of_an_answer_are_those_of_the_ref_whatever_the_tree_holds(served, history):
    await served.call("locate_symbol", name="Cart", ref="v1")
    history.write({"src/shop.py": "class Cart: 'not committed'\n", "gone.py": "def other(): pass\n"})

    (hit,) = (await served.call("locate_symbol", name="Cart", ref="v1", detail_level="body"))["results"]
    (gone,) = (await served.call("locate_symbol", name="only_then", ref="v1"))["results"]
    missing = await served.call("search_code", query="only_now", ref="v1", mode="literal")
    (live,) = (await served.call("locate_symbol", name="Cart", detail_level="body"))["results"]

    assert body(hit) == "class Cart:\n    def total(self):\n        return price(self)"
    assert (hit["line_start"], hit["line_end"]) == (1, 3)
    assert gone["path"] == "gone.py"
    assert missing["results"] == []
    assert body(live) == "class Cart: 'not committed'"


async def test_without_ref_an_answer_is_about_the_tree_and_names_no_commit(served):
    reply = await served.call("locate_symbol", name="Basket")

    assert reply["results"][0]["path"] == "src/shop.py"
    assert reply["metadata"]["ref"] == "main"
    assert "commit" not in reply["metadata"]


async def test_the_branch_that_is_checked_out_is_answered_without_what_is_not_committed(served, history):
    history.write({"src/shop.py": "def uncommitted(): pass\n"})

    assert (await served.call("locate_symbol", name="Basket", ref="main"))["results"]
    assert not (await served.call("search_code", query="uncommitted", ref="main"))["results"]


async def test_many_first_questions_about_one_commit_build_its_index_once(served, history):
    commit = history.git("rev-parse", "v1").strip()
    clients = [Client() for _ in range(12)]
    answers = []

    async def ask(client, ref):
        answers.append(await served.call("locate_symbol", client, name="Cart", ref=ref))

    async with trio.open_nursery() as nursery:
        for number, client in enumerate(clients):
            nursery.start_soon(ask, client, ["v1", "HEAD~1", commit][number % 3])

    assert {answer["results"][0]["symbol_id"] for answer in answers} == {answers[0]["results"][0]["symbol_id"]}
    assert {answer["metadata"]["generation"] for answer in answers} == {1}
    assert kept(history) == {commit}
    assert all(client.n_followed <= 1 for client in clients)
    assert any(client.n_followed for client in clients)


async def test_a_rewritten_branch_is_answered_as_it_is_now(served, history):
    history.git("branch", "side", "v1")
    before = await served.call("locate_symbol", name="Cart", ref="side")
    history.git("branch", "-f", "side", "main")

    after = await served.call("locate_symbol", name="Basket", ref="side")

    assert before["metadata"]["commit"] == history.git("rev-parse", "v1").strip()
    assert after["metadata"]["commit"] == history.git("rev-parse", "main").strip()
    assert after["results"][0]["name"] == "Basket"


@pytest.mark.parametrize(
    ("ref", "code"),
    [("nowhere", "ref_not_indexed"), ("f" * 40, "ref_not_indexed"), ("v1..main", "invalid_input"), ("--all", "invalid_input")],
)
async def test_a_name_of_no_commit_is_refused_with_what_to_do(served, history, ref, code):
    error = (await served.refusal("search_code", query="x", ref=ref))["error"]

    assert error["code"] == code
    assert "list_refs" in error["message"]
    assert kept(history) == set()


async def test_an_error_is_about_the_ref_as_well(served, history):
    """It names the requested commit, never the branch that is checked out."""
    commit = history.git("rev-parse", "v1").strip()

    missing = (await served.refusal("get_file_outline", path="new.py", ref="v1"))["metadata"]
    unknown = (await served.refusal("get_file_outline", path="new.py", ref="nowhere"))["metadata"]

    assert (missing["ref"], missing["commit"]) == ("v1", commit)
    assert "ref" not in unknown


async def test_a_workspace_without_git_has_no_refs_but_its_own_name(workspace):
    workspace.write({"a.py": "def one(): pass\n"})
    async with open_serving(workspace.home) as serving:
        await serving.registry.run(Registry.register, workspace.root)

        own = await serving.call("locate_symbol", workspace=workspace.root, name="one", ref="live")
        error = (await serving.refusal("locate_symbol", workspace=workspace.root, name="one", ref="main"))["error"]
        listed = await serving.call("list_refs", workspace=workspace.root)

    assert own["metadata"]["ref"] == "live"
    assert error["code"] == "ref_not_indexed"
    assert "Leave ref out" in error["message"]
    assert (listed["current"]["ref"], listed["refs"]) == ("live", [])


@pytest.mark.invariant("The number of indexed commits is bounded, and none that somebody has open is removed")
async def test_a_bounded_number_of_commits_is_kept_and_the_least_recently_used_goes(served, history):
    """`storage.max_refs` is 2 here; new commits are queried in turn, and one is used again."""
    commits = []
    for number in range(5):
        history.write({"n.py": f"def number_{number}(): pass\n"})
        history.commit()
        commits.append(history.git("rev-parse", "HEAD").strip())
    for number, commit in enumerate(commits):
        reply = await served.call("locate_symbol", name=f"number_{number}", ref=commit)
        assert reply["metadata"]["commit"] == commit
        assert len(kept(history)) <= 2
        await until_idle(served, history, commit)
        os.utime(history.layout.commit(commit).readers, (number, number))

    again = await served.call("locate_symbol", name="number_0", ref=commits[0])

    assert again["results"][0]["name"] == "number_0"
    assert kept(history) == {commits[0], commits[4]}
    assert not [path for path in history.layout.refs.iterdir() if path.name.startswith(".")]


@pytest.mark.invariant(of="test_a_bounded_number_of_commits_is_kept_and_the_least_recently_used_goes")
async def test_what_another_process_has_open_is_not_removed(served, history):
    await served.call("locate_symbol", name="Cart", ref="v1")
    first = history.git("rev-parse", "v1").strip()
    await until_idle(served, history, first)
    held = lock_for_reading(history.layout.commit(first))
    try:
        for number in range(3):
            history.write({"n.py": f"def number_{number}(): pass\n"})
            history.commit()
            await served.call("locate_symbol", name="Cart", ref="HEAD")
        assert first in kept(history)
    finally:
        os.close(held)


async def test_a_project_is_not_removed_while_one_of_its_commits_is_open_and_takes_them_along(served, history):
    await served.call("locate_symbol", name="Cart", ref="v1")
    with pytest.raises(IndexInProgress):
        remove_project(history.layout, spare_readers=True)
    await until(partial(served.server.supervisor.evict, history.project_id))

    assert remove_project(history.layout, spare_readers=True) > 0
    assert not history.layout.root.exists()


async def test_orders_about_the_tree_take_only_the_branch_that_is_checked_out(served):
    assert (await served.call("sync_repo", ref="main", wait_seconds=50))["status"] == "published"

    error = (await served.refusal("sync_repo", ref="v1"))["error"]

    assert error["code"] == "ref_not_indexed"
    assert "search_code" in error["message"]


async def test_list_refs_says_what_there_is_what_is_indexed_and_what_is_checked_out(served, history):
    history.git("branch", "release/1.0", "v1")
    await served.call("locate_symbol", name="Cart", ref="v1")

    listed = await served.call("list_refs")
    one = await served.call("list_refs", filter="RELEASE")

    commit, first = history.git("rev-parse", "main").strip(), history.git("rev-parse", "v1").strip()
    assert (listed["current"]["ref"], listed["current"]["commit"]) == ("main", commit)
    assert listed["current"]["file_count"] == 2
    assert listed["default_branch"] == "main"
    (indexed,) = listed["indexed"]
    assert (indexed["commit"], indexed["names"], indexed["file_count"]) == (first, ["release/1.0", "v1"], 2)
    assert indexed["symbol_count"] == 4
    assert {(ref["name"], ref["kind"], ref["commit"], ref["is_indexed"]) for ref in listed["refs"]} == {
        ("main", "branch", commit, False),
        ("release/1.0", "branch", first, True),
        ("v1", "tag", first, True),
    }
    assert ([ref["name"] for ref in one["refs"]], one["total_refs"]) == (["release/1.0"], 1)


async def test_annotated_tags_are_listed_by_their_commits_and_tags_of_files_not_at_all(served, history):
    history.git("tag", "-a", "-m", "t", "v2", "main")
    history.git("tag", "a-file", "main:new.py")

    listed = await served.call("list_refs", filter="", limit=2)

    assert listed["total_refs"] == 3
    assert len(listed["refs"]) == 2
    names = {ref["name"]: ref["commit"] for ref in (await served.call("list_refs"))["refs"]}
    assert names["v2"] == history.git("rev-parse", "v2^{commit}").strip()
    assert "a-file" not in names
