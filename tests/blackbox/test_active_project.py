"""The real command, where the variable of seed 003 names a server that knows the active project."""

import pytest

from tests.support.active_peer import running_peer
from tests.support.sample import SAMPLE
from tests.support.served import serving, write_tree

pytestmark = pytest.mark.blackbox

PATIENT = {"CODECOMPASS_SERVER_ACTIVE_PROJECT_TIMEOUT_MS": "5000"}


async def test_the_active_project_of_a_peer_is_answered_from_and_without_one_the_question_still_is(tmp_path):
    root = write_tree(tmp_path / "shop", SAMPLE)
    named = {"repo_path": str(root), "project_id": "shop"}
    with running_peer() as peer:
        async with serving(tmp_path, WORKFLOW_MCP_URL=f"{peer}/is/shop", **PATIENT) as line:
            await line.initialize()
            before = await line.tool("search_code", {"query": "validate tokens"})
            assert not (await line.tool("index_repository", named)).get("isError")
            after = await line.tool("search_code", {"query": "validate tokens"})
        async with serving(tmp_path, WORKFLOW_MCP_URL=f"{peer}/broken", **PATIENT) as line:
            await line.initialize()
            without = await line.tool("search_code", {"query": "validate tokens"})
        async with serving(tmp_path, cwd=root, WORKFLOW_MCP_URL=f"{peer}/broken", **PATIENT) as line:
            await line.initialize()
            by_cwd = await line.tool("search_code", {"query": "validate tokens"})

    assert "'shop' of the configured server is not registered here" in before["content"][0]["text"]
    assert after["structuredContent"]["metadata"]["workspace"] == str(root)
    assert "No project detected." in without["content"][0]["text"]
    assert by_cwd["structuredContent"]["metadata"]["workspace"] == str(root)
