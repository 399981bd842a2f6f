"""Files with several names: a write through any of them is in the next answer that calls itself fresh, under every name."""

import errno
import os
import sys

import pytest
import trio

from codecompass.actors.watching import file_watches, watcher
from tests.support.asking import locate, open_workspace, until_indexed, until_quiet
from tests.support.serving import open_serving
from tests.support.tangle import Tangle
from tests.support.waiting import until

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="elsewhere each answer compares the tree"),
    pytest.mark.invariant(
        "A write through any name of a file is in the next fresh answer under all of them, whenever and wherever the name"
        " was made or removed"
    ),
]

SECONDS = 60


@pytest.fixture
async def served(workspace, tmp_path):
    """An indexed and watched tree with three files."""
    workspace.write({"a.py": "def first(): pass\n", "lib/b.py": "def second(): pass\n", "lib/deep/c.py": "def third(): pass\n"})
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, workspace)
        await until_indexed(handle)
        await until_quiet(handle)
        yield handle


async def fresh_paths_of(handle, name):
    with trio.fail_after(SECONDS):
        reply = await handle.ask(locate(name))
    assert reply.metadata.freshness_status == "fresh"
    return sorted(result.path for result in reply.results if result.name == name)


def write_through(path, name):
    with path.open("r+b") as file:
        file.write(f"def {name}(): pass\n".encode())


async def test_a_link_made_in_the_tree_and_written_at_once_changes_the_older_name(served, workspace):
    """The directory of the older name has no event: neither of the link nor of the write."""
    os.link(workspace.root / "a.py", workspace.root / "lib/new.py")
    write_through(workspace.root / "lib/new.py", "fresh")

    assert await fresh_paths_of(served, "fresh") == ["a.py", "lib/new.py"]
    assert await fresh_paths_of(served, "first") == []


async def test_a_link_that_an_answer_has_seen_changes_the_older_name_when_it_is_written(served, workspace):
    os.link(workspace.root / "a.py", workspace.root / "lib/new.py")
    assert await fresh_paths_of(served, "first") == ["a.py", "lib/new.py"]
    for name in ("fresh", "again"):
        write_through(workspace.root / "lib/new.py", name)

        assert await fresh_paths_of(served, name) == ["a.py", "lib/new.py"]


async def test_a_link_made_outside_of_the_tree_after_indexing_is_seen_when_it_is_written(served, workspace, tmp_path):
    os.link(workspace.root / "lib/b.py", tmp_path / "outside.py")
    for name in ("fresher", "anew__"):
        write_through(tmp_path / "outside.py", name)

        assert await fresh_paths_of(served, name) == ["lib/b.py"]


async def test_a_link_that_is_gone_again_is_still_seen_when_it_is_written(served, workspace, tmp_path):
    """Whoever opened it can still write."""
    os.link(workspace.root / "a.py", tmp_path / "outside.py")
    with (tmp_path / "outside.py").open("r+b") as file:
        (tmp_path / "outside.py").unlink()
        for name in ("fresh", "again"):
            os.pwrite(file.fileno(), f"def {name}(): pass\n".encode(), 0)

            assert await fresh_paths_of(served, name) == ["a.py"]


async def test_a_file_that_was_linked_in_is_seen_when_it_is_written_by_whoever_made_it(served, workspace, tmp_path):
    """Its only name is in the tree, and its writer has it open under another one."""
    with (tmp_path / "made.py").open("w+b") as file:
        file.write(b"def made_(): pass\n")
        file.flush()
        os.link(tmp_path / "made.py", workspace.root / "lib/made.py")
        (tmp_path / "made.py").unlink()
        assert await fresh_paths_of(served, "made_") == ["lib/made.py"]
        for name in ("fresh", "again"):
            os.pwrite(file.fileno(), f"def {name}(): pass\n".encode(), 0)

            assert await fresh_paths_of(served, name) == ["lib/made.py"]


async def test_links_in_the_tree_are_seen_even_where_files_are_not_watched_by_themselves(workspace, tmp_path, monkeypatch):
    """In a tree with too many files all names of a file that has several are compared."""
    monkeypatch.setattr(watcher, "FILES_SHARE_OF_USER_LIMIT", 0.0)
    workspace.write({"a.py": "def first(): pass\n", "lib/b.py": "def second(): pass\n"})
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, workspace)
        await until_indexed(handle)
        await until_quiet(handle)
        os.link(workspace.root / "a.py", workspace.root / "lib/new.py")
        for name in ("fresh", "again"):
            write_through(workspace.root / "lib/new.py", name)

            assert await fresh_paths_of(handle, name) == ["a.py", "lib/new.py"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
async def test_no_answer_is_wrong_and_fresh_after_random_changes_through_any_name(seed, workspace, tmp_path, soak_scale):
    tangle = Tangle(workspace.root, tmp_path / "beside", seed)
    n_fresh = 0
    try:
        async with open_serving(tmp_path / "home") as serving:
            handle = await open_workspace(serving, workspace)
            await until_indexed(handle)
            await until_quiet(handle)
            for _ in range(150 * soak_scale):
                changed = [word for _ in range(tangle.random.randint(1, 3)) for word in tangle.change()]
                for word in dict.fromkeys([*changed, tangle.random.choice(tangle.words())]):
                    with trio.fail_after(SECONDS):
                        reply = await handle.ask(locate(word))
                    found = sorted(result.path for result in reply.results if result.name == word)
                    is_fresh = reply.metadata.freshness_status == "fresh"
                    n_fresh += is_fresh
                    assert not is_fresh or found == tangle.where(word), (word, found, tangle.where(word), tangle.steps[-12:])
    finally:
        tangle.close()
    assert n_fresh


async def test_where_the_system_has_no_second_instance_directories_are_watched_alone(workspace, tmp_path, monkeypatch):
    """A user has 128 instances of inotify for all programs."""

    def refuse(**_options):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(file_watches, "INotify", refuse)
    workspace.write({"a.py": "def first(): pass\n"})
    async with open_serving(tmp_path / "home") as serving:
        handle = await open_workspace(serving, workspace)
        await until_indexed(handle)
        await until_quiet(handle)
        workspace.write({"a.py": "def second(): pass\n"})

        assert await fresh_paths_of(handle, "second") == ["a.py"]
        await until(lambda: handle.observation.is_watched, "a watched tree")
