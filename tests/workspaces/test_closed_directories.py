"""Read permissions that are revoked and restored: what they hide is neither lost nor missed later."""

import sys

import pytest
import trio

from tests.support.processes import ROOT

pytestmark = pytest.mark.interaction

OBEDIENT = """
import os, sys
from tests.support.processes import obey_permissions
obey_permissions()
os.execv(sys.executable, [sys.executable, "-m", "codecompass", *sys.argv[1:]])
"""
"""A server started by root, but subject to file permissions."""


@pytest.mark.invariant("A directory that becomes readable is watched at once")
@pytest.mark.parametrize("is_repository", [True, False])
@pytest.mark.parametrize("is_indexed", [True, False])
async def test_a_directory_that_was_closed_when_a_server_began_is_watched_once_it_is_open(machine, is_indexed, is_repository):
    root = machine.project(
        "shop", {"src/main.py": "def main():\n    return 1\n", "lib/deep/part.py": "def part():\n    return 1\n"}
    )
    if is_repository:
        for arguments in (("init", "-q"), ("add", "-A"), ("-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "first")):
            await trio.run_process(["git", *arguments], cwd=root)
    if is_indexed:
        machine.index(root)
    else:
        machine.register(root)
    closed, part = root / "lib", root / "lib" / "deep" / "part.py"
    closed.chmod(0)
    try:
        async with machine.serve("--workspace", root, program=(sys.executable, "-c", OBEDIENT), PYTHONPATH=str(ROOT)) as desk:
            await desk.ready("main")
            (root / "src" / "more.py").write_text("def more():\n    return 1\n")
            assert (await desk.find("more")).names == {"more"}
            closed.chmod(0o755)
            assert (await desk.until(lambda answer: answer.names == {"part"}, "locate_symbol", name="part")).names == {"part"}
            for step in range(3):
                part.write_text(f"def part_{step}():\n    return 1\n")
                found = await desk.find(f"part_{step}")
                assert found.names == {f"part_{step}"}, found.text
                assert found.metadata["freshness_status"] == "fresh"
    finally:
        closed.chmod(0o755)
