"""The official TypeScript clients and the inspector with the real command: tools, progress, roots, errors, cancellation."""

import json
import os
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from codecompass.transport.tools.listing import TOOLS
from tests.conformance.official_suite import installed_node
from tests.support.live import command, environment, http_server, index
from tests.support.sample import SAMPLE
from tests.support.workspace import TestWorkspace

pytestmark = [pytest.mark.blackbox, pytest.mark.timeout(1_800)]

PACKAGES = Path(sys.prefix) / "node-clients"
DRIVER = Path(__file__).parent / "drive.cjs"
RUN_SECONDS = 300
TOOL_FAILED = 5
"""The inspector's exit code if a tool returns an error."""

CASES = [
    (1, "legacy", "stdio"),
    (1, "legacy", "http"),
    (1, "legacy", "sse"),
    (1, "legacy", "websocket"),
    (1, "legacy", "bridge"),
    (2, "legacy", "stdio"),
    (2, "legacy", "http"),
    (2, "legacy", "sse"),
    (2, "auto", "stdio"),
    (2, "auto", "http"),
    (2, "2026-07-28", "http"),
    (2, "auto", "bridge"),
]
PATHS = {"http": "/mcp", "sse": "/mcp", "websocket": "/ws"}


@pytest.fixture(scope="module")
def node():
    """The path of Node. If it or the packages are missing, skips the test, or fails it in CI."""
    found = installed_node()
    if found is None or not (PACKAGES / "node_modules" / "@modelcontextprotocol" / "client").exists():
        if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
            pytest.fail("Node and the TypeScript clients are required here: make suite")
        pytest.skip("Node or the TypeScript clients are not installed; make suite installs them")
    return found


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """An indexed project that takes noticeable time to index again."""
    base = tmp_path_factory.mktemp("clients")
    shop = TestWorkspace(base / "project", base / "home", git=True)
    shop.write({**SAMPLE, **{f"src/m{number}.py": f"def f{number}():\n    return {number}\n" * 100 for number in range(60)}})
    shop.commit()
    index([shop])
    return shop


@asynccontextmanager
async def served(transport, home):
    """Yields the address of a server, if the transport needs one."""
    if transport == "stdio":
        yield ""
    else:
        async with http_server(home=home) as server:
            yield server.url


@pytest.mark.parametrize(("sdk", "mode", "transport"), CASES, ids=lambda value: str(value))
async def test_a_client_gets_through_everything_that_hosts_do(node, shop, sdk, mode, transport):
    async with served(transport, shop.home) as url:
        bridge = ("--connect", url) if transport == "bridge" else ()
        wish = {
            "sdk": sdk,
            "mode": mode,
            "transport": "stdio" if bridge else transport,
            "url": f"{url.replace('http', 'ws', 1) if transport == 'websocket' else url}{PATHS.get(transport, '')}",
            "command": command("serve-mcp", *bridge),
            "env": environment(shop.home),
            "cwd": str(shop.home),
            "root": str(shop.root),
        }
        with trio.fail_after(RUN_SECONDS):
            done = await trio.run_process(
                [node, DRIVER, PACKAGES, json.dumps(wish)], capture_stdout=True, capture_stderr=True, check=False
            )
    assert done.returncode == 0, done.stderr.decode()
    seen = json.loads(done.stdout)

    assert seen["server"]["name"] == "codecompass"
    assert set(seen["tools"]) <= {tool.name for tool in TOOLS}
    assert len(seen["tools"]) == 12
    assert seen["located"]["structuredContent"]["metadata"]["workspace"] == str(shop.root), "by its roots"
    assert seen["located"]["structuredContent"] == json.loads(seen["located"]["content"][0]["text"])
    assert seen["n_roots_asked"] >= 1
    assert seen["indexed"]["structuredContent"]["status"] == "published"
    # A client of the modern era also reports its own rounds, without a total.
    told = [each for each in seen["progress"] if "total" in each]
    assert len(told) >= 2, seen["progress"]
    assert [each["progress"] for each in told] == sorted({each["progress"] for each in told})
    assert all(each["total"] == 100 and each["message"] for each in told)
    assert seen["refused"]["isError"] is True
    assert "structuredContent" not in seen["refused"]
    assert json.loads(seen["refused"]["content"][0]["text"])["error"]["code"] == "invalid_input"
    assert seen["unknown"]["code"] == -32602
    assert "result" not in seen["cancelled"], "the cancelled call was answered"
    assert seen["afterwards"]["isError"] is False
    assert "codecompass://workspaces" in seen["resources"]
    # The last progress may arrive together with the answer, and then belongs to a request that has ended (mcp.md, section 4).
    # Over HTTP+SSE an answer may arrive on the stream before the 202 of its POST; closing then aborts that POST.
    # The answer to a call may cross its cancellation on the way, and is for nobody then.
    expected = ("unknown token", "unknown message ID", *(("operation was aborted",) if transport == "sse" else ()))
    assert all(any(each in problem for each in expected) for problem in seen["problems"]), seen["problems"]


@pytest.mark.parametrize(
    ("transport", "era"), [("stdio", "legacy"), ("http", "legacy"), ("http", "modern"), ("sse", "legacy"), ("bridge", "legacy")]
)
async def test_the_inspector_lists_calls_and_finds_no_fault_with_the_schemas(node, shop, tmp_path, transport, era):
    program = PACKAGES / "node_modules" / "@modelcontextprotocol" / "inspector" / "clients" / "launcher" / "build" / "index.js"
    own = {**environment(tmp_path), "CODECOMPASS_HOME": str(shop.home)}

    async def inspect(*arguments):
        with trio.fail_after(RUN_SECONDS):
            return await trio.run_process(
                [node, program, "--cli", *target, *arguments],
                env=own,
                cwd=shop.root,
                capture_stdout=True,
                capture_stderr=True,
                check=False,
            )

    async with served(transport, shop.home) as url:
        bridge = ("--connect", url) if transport == "bridge" else ()
        if transport in ("stdio", "bridge"):
            environ = [f"{name}={own[name]}" for name in ("CODECOMPASS_HOME", "HOME", "PYTHONPATH") if name in own]
            target = [*command("serve-mcp", *bridge), *(part for each in environ for part in ("-e", each)), "--protocol-era", era]
        else:
            target = [f"{url}/mcp", "--transport", transport, "--protocol-era", era]
        listed = await inspect("--method", "tools/list", "--strict")
        call = ["--method", "tools/call", "--tool-name"]
        located = await inspect(*call, "locate_symbol", "--tool-arg", "name=Order", f"workspace={shop.root}")
        failed = await inspect(*call, "locate_symbol", "--tool-arg", "name=Order", "kind=gadget")

    assert listed.returncode == 0, listed.stderr.decode()
    assert len(json.loads(listed.stdout)["tools"]) == 12
    assert located.returncode == 0, located.stderr.decode()
    result = json.loads(located.stdout)
    assert json.loads(result["content"][0]["text"])["results"][0]["path"] == "src/shop/orders.py"
    assert failed.returncode == TOOL_FAILED, (failed.stdout, failed.stderr)


def test_the_lock_pins_what_the_tests_were_written_for():
    lock = json.loads((Path(__file__).parent / "package-lock.json").read_text())
    package = json.loads((Path(__file__).parent / "package.json").read_text())

    assert lock["packages"][""]["dependencies"] == package["dependencies"]
    assert "resolved" not in json.dumps(lock), "a lock names no registry"
