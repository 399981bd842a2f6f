"""Watches of single files: what is written through any name is reported under every name that is watched. Real inotify."""

import os
import random
import sys
from pathlib import Path

import pytest

from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

MANY = 1000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("a.py", "lib/b.py", "lib/c.py", "lib/deep/d.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


@pytest.fixture
def watches(root):
    from codecompass.actors.watching.file_watches import FileWatches

    found = FileWatches(str(root), MANY)
    yield found
    found.close()


def files_of(root):
    """Returns the directories of a tree, and the files in each."""
    result = scan(str(root), ScanRules())
    files = dict.fromkeys(result.directories, ())
    for file in result.files:
        files[file.path.rpartition("/")[0]] += (file,)
    return frozenset(result.directories), files


def watch(watches, root, only=None):
    """Watches what a scan of the tree finds, or of the directories `only`. Returns the files that have changed meanwhile."""
    directories, files = files_of(root)
    given = files if only is None else {directory: files[directory] for directory in only if directory in files}
    gone, new = watches.begin(directories, given, has_all=only is None)
    watches.remove(gone)
    changed = watches.add(new)
    watches.read()
    return changed


def reported(watches, path, through):
    """Returns what is reported after a write to `path` through a name outside of the tree that is gone afterwards."""
    os.link(path, through)
    watches.read()
    with through.open("ab") as file:
        file.write(b"more")
    found = sorted(set(watches.read()))
    through.unlink()
    watches.read()
    return found


def test_files_of_directories_that_are_not_given_again_stay_watched(watches, root, tmp_path):
    watch(watches, root)
    (root / "lib/new.py").write_text("new")
    watch(watches, root, ["lib"])

    for name in ("a.py", "lib/b.py", "lib/new.py", "lib/deep/d.py"):
        assert reported(watches, root / name, tmp_path / "outside") == [name]


def test_what_is_watched_already_is_not_given_again(watches, root):
    watch(watches, root)
    with (root / "lib/b.py").open("ab") as file:
        file.write(b"in place")
    watches.read()
    _, files = files_of(root)

    assert watches.holds({"lib": files["lib"], "": files[""]})
    (root / "lib/other").write_text("x")
    (root / "lib/other").rename(root / "lib/b.py")
    assert not watches.holds({"lib": files_of(root)[1]["lib"]})


def test_a_file_with_the_number_of_a_deleted_one_is_watched_again(watches, root, tmp_path):
    """File systems give the number of an inode to the next file: the kernel has removed the watch all the same."""
    watch(watches, root)
    (root / "lib/b.py").unlink()
    (root / "lib/b.py").write_text("another")
    watches.read()
    watch(watches, root, ["lib"])

    assert reported(watches, root / "lib/b.py", tmp_path / "outside") == ["lib/b.py"]


def test_every_watched_name_of_a_file_is_reported_until_it_is_gone(watches, root, tmp_path):
    os.link(root / "lib/b.py", root / "lib/same.py")
    os.link(root / "lib/b.py", root / "also.py")
    watch(watches, root)
    assert reported(watches, root / "lib/b.py", tmp_path / "outside") == ["also.py", "lib/b.py", "lib/same.py"]

    (root / "lib/b.py").unlink()
    watch(watches, root, ["lib"])
    assert reported(watches, root / "also.py", tmp_path / "outside") == ["also.py", "lib/same.py"]

    (root / "lib/same.py").unlink()
    watch(watches, root, ["lib"])
    assert reported(watches, root / "also.py", tmp_path / "outside") == ["also.py"]


def test_a_file_that_was_written_between_scan_and_watch_is_reported_at_once(watches, root):
    directories, files = files_of(root)
    _, new = watches.begin(directories, files, has_all=True)
    (root / "lib/c.py").write_text("written meanwhile")

    assert watches.add(new) == ["lib/c.py"]


def test_once_everything_is_forgotten_all_files_have_to_be_given(watches, root, tmp_path):
    watch(watches, root)
    watches.forget_all()
    assert not watches.is_waiting

    watch(watches, root, ["lib"])
    assert watches.is_waiting
    assert reported(watches, root / "lib/b.py", tmp_path / "outside") == []

    watch(watches, root)
    assert not watches.is_waiting
    assert reported(watches, root / "lib/b.py", tmp_path / "outside") == ["lib/b.py"]


def test_with_too_many_files_none_is_watched(root, tmp_path):
    from codecompass.actors.watching.file_watches import FileWatches

    watches = FileWatches(str(root), 4)
    try:
        watch(watches, root)
        assert not watches.is_limited
        (root / "lib/fifth.py").write_text("x")
        watch(watches, root, ["lib"])
        assert (watches.is_limited, watches.is_waiting) == (True, False)
        assert reported(watches, root / "a.py", tmp_path / "outside") == []

        (root / "lib/fifth.py").unlink()
        watch(watches, root)
        assert not watches.is_limited
        assert reported(watches, root / "a.py", tmp_path / "outside") == ["a.py"]
    finally:
        watches.close()


@pytest.mark.parametrize("seed", range(5))
def test_after_any_changes_each_file_is_reported_by_all_its_names(seed, watches, root, tmp_path):
    source = random.Random(seed)
    watch(watches, root)
    for step in range(60):
        names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
        place = source.choice(["", "lib/", "lib/deep/", "else/"]) + f"n{step}.py"
        (root / place).parent.mkdir(exist_ok=True, parents=True)
        touched = {place}
        match source.choice(["new", "link", "unlink", "rename", "replace"]):
            case "new":
                (root / place).write_text("new")
            case "link":
                os.link(root / source.choice(names), root / place)
            case "unlink" if len(names) > 2:
                gone = source.choice(names)
                (root / gone).unlink()
                touched.add(gone)
            case "rename":
                old = source.choice(names)
                (root / old).rename(root / place)
                touched.add(old)
            case _:
                over = source.choice(names)
                (root / place).write_text("over")
                (root / place).rename(root / over)
                touched.add(over)
        watches.read()
        watch(watches, root, sorted({name.rpartition("/")[0] for name in touched}))

    names = sorted(str(path.relative_to(root)) for path in root.rglob("*") if path.is_file())
    for name in names:
        inode = (root / name).stat().st_ino
        same = [other for other in names if (root / other).stat().st_ino == inode]
        assert reported(watches, root / name, tmp_path / "outside") == same
