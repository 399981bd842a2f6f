"""The files that determine which files count and where HEAD is: ignore files, settings, and git's own files, in any place."""

import os
import shutil
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from codecompass.actors.watching.changes import WatchedChanges
from codecompass.actors.watching.watcher import TreeWatcher, open_tree_watcher
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")


@asynccontextmanager
async def watching_repository(workspace: TestWorkspace, root: Path | None = None) -> AsyncIterator[TreeWatcher]:
    where = root or workspace.root
    result = scan(str(where), ScanRules())
    async with open_tree_watcher(where, result.directories, result.repositories) as watcher:
        watcher.drain()
        assert watcher.drain().is_empty
        yield watcher


def effects(changes: WatchedChanges) -> tuple[bool, bool]:
    assert not changes.is_everything, changes.reason
    return (changes.affects_rules, changes.affects_head)


@pytest.mark.parametrize("name", [".gitignore", ".codecompassignore", "src/.gitignore", "src/.codecompassignore"])
async def test_an_ignore_file_affects_the_rules_when_it_comes_changes_and_goes(workspace, name):
    workspace.write({"src/a.py": "a"})
    async with watching_repository(workspace) as watcher:
        for change in [lambda path: path.write_text("x"), lambda path: path.write_text("y"), Path.unlink]:
            change(workspace.root / name)
            changes = watcher.drain()
            assert changes.directories == {os.path.dirname(name)}
            assert effects(changes) == (True, False)


async def test_the_projects_settings_affect_the_rules(workspace):
    workspace.write({"a.py": "a"})
    async with watching_repository(workspace) as watcher:
        workspace.write({".codecompass/config.toml": "[index]\n"})
        assert effects(watcher.drain()) == (True, False)
        workspace.write({".codecompass/config.toml": "[query]\n"})
        assert effects(watcher.drain()) == (True, False)
        shutil.rmtree(workspace.root / ".codecompass")
        assert effects(watcher.drain()) == (True, False)
        workspace.write({".codecompass/config.toml": "[index]\n"})
        watcher.drain()
        await settle_repository(watcher, workspace)
        workspace.write({".codecompass/config.toml": "[query]\n"})
        assert effects(watcher.drain()) == (True, False)


async def settle_repository(watcher: TreeWatcher, workspace: TestWorkspace) -> None:
    for _ in range(3):
        result = scan(str(workspace.root), ScanRules())
        await watcher.update(result.directories, result.repositories)
        if watcher.drain().is_empty:
            return
    raise AssertionError("the watcher does not come to rest")


async def test_tracking_a_file_and_the_exclude_file_affect_the_rules(repository):
    repository.write({"a.py": "a", "b.py": "b"})
    repository.git("add", "a.py")
    async with watching_repository(repository) as watcher:
        repository.git("add", "b.py")
        assert effects(watcher.drain()) == (True, False)

        (repository.root / ".git/info/exclude").write_text("*.o\n")
        assert effects(watcher.drain()) == (True, False)


async def test_the_rest_of_the_git_directory_is_not_looked_at(repository):
    repository.write({"a.py": "a"})
    repository.commit()
    async with watching_repository(repository) as watcher:
        repository.git("hash-object", "-w", "a.py", "--no-filters")
        repository.git("branch", "other")
        repository.git("config", "user.name", "somebody")
        (repository.root / ".git/FETCH_HEAD").write_text("x")

        assert watcher.drain().is_empty


async def test_head_moves_with_commits_branches_and_bare_references(repository):
    repository.write({"a.py": "a"})
    repository.commit()
    repository.commit("second")
    async with watching_repository(repository) as watcher:
        for command in [
            ["commit", "-q", "--allow-empty", "-m", "third"],
            ["update-ref", "refs/heads/main", "HEAD~1"],
            ["switch", "-q", "-c", "feature/deep/x"],
            ["commit", "-q", "--allow-empty", "-m", "on a branch"],
            ["pack-refs", "--all"],
            ["update-ref", "refs/heads/feature/deep/x", "HEAD~1"],
            ["switch", "-q", "--detach", "main"],
            ["checkout", "-q", "HEAD~1"],
        ]:
            repository.git(*command)
            assert watcher.drain().affects_head, command
            assert watcher.is_exact


