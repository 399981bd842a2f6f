"""Watchers in tests: opened over a whole tree, or in scripts that may mount and have their own limits."""

import ctypes
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codecompass.actors.watching.watcher import TreeWatcher, open_tree_watcher
from codecompass.scan import builtin
from tests.support.processes import ROOT


def directories_below(root: Path) -> list[str]:
    found = []
    for path, names, _ in os.walk(root):
        names[:] = [name for name in names if name != ".git" and name not in builtin.ALWAYS]
        found.append("" if path == str(root) else os.path.relpath(path, root))
    return found


@asynccontextmanager
async def watching(root: Path, **options: int) -> AsyncIterator[TreeWatcher]:
    """Yields a watcher of all directories, after its first "everything" has been drained."""
    async with open_tree_watcher(root, directories_below(root), **options) as watcher:
        assert watcher.drain().is_everything
        assert watcher.drain().is_empty
        yield watcher


async def settle(watcher: TreeWatcher, root: Path) -> None:
    """Updates the watcher as a caller does after an index job, until nothing new is reported."""
    await watcher.update(directories_below(root))
    watcher.drain()
    assert watcher.drain().is_empty


IN_NAMESPACE = """
import sys, subprocess, trio
from pathlib import Path
from tests.support.watching import directories_below, watching
from codecompass.actors.watching.watcher import open_tree_watcher
root = Path(sys.argv[1])
def sh(command):
    subprocess.run(command, shell=True, check=True, cwd=root)
async def main():
    {body}
trio.run(main)
"""


def run_in_namespace(body: str, root: Path) -> None:
    """Runs a script in namespaces of its own, in which it may mount and set limits."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("no namespaces here")
    code = IN_NAMESPACE.format(body=body.strip().replace("\n", "\n    "))
    command = ["unshare", "-rm", sys.executable, "-c", code, str(root)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def exchange(one: Path, other: Path) -> None:
    """Swaps two paths: renameat2 with RENAME_EXCHANGE."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) != 0:
        pytest.skip(f"no exchange here: {os.strerror(ctypes.get_errno())}")
