"""Reports about, and handling of, an index that this program cannot use."""

import re

import pytest

from codecompass.settings import QuerySettings, ServerSettings, Settings
from codecompass.store.registry import Registry
from codecompass.store.schema import SCHEMA_VERSION
from tests.contract.backend import BACKEND
from tests.support.serving import open_serving
from tests.support.waiting import until

IMPATIENT = Settings(server=ServerSettings(prewarm=False), query=QuerySettings(freshness_wait_ms=0, first_answer_wait_ms=0))


async def indexed(repository):
    """Indexes the repository with a server that is then stopped; returns the file that describes the index."""
    repository.write(BACKEND)
    repository.commit()
    async with open_serving(repository.home) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, alias="backend", as_default=True)
        await serving.call("index_repo", wait_seconds=50)
    (current,) = repository.home.glob("projects/*/CURRENT")
    return current


def older(text):
    return re.sub(r'"schema_version":\d+', '"schema_version":0', text)


def torn(text):
    return text[: len(text) // 2]


@pytest.mark.parametrize(("damage", "status", "version"), [(older, "reindex_required", 0), (torn, "corrupt_manifest", None)])
async def test_health_tells_the_state_and_what_to_do(repository, damage, status, version):
    current = await indexed(repository)
    current.write_text(damage(current.read_text()))

    async with open_serving(repository.home, settings=IMPATIENT) as serving:

        async def checked():
            check = (await serving.call("health_check"))["startup_checks"]["index"]
            return check if check["status"] != "not_indexed" else None

        check = await until(checked)
        health = await serving.call("health_check")

    assert (check["status"], check["required_schema_version"]) == (status, SCHEMA_VERSION)
    assert version is None or check["current_schema_version"] == version
    assert "codecompass index --force" in check["message"]
    assert health["projects"][0]["schema_status"] == status


@pytest.mark.parametrize("damage", [older, torn])
async def test_a_question_is_told_to_come_back_or_finds_the_index_built_again(repository, damage):
    """The seed refuses until an index is forced; here the workspace rebuilds it automatically."""
    current = await indexed(repository)
    current.write_text(damage(current.read_text()))

    async with open_serving(repository.home, settings=IMPATIENT) as serving:

        async def results():
            answer = await serving.answer("locate_symbol", name="validate_token")
            if answer.error is None:
                found = (await serving.call("locate_symbol", name="validate_token"))["results"]
                assert found, "an index that is being rebuilt is not one that holds nothing"
                return found
            error = serving.refusal_of(answer)["error"]
            assert error["code"] == "index_not_ready"
            assert "index_repo with force: true" in error["message"]
            assert error["data"]["retry_after_ms"] > 0
            return None

        found = await until(results)

    assert found[0]["path"] == "src/auth/jwt.rs"


async def test_where_nothing_is_indexed_yet_nothing_is_not_an_answer(repository):
    """`not_indexed`: a request that cannot be answered in time is refused with a retry time."""
    repository.write({f"src/m{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(300)})
    async with open_serving(repository.home, settings=IMPATIENT) as serving:
        project = await serving.registry.run(Registry.register, repository.root)
        await serving.registry.run(Registry.adopt, project.project_id, as_default=True)

        refused = await serving.refusal("locate_symbol", name="function_7")

    assert refused["error"]["code"] == "index_not_ready"
    assert refused["error"]["data"]["retry_after_ms"] > 0
    assert refused["metadata"]["indexing_status"] == "indexing"
    assert refused["metadata"]["result_completeness"] == "partial"
