"""The freshness policies, and that an answer contains what was written before the request.

To query a change before it is indexed, a test sends the request at once, with `query.freshness_wait_ms = 0`; if the watcher was
faster, it makes another change.
"""

from collections.abc import AsyncIterator
from itertools import count

import pytest

from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from tests.contract.backend import BACKEND
from tests.support.serving import Serving, open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

IMPATIENT = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0))

ATTEMPTS = 50
"""Maximum number of changes until one is queried before it is indexed. The first is nearly always enough."""

PATIENCE_SECONDS = 60


@pytest.fixture
async def impatient(repository: TestWorkspace) -> AsyncIterator[Serving]:
    """Serves the repository with requests that wait for nothing."""
    repository.write(BACKEND)
    repository.commit()
    async with open_serving(repository.home, settings=IMPATIENT) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)
        await serving.call("index_repo", wait_seconds=50)
        yield serving


async def until_fresh(serving: Serving) -> dict:
    """Returns the first answer that is fresh."""

    async def fresh():
        reply = await serving.call("locate_symbol", name="newest", freshness_policy="best_effort")
        return reply if reply["metadata"]["freshness_status"] == "fresh" else None

    return await until(fresh, seconds=PATIENCE_SECONDS)


@pytest.mark.parametrize("tool", ["search_code", "locate_symbol"])
async def test_strict_refuses_with_the_commits_and_what_to_do(impatient, repository, tool):
    """The exact error."""
    asked = {"search_code": {"query": "Claims"}, "locate_symbol": {"name": "Claims"}}[tool]
    for n in range(ATTEMPTS):
        await until_fresh(impatient)
        indexed = repository.git("rev-parse", "HEAD").strip()
        repository.write({"src/auth/newest.rs": f"pub fn newest_{n}() {{}}\n"})
        repository.commit()
        answer = await impatient.answer(tool, freshness_policy="strict", **asked)
        if answer.error is not None:
            break

    error = impatient.refusal_of(answer)["error"]
    data = error["data"]
    assert error["code"] == "index_stale"
    assert error["message"] == "Index is stale. Last indexed commit does not match HEAD. Run sync_repo to refresh."
    assert data["last_indexed_commit"] == indexed
    assert data["current_head"] == repository.git("rev-parse", "HEAD").strip()
    assert "sync_repo" in data["suggestion"]


async def test_strict_counts_the_files_where_no_commit_tells(impatient, repository):
    """`index_stale` has `changed_files`."""
    for n in range(ATTEMPTS):
        await until_fresh(impatient)
        repository.write({"src/auth/newest.rs": f"pub fn newest_{n}() {{}}\n"})
        answer = await impatient.answer("locate_symbol", name="Claims", freshness_policy="strict")
        if answer.error is not None:
            break

    error = impatient.refusal_of(answer)["error"]
    assert (error["code"], error["data"]["changed_files"]) == ("index_stale", 1)
    assert {"last_indexed_commit", "current_head"}.isdisjoint(error["data"])


@pytest.mark.parametrize("policy", ["balanced", "best_effort"])
async def test_the_other_policies_answer_from_what_is_indexed_and_say_so(impatient, repository, policy):
    """Results with `freshness_status: "stale"`, or `syncing` once the update runs."""
    for n in count():
        assert n < ATTEMPTS
        await until_fresh(impatient)
        repository.write({"src/auth/newest.rs": f"pub fn newest_{n}() {{}}\n"})
        reply = await impatient.call("locate_symbol", name="Claims", freshness_policy=policy)
        if reply["metadata"]["freshness_status"] != "fresh":
            break

    assert reply["metadata"]["freshness_status"] in ("stale", "syncing")
    assert reply["results"][0]["path"] == "src/auth/jwt.rs"


@pytest.mark.invariant("No answer after an edit is wrong while claiming to be fresh or complete, nor an error")
@pytest.mark.parametrize(
    ("tool", "argument"), [("find_references", "symbol_name"), ("get_call_graph", "symbol_name"), ("get_file_outline", "path")]
)
async def test_not_found_in_an_index_that_is_behind_says_that_it_is_behind(impatient, repository, tool, argument):
    """An agent takes `fresh` and `complete` as a proof that there is no such symbol. By the time that the error is written, the
    change may be in the index: what counts is the state of the index that answered."""
    found_late = 0
    for n in count():
        assert n < ATTEMPTS
        await until_fresh(impatient)
        repository.write({f"src/auth/newest_{n}.rs": f"pub fn newest_{n}() {{}}\n"})
        asked = f"newest_{n}" if argument == "symbol_name" else f"src/auth/newest_{n}.rs"
        answer = await impatient.answer(tool, **{argument: asked})
        if answer.error is None:
            continue
        found_late += 1
        metadata = impatient.refusal_of(answer)["metadata"]
        assert metadata["freshness_status"] in ("stale", "syncing")
        assert metadata["result_completeness"] == "partial"
        assert any("changed since" in warning for warning in metadata["warnings"]), metadata
        if found_late == 5:
            break


async def test_balanced_is_the_default_and_has_the_change_taken_in_behind_the_answer(impatient, repository):
    """The update in the background needs no further call."""
    repository.write({"src/auth/newest.rs": "pub fn newest() {}\n"})
    await impatient.call("locate_symbol", name="Claims")

    reply = await until_fresh(impatient)

    assert reply["results"][0]["name"] == "newest"


@pytest.mark.parametrize("policy", ["balanced", "strict"])
async def test_what_was_saved_before_the_call_is_in_its_answer(backend, repository, policy):
    """Read your writes."""
    repository.write({"src/auth/newest.rs": "pub fn newest() {}\n"})

    reply = await backend.call("locate_symbol", name="newest", freshness_policy=policy)

    assert reply["metadata"]["freshness_status"] == "fresh"
    assert reply["results"][0]["path"] == "src/auth/newest.rs"


@pytest.mark.parametrize("policy", ["strict", "balanced", "best_effort"])
async def test_an_index_of_the_tree_as_it_is_is_fresh_under_every_policy(backend, policy):
    """Policies matter only for stale indexes. `best_effort` only knows what an earlier scan has found."""
    await backend.call("locate_symbol", name="Claims", freshness_policy="balanced")

    reply = await backend.call("search_code", query="validate_token", freshness_policy=policy)

    assert reply["metadata"]["freshness_status"] == "fresh"
