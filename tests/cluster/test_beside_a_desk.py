"""A developer's server with the real server of an organisation: exactly what the token may see is merged."""

import pytest
import trio

from codecompass.settings import ClusterSettings, ServerSettings, Settings
from tests.cluster.nodes import Cluster
from tests.cluster.organisation import GROUPS, Organisation, files_of, organisation, serving_library, url_of
from tests.transport.organisation.conftest import complaints, desk, index, write

ASKED = "wheel engine helper"


@pytest.fixture
async def published(engine_cluster: Cluster, tmp_path):
    """An organisation with its repositories in the engine."""
    with organisation(engine_cluster.urls, tmp_path / "org") as made:
        for name, groups in GROUPS.items():
            await made.publish(name, files_of(name), groups=groups)
        yield made


async def token_of(made: Organisation, *groups: str) -> str:
    text = await trio.to_thread.run_sync(lambda: made.tokens.add("ada", groups))
    made.engine.refresh(made.engine.names.access)
    return text


@pytest.mark.cluster
async def test_what_a_token_may_see_is_merged_with_what_is_here(published, tmp_path):
    """A repository checked out here is answered only from here, however it was cloned."""
    own = write(tmp_path / "dev" / "own", {"src/own_wheel.py": "def own_engine(wheel):\n    return wheel\n"})
    clone = write(tmp_path / "dev" / "clone", files_of("shared"), url_of("shared").replace("https://", "ssh://git@") + ".git")
    token = await token_of(published, "red")
    async with (
        serving_library(published.settings(), tmp_path / "cache") as library,
        desk(tmp_path / "home", f"http://127.0.0.1:{library.port}", token=token) as dev,
    ):
        await index(dev, own, clone)
        found = await dev.call("search_code", query=ASKED, workspace="*", limit=100)
        text = await dev.call("search_code", query="common_helper", mode="literal", workspace="*", limit=100)
        names = await dev.call("locate_symbol", name="turn_alpha", workspace="*")
        label = names["results"][0]["project"]
        outline = await dev.call("get_file_outline", path="src/alpha_engine.py", workspace=label)
        by_id = await dev.call("find_references", symbol_name="AlphaEngine.turn_alpha", workspace=label)
        by_address = await dev.call("index_status", workspace="team-alpha/alpha")
        hidden = await dev.refusal("index_status", workspace="org:hidden")

    for answer in (found, text):
        assert complaints(answer) == []
        assert {hit["project"] for hit in answer["results"]} <= {"own", "clone", "org:alpha", "org:public"}
    assert {hit["project"] for hit in text["results"]} == {"clone", "org:alpha", "org:public"}
    assert {"own", "clone", "org:alpha", "org:public"} == {hit["project"] for hit in found["results"]}
    assert found["metadata"]["n_projects"] == 4
    assert label == "org:alpha"
    assert outline["symbols"][0]["name"] == "AlphaEngine"
    assert by_id["definition"]["path"] == "src/alpha_engine.py"
    assert by_address["metadata"]["workspace"] == "org:team-alpha/alpha"
    assert hidden["error"]["code"] == "project_not_found"


@pytest.mark.cluster
async def test_a_token_that_is_none_or_was_revoked_costs_the_part_of_the_organisation(published, tmp_path):
    own = write(tmp_path / "dev" / "own", {"src/own_wheel.py": "def own_engine(wheel):\n    return wheel\n"})
    async with serving_library(published.settings(), tmp_path / "cache") as library:
        for token in ("cct_nobody", ""):
            async with desk(tmp_path / "home", f"http://127.0.0.1:{library.port}", token=token) as dev:
                await index(dev, own)
                answer = await dev.call("search_code", query=ASKED, workspace="*")

            assert {hit["project"] for hit in answer["results"]} == {"own"}
            (complaint,) = complaints(answer)
            assert "CODECOMPASS_ORGANISATION_TOKEN" in complaint
            assert "cct_nobody" not in complaint


async def test_an_engine_that_is_away_costs_the_part_of_the_organisation(tmp_path):
    own = write(tmp_path / "dev" / "own", {"src/own_wheel.py": "def own_engine(wheel):\n    return wheel\n"})
    settings = Settings(
        cluster=ClusterSettings(url=("http://127.0.0.1:1",), segments="/nowhere"),
        server=ServerSettings(transport="http", store="opensearch", tools="all"),
    )
    async with (
        serving_library(settings, tmp_path / "cache", n_ready=0) as library,
        desk(tmp_path / "home", f"http://127.0.0.1:{library.port}") as dev,
    ):
        await index(dev, own)
        answer = await dev.call("search_code", query=ASKED, workspace="*")

    assert {hit["project"] for hit in answer["results"]} == {"own"}
    (complaint,) = complaints(answer)
    assert "call again later" in complaint
