"""The official Python client 1.x against the real command, over each of its transports except stdio."""

import json
import subprocess
from pathlib import Path

import pytest
import trio

from tests.support.environments import OLDER_CLIENT, python_with
from tests.transport.http.command import http_command

# The first one makes the environment of this client.
pytestmark = [pytest.mark.blackbox, pytest.mark.slow, pytest.mark.timeout(900)]

PROGRAM = Path(__file__).with_name("older_client.py")
N_FILES = 120


@pytest.fixture(scope="module")
def python():
    """The Python interpreter of an environment that has this client."""
    return python_with(OLDER_CLIENT)


@pytest.mark.parametrize(("kind", "address"), [("http", "http://{}/mcp"), ("sse", "http://{}/mcp"), ("websocket", "ws://{}/ws")])
async def test_it_does_all_that_a_host_does(tmp_path, python, kind, address):
    project, home = tmp_path / "backend", tmp_path / "home"
    project.mkdir()
    home.mkdir()
    for n in range(N_FILES):
        (project / f"module_{n}.py").write_text(f"def function_{n}(value):\n    return value\n" * 20)

    async with http_command(home, "--auto-workspace", "--allowed-root", project) as server:
        url = address.format(server.url.removeprefix("http://"))
        done = await trio.run_process(
            [python, "-W", "ignore", PROGRAM, kind, url, project], capture_stdout=True, stderr=subprocess.STDOUT, check=False
        )

    assert done.returncode == 0, done.stdout.decode()
    seen = json.loads(done.stdout.decode().splitlines()[-1])
    assert seen["revision"] == "2025-11-25"
    assert (seen["tools"][0], len(seen["tools"])) == ("search_code", 12)
    assert seen["indexed"][0] is False, seen["indexed"]
    is_error, text, structured = seen["found"]
    assert not is_error, text
    assert json.loads(text) == structured
    assert structured["results"][0]["path"] == "module_7.py"
    assert structured["metadata"]["workspace"] == str(project)
    assert seen["failed"][0]
    assert "workspace_not_allowed" in seen["failed"][1]
    assert seen["unknown"] == -32602
    assert len(seen["progress"]) >= 3
    assert seen["progress"][-1][:2] == [100, 100]
