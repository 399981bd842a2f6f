"""The command's system calls, traced by strace: no network at all, and nothing of the index before the first answer."""

import os
import re
import subprocess

import pytest

from tests.conftest import tool
from tests.support.sample import SAMPLE
from tests.support.served import COMMAND, serving, write_tree
from tests.support.tools import QUESTIONS, TOOLS
from tests.transport.harness import modern

pytestmark = pytest.mark.blackbox

ADDRESS_FAMILY = re.compile(r"\b(AF_\w+|PF_\w+)\b")


def traced(trace, calls: str) -> tuple[str, ...]:
    """Returns the command under strace, with all its children. Skips if tracing is not permitted, as in some sandboxes."""
    strace = tool("strace")
    if subprocess.run([strace, "-qq", "-o", os.devnull, "true"], capture_output=True, check=False).returncode:
        pytest.skip("tracing is not permitted here")
    return (strace, "-f", "-qq", "-s", "200", "-e", f"trace={calls}", "-o", str(trace), COMMAND)


async def test_no_socket_of_any_network_is_made_by_the_server_or_its_children(tmp_path):
    trace = tmp_path / "trace"
    root = write_tree(tmp_path / "shop", SAMPLE)
    async with serving(tmp_path, "--workspace", root, command=traced(trace, "%network,execve")) as line:
        await line.initialize(roots={})
        assert (await line.tool("index_repo", {"wait_seconds": 50}))["structuredContent"]["status"] == "published"
        for name in (*QUESTIONS, "health_check"):
            arguments = TOOLS[name].arguments(symbol="validate_token", path="src/auth.rs")
            assert not (await line.tool(name, arguments)).get("isError")
        write_tree(root, {"src/new.py": "def new(): pass\n"})
        assert (await line.tool("sync_repo", {"wait_seconds": 50}))["structuredContent"]["status"] == "published"

    told = trace.read_text()
    assert line.process.returncode == 0
    assert "codecompass.worker" in told, "workers are seen, too"
    assert "socketpair(AF_UNIX" in told, "what there is of sockets is seen"
    assert set(ADDRESS_FAMILY.findall(told)) <= {"AF_UNIX"}


@pytest.mark.parametrize("is_modern", [False, True], ids=["initialize", "server/discover"])
async def test_the_first_answer_comes_before_anything_is_opened(tmp_path, is_modern):
    trace = tmp_path / "trace"
    root = write_tree(tmp_path / "shop", SAMPLE)
    async with serving(tmp_path, "--workspace", root, command=traced(trace, "openat,mkdir,execve,write")) as line:
        await (line.result("server/discover", modern()) if is_modern else line.initialize())
        await line.tool("health_check")

    calls = trace.read_text().splitlines()
    answered = next(index for index, call in enumerate(calls) if "write(" in call and "jsonrpc" in call)
    opened = [index for index, call in enumerate(calls) if f'"{tmp_path / "data"}' in call or "tantivy" in call]
    assert opened, "the store is opened in the end"
    assert min(opened) > answered
    assert not [call for call in calls[:answered] if "codecompass.worker" in call]
    assert not [call for call in calls[:answered] if f'openat(AT_FDCWD, "{root}' in call and ".codecompass" not in call]


@pytest.mark.invariant(
    "Nothing is loaded before it is needed: nothing of the index for the list of tools, nothing that draws for an "
    "ordinary search, neither index nor event loop for help and wrong usage"
)
@pytest.mark.parametrize("is_modern", [False, True], ids=["initialize", "server/discover"])
async def test_the_list_of_tools_is_answered_before_anything_of_the_index_is_loaded(tmp_path, is_modern):
    """Some hosts do not wait for a late list, and work without our tools."""
    trace = tmp_path / "trace"
    root = write_tree(tmp_path / "shop", SAMPLE)
    arguments = ("--workspace", root, "--tools", "core", "--answers", "text")
    async with serving(tmp_path, *arguments, command=traced(trace, "openat,write")) as line:
        if not is_modern:
            line.ask_to_initialize()
            line.send(method="notifications/initialized")
        # Sent immediately: if the client waited, the server would open the index in the meantime.
        listed = await line.result("tools/list", modern() if is_modern else {})
        await line.tool("health_check")

    calls = trace.read_text().splitlines()
    answers = [index for index, call in enumerate(calls) if "write(" in call and "jsonrpc" in call]
    answered = answers[0 if is_modern else 1]
    loaded = [index for index, call in enumerate(calls) if re.search("tantivy|_sqlite3|tree_sitter|_re2", call)]
    assert len(listed["tools"]) == 7
    assert loaded, "they are loaded in the end"
    assert min(loaded) > answered
