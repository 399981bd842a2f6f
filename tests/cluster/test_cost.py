"""The cost of the cluster's code without a cluster: an ordinary server loads none of it."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

ORDINARY = """
import json, sys, tempfile
from pathlib import Path

import trio

import codecompass.cli.serving
from codecompass.projects.detection import RoutingRules
from codecompass.settings import ServerSettings, Settings
from codecompass.store.layout import HomeLayout
from codecompass.transport.http.server import open_sockets
from codecompass.transport.http.service import serve_http
from codecompass.transport.server import ServerOptions, open_server
from tests.transport.http.client import ask, call


async def main(place):
    project = place / "project"
    project.mkdir()
    (project / "auth.py").write_text("def validate_token(token):\\n    return token\\n")
    settings = Settings(server=ServerSettings(transport="http", prewarm=False))
    rules = RoutingRules(pinned=(project,))
    launch = ServerOptions(settings=settings, settings_for=lambda _root: settings, home=HomeLayout(place / "home"), rules=rules)
    async with open_server(launch) as server, trio.open_nursery() as nursery:
        sockets = open_sockets("127.0.0.1", 0)
        await nursery.start(lambda task_status: serve_http(server, sockets, task_status=task_status))
        port = sockets[0].getsockname()[1]
        found = await ask(port, "POST", "/", call("search_code", {"query": "validate token"}))
        await ask(port, "POST", "/", call("search_code", {"query": "validate token", "workspace": "*"}))
        await ask(port, "POST", "/", call("health_check"))
        server.core.stop()
    assert found.said()["results"][0]["name"] == "validate_token", found.body
    print(*sys.modules)


with tempfile.TemporaryDirectory() as place:
    trio.run(main, Path(place).resolve())
"""


def test_nothing_of_it_is_loaded_by_a_server_that_answers_from_this_machine():
    done = subprocess.run([sys.executable, "-c", ORDINARY], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "codecompass.transport.tools.services" in loaded
    not_here = ("opensearchpy", "codecompass.cluster", "urllib3", "requests", "opentelemetry")
    assert [each for each in loaded if each.startswith(not_here)] == []
