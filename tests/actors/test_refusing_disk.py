"""A disk that refuses writes causes a clear error, and the published index stays."""

import pytest

from tests.support.dump import dump
from tests.support.processes import run_python

SYNC = """
import sys, trio
from pathlib import Path
from codecompass.errors import CodeCompassError
from tests.support.workspace import TestWorkspace
workspace = TestWorkspace(Path(sys.argv[1]), Path(sys.argv[2]))
try:
    trio.run(workspace.sync)
except CodeCompassError as error:
    print(error.code, "|", error.message, "|", error.data.get("suggested_action"))
    sys.exit(3)
"""

LIMITED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
"""
"""No file may grow beyond the limit, so writes fail as on a full disk."""

MANY = {f"m{index}.py": f"def function_{index}(): pass\n" * 40 for index in range(400)}


@pytest.mark.invariant("If the disk refuses writes, the published index stays as it was")
@pytest.mark.slow
@pytest.mark.parametrize("limit", [4_096, 40_000, 200_000, 400_000])
async def test_a_full_disk_is_named_and_the_index_stays(workspace, limit):
    workspace.write({"a.py": "def a(): pass\n"})
    await workspace.sync()
    before = dump(workspace.index)
    workspace.write(MANY)

    done = run_python(LIMITED.format(limit=limit) + SYNC, str(workspace.root), str(workspace.home))

    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("permission_denied | cannot write the index store"), done.stdout
    assert "free disk space" in done.stdout
    assert dump(workspace.index) == before
    await workspace.sync()
    assert len(workspace.names()) == 401


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 4_096, 100_000])
async def test_a_full_disk_at_the_first_index_leaves_no_half_index(workspace, limit):
    workspace.write(MANY)

    done = run_python(LIMITED.format(limit=limit) + SYNC, str(workspace.root), str(workspace.home))

    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("permission_denied")
    assert workspace.index.compatibility().status == "not_indexed"
    await workspace.sync()
    assert len(workspace.paths()) == 400


@pytest.mark.invariant(of="test_a_full_disk_is_named_and_the_index_stays")
async def test_a_read_only_store_is_named_and_the_index_stays(workspace):
    workspace.write({"a.py": "def a(): pass\n"})
    await workspace.sync()
    before = dump(workspace.index)
    workspace.write({"b.py": "def b(): pass\n"})
    directories = [path for path in workspace.layout.root.rglob("*") if path.is_dir()]
    for path in [*directories, workspace.layout.root]:
        path.chmod(0o500)
    workspace.layout.lock.chmod(0o400)

    done = run_python(SYNC, str(workspace.root), str(workspace.home))
    for path in directories:
        path.chmod(0o700)
    workspace.layout.root.chmod(0o700)
    workspace.layout.lock.chmod(0o600)

    assert done.returncode == 3, done.stdout + done.stderr
    assert done.stdout.startswith("permission_denied")
    assert "CODECOMPASS_HOME" in done.stdout
    assert dump(workspace.index) == before


async def test_a_home_that_cannot_be_made_is_named(tmp_path, workspace):
    workspace.write({"a.py": ""})
    (tmp_path / "file").write_text("")

    done = run_python(SYNC, str(workspace.root), str(tmp_path / "file" / "home"))

    assert done.returncode == 3
    assert done.stdout.startswith("permission_denied")


@pytest.mark.invariant("The store is private to its user")
async def test_the_store_is_private_to_its_user(workspace):
    workspace.write({"a.py": "def a(): pass\n"})

    await workspace.sync()

    open_to_group_or_others = [
        path
        for path in [workspace.layout.root, *workspace.layout.root.rglob("*")]
        if path.is_dir() and path.stat().st_mode & 0o077
    ]
    assert [path for path in open_to_group_or_others if path == workspace.layout.root] == []