async def test_a_repository_that_begins_in_the_root_is_taken_up(workspace):
    workspace.write({"a.py": "a"})
    async with watching_repository(workspace) as watcher:
        (workspace.root / ".git").mkdir()
        assert effects(watcher.drain()) == (True, True)  # incomplete: git writes HEAD later
        workspace.git("init", "-q", "-b", "main")
        assert effects(watcher.drain()) == (True, True)

        workspace.git("add", "a.py")
        assert effects(watcher.drain())[0]
        await settle_repository(watcher, workspace)
        workspace.commit()
        assert effects(watcher.drain())[1]


async def test_a_repository_that_begins_inside_is_taken_up(workspace):
    workspace.write({"inner/a.py": "a"})
    async with watching_repository(workspace) as watcher:
        workspace.git("init", "-q", "inner")
        assert effects(watcher.drain())[0]
        await settle_repository(watcher, workspace)

        workspace.git("-C", "inner", "add", "a.py")

        assert effects(watcher.drain()) == (True, False)


async def test_a_repository_that_is_half_made_when_the_tree_is_scanned_is_not_forgotten(workspace):
    workspace.write({"inner/a.py": "a"})
    async with watching_repository(workspace) as watcher:
        (workspace.root / "inner/.git").mkdir()
        await settle_repository(watcher, workspace)

        (workspace.root / "inner/.git/HEAD").write_text("ref: refs/heads/main\n")

        assert effects(watcher.drain())[0]


async def test_a_repository_that_update_names_first_affects_the_rules(workspace):
    """Its tracked files may have changed while it was not watched."""
    workspace.git("init", "-q", "inner")
    async with open_tree_watcher(workspace.root, ["", "inner"]) as watcher:
        watcher.drain()
        await watcher.update(["", "inner"], ["inner"])
        assert effects(watcher.drain()) == (True, True)

        workspace.write({"inner/a.py": "a"})
        workspace.git("-C", "inner", "add", "a.py")

        assert effects(watcher.drain()) == (True, False)


async def test_a_linked_work_tree_is_watched_where_git_keeps_its_state(repository, tmp_path):
    repository.write({"a.py": "a"})
    repository.commit()
    tree = tmp_path / "linked"
    repository.git("worktree", "add", "-q", "-b", "side", str(tree))
    async with watching_repository(repository, tree) as watcher:
        (tree / "b.py").write_text("b")
        assert effects(watcher.drain()) == (False, False)
        repository.git("-C", str(tree), "add", "b.py")
        assert effects(watcher.drain()) == (True, False)
        repository.git("-C", str(tree), "commit", "-q", "-m", "b")
        assert watcher.drain().affects_head
        (repository.root / ".git/info/exclude").write_text("*.o\n")
        assert effects(watcher.drain()) == (True, False)


async def test_a_submodules_index_affects_the_rules(repository, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home2", git=True)
    other.write({"lib.py": "x"})
    other.commit()
    repository.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.root), "sub")
    repository.commit()
    async with watching_repository(repository) as watcher:
        (repository.root / "sub/new.py").write_text("x")
        assert watcher.drain() == WatchedChanges(directories=frozenset({"sub"}), files=frozenset({"sub/new.py"}))

        repository.git("-C", "sub", "add", "new.py")

        assert effects(watcher.drain()) == (True, False)


async def test_ignore_files_above_the_root_affect_the_rules(repository):
    repository.write({"services/one/a.py": "a", "README.md": "x"})
    repository.commit()
    async with watching_repository(repository, repository.root / "services/one") as watcher:
        for directory in ["", "services/"]:
            repository.write({directory + ".gitignore": "*.o\n"})
            assert effects(watcher.drain()) == (True, False)
        repository.write({"services/two/b.py": "b", "README.md": "y"})
        assert watcher.drain().is_empty
        repository.commit()
        assert effects(watcher.drain()) == (True, True)
