"""Mounts, which inotify does not report; each test runs in its own mount namespace."""

import sys
from pathlib import Path

import pytest

from tests.support.watching import run_in_namespace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the mount table is Linux's")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for directory in ["src/pkg", "docs", "empty"]:
        (root / directory).mkdir(parents=True)
    for file in ["a.py", "src/b.py", "src/pkg/c.py", "docs/d.md"]:
        (root / file).write_text(file)
    return root


def test_a_mount_in_the_workspace_is_everything_when_it_comes_and_when_it_goes(root):
    run_in_namespace(
        """
async with watching(root) as watcher:
    for command in ["mount -t tmpfs none src", "umount src", "mount --bind docs empty", "umount empty"]:
        sh(command)
        changes = watcher.drain()
        assert changes.is_everything, command
        assert not watcher.is_exact
        await watcher.update(directories_below(root))
        assert watcher.drain().is_everything
        assert watcher.drain().is_empty and watcher.is_exact
    sh("mkdir ../beside && mount -t tmpfs none ../beside")
    assert watcher.drain().is_empty and watcher.is_exact
""",
        root,
    )


def test_a_directory_that_is_mounted_twice_is_reported_under_both_names(root):
    run_in_namespace(
        """
sh("mount --bind docs empty")
async with watching(root) as watcher:
    (root / "empty/d.md").write_text("x")
    assert watcher.drain().directories == {"docs", "empty"}
    await watcher.update(["", "docs"])
    (root / "empty/d.md").write_text("y")
    assert watcher.drain().directories == {"docs"}
""",
        root,
    )


def test_a_file_that_is_mounted_makes_it_inexact(root):
    run_in_namespace(
        """
sh("mount --bind docs/d.md a.py")
async with watching(root) as watcher:
    assert not watcher.is_exact
    assert watcher.limitation.endswith("a.py is a file that is mounted, whose changes go unreported")
""",
        root,
    )


def test_an_overlay_is_exact_and_reports_what_is_copied_up(root):
    run_in_namespace(
        """
sh("mount -t tmpfs none empty && cd empty && mkdir -p low/d up work merged && echo x > low/d/a.py")
sh("cd empty && mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work merged")
merged = root / "empty/merged"
async with watching(merged) as watcher:
    assert watcher.is_exact, watcher.limitation
    (merged / "d/a.py").write_text("y")
    assert watcher.drain().directories == {"d"}
    (merged / "d/a.py").rename(merged / "a.py")
    assert watcher.drain().directories == {"", "d"}
""",
        root,
    )


def test_a_root_that_is_unmounted_is_everything(root):
    run_in_namespace(
        """
sh("mount -t tmpfs none src && mkdir src/pkg")
async with watching(root / "src") as watcher:
    assert watcher.is_exact
    sh("umount src")
    assert watcher.drain().is_everything
    assert not watcher.is_exact
    await watcher.update(directories_below(root / "src"))
    watcher.drain()
    (root / "src/pkg/c.py").write_text("x")
    assert watcher.drain().directories == {"pkg"}
""",
        root,
    )


def test_a_file_system_that_others_change_unseen_makes_it_inexact(root):
    """proc stands for any type that is not known to be local."""
    run_in_namespace(
        """
async with watching(Path("/proc/sys/kernel")) as watcher:
    assert watcher.limitation == "/proc is of type proc, where changes may go unreported"
    assert not watcher.is_exact
""",
        root,
    )
