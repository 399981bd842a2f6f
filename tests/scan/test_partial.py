"""Scans of some directories only: results, checked against whole scans, and when they are refused."""

import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from codecompass.scan import partial
from codecompass.scan.partial import PartialScan, scan_directories
from codecompass.scan.rules import ScanMemory, ScanRules
from codecompass.scan.walk import ScannedFile, ScanResult, SkippedFile, scan, scan_and_remember
from tests.support import deep_trees

from .trees import git, repository, without_privileges, write

RULES = ScanRules()


class Before:
    """An earlier state of a tree: the result and the memory of a scan, and what an index made from it would know."""

    def __init__(self, root: Path, *, is_settled: bool = True) -> None:
        self.root = root
        self.found, memory = scan_and_remember(str(root), RULES)
        # The stamps of files written just now are not reliable.
        while is_settled and memory is not None and not _can_be_relied_on(memory):
            self.found, memory = scan_and_remember(str(root), RULES)
        assert memory is not None
        self.memory = memory

    def subdirectories(self, directory: str) -> set[str]:
        start = len(directory) + 1 if directory else 0
        inside = [path[start:] for path in self._paths() if path.startswith(directory + "/" if directory else "")]
        return {path.partition("/")[0] for path in inside if "/" in path}

    def look(self, *directories: str, rules: ScanRules = RULES) -> PartialScan | None:
        outcome = scan_directories(str(self.root), rules, self.memory, directories, self)
        return None if outcome is None else outcome[0]

    def updated(self, seen: PartialScan) -> tuple[set[ScannedFile], set[SkippedFile]]:
        """Returns what was found, and updates the state with it."""

        def update(old: Iterable, new: Iterable) -> set:
            return {item for item in old if not self._is_answered(item.path, seen)} | set(new)

        return update(self.found.files, seen.files), update(self.found.skipped, seen.skipped)

    def _is_answered(self, path: str, seen: PartialScan) -> bool:
        is_gone = any((path + "/").startswith(directory + "/") for directory in seen.gone)
        return is_gone or path in seen.listed or path.rpartition("/")[0] in seen.listed

    def _paths(self) -> list[str]:
        return [file.path for file in self.found.files] + [file.path for file in self.found.skipped]


def _can_be_relied_on(memory: ScanMemory) -> bool:
    return all(stamp is None or stamp.mtime_ns for stamps in (memory.stamps, memory.index_stamps) for stamp in stamps.values())


def check(before: Before, *directories: str) -> PartialScan:
    seen = before.look(*directories)

    assert seen is not None
    now: ScanResult = scan(str(before.root), RULES)
    assert before.updated(seen) == (set(now.files), set(now.skipped))
    return seen


@pytest.fixture
def root(tmp_path: Path) -> Path:
    repository(
        tmp_path / "root",
        tracked={
            ".gitignore": "*.log\n/out/\n",
            "a.py": "a",
            "src/b.py": "b",
            "src/deep/c.py": "c",
            "src/deep/deeper/d.py": "d",
            "lib/e.py": "e",
        },
    )
    return write(tmp_path / "root", ["untracked/f.py", "src/x.log"])


def remove(path: Path) -> None:
    for child in sorted(path.rglob("*"), reverse=True):
        child.rmdir() if child.is_dir() else child.unlink()
    path.rmdir()


def test_only_direct_entries_of_a_changed_directory_are_scanned(root: Path):
    before = Before(root)
    write(root, {"src/b.py": "edited", "src/new.py": "n"})
    (root / "src/deep/c.py").write_text("not to be seen")

    seen = before.look("src")

    assert seen is not None
    assert [file.path for file in seen.files] == ["src/b.py", "src/new.py"]
    assert (seen.listed, seen.gone) == ({"src"}, ())


def test_nothing_is_scanned_where_nothing_has_changed(root: Path):
    assert Before(root).look() == PartialScan(files=(), skipped=(), listed=frozenset(), gone=(), warnings=())


@pytest.mark.parametrize("named", [("src",), ("src", "src/new/inner"), ("src/new", "src/new/inner", "src")])
def test_everything_below_a_new_directory_is_found_once(root: Path, named: tuple[str, ...]):
    before = Before(root)
    write(root, {"src/new/.gitignore": "*.o\n", "src/new/g.py": "g", "src/new/g.o": "g", "src/new/inner/h.py": "h"})

    check(before, *named)


def test_a_new_directory_may_be_named_without_the_one_above_it(root: Path):
    before = Before(root)
    write(root, ["src/new/inner/h.py"])

    check(before, "src/new")


@pytest.mark.parametrize("named", ["", "src", "src/deep"])
def test_nothing_stays_of_a_directory_that_is_gone(root: Path, named: str):
    before = Before(root)
    remove(root / "src" if named == "" else root / "src/deep")

    check(before, named)


def test_a_directory_and_a_file_can_change_places(root: Path):
    before = Before(root)
    remove(root / "src/deep")
    (root / "a.py").unlink()
    write(root, ["src/deep", "a.py/inner/i.py"])

    check(before, "", "src")


def test_a_directory_replaced_by_a_link_is_not_followed(root: Path):
    before = Before(root)
    remove(root / "src/deep")
    (root / "src/deep").symlink_to(root / "lib")

    seen = check(before, "src", "src/deep")

    assert [(item.path, item.reason) for item in seen.skipped] == [("src/deep", "symlink")]


def test_a_directory_left_out_for_what_it_holds_comes_back(root: Path):
    before = Before(root)
    write(root, ["untracked/CACHEDIR.TAG", "untracked/sub/g.py"])
    check(before, "untracked")

    before = Before(root)
    (root / "untracked/CACHEDIR.TAG").unlink()
    check(before, "untracked")


def test_what_rules_leave_out_stays_out(root: Path):
    write(root, ["out/o.py", "node_modules/m.js"])
    before = Before(root)
    write(root, ["out/p.py", "node_modules/n/n.js", "src/y.log", "src/.env", ".hidden/h.py"])

    seen = check(before, "", "out", "node_modules", "node_modules/n", "src", ".hidden", ".git", ".git/objects")

    assert "out" not in seen.listed


def test_a_directory_that_cannot_be_read_is_not_gone(open_path: Path):
    write(open_path, ["src/a.py", "src/deep/b.py", "c.py"])
    before = Before(open_path)
    (open_path / "src").chmod(0)

    with without_privileges():
        for named in [("src",), ("",), ("", "src")]:
            seen = before.look(*named)

            assert seen is not None
            assert seen.gone == ()
        assert seen.skipped == (SkippedFile("src", "unreadable"),)


def test_a_change_below_an_unreadable_directory_needs_a_whole_scan(open_path: Path):
    write(open_path, ["src/deep/b.py"])
    before = Before(open_path)
    (open_path / "src").chmod(0)

    with without_privileges():
        assert before.look("src/deep") is None


def test_git_may_write_its_index_anew(root: Path):
    before = Before(root)
    write(root, {"src/b.py": "edited"})
    git(root, "commit", "--quiet", "--all", "--message", "second")
    assert any(path.endswith("/index") for path in before.memory.index_stamps)

    check(before, "src")


def test_what_a_submodule_tracks_is_remembered(root: Path, tmp_path: Path):
    library = repository(tmp_path / "library", tracked={".gitignore": "*.tmp\n", ".flags": "", "kept.tmp": ""})
    git(root, "submodule", "--quiet", "add", str(library), "sub")
    before = Before(root)
    write(root, {"sub/.flags": "edited", "sub/kept.tmp": "edited", "sub/other.tmp": "ignored"})

    check(before, "sub")


CHANGES: dict[str, Callable[[Path], object]] = {
    "an ignore file": lambda root: write(root, {".gitignore": "*.log\n/out/\n/src/deep/deeper/\n"}),
    "an ignore file of the same size": lambda root: write(root, {".gitignore": "*.lo_\n/out/\n"}),
    "no ignore file any more": lambda root: (root / ".gitignore").unlink(),
    "an ignore file where there was none": lambda root: write(root, {"src/.codecompassignore": "deeper\n"}),
    "the repository's own excludes": lambda root: write(root, {".git/info/exclude": "/untracked/\n"}),
    "another branch": lambda root: git(root, "checkout", "--quiet", "-b", "other"),
    "another file tracked": lambda root: git(root, "add", "--force", "src/x.log"),
    "a file not tracked": lambda root: git(root, "rm", "--quiet", "--cached", "lib/e.py"),
    "a repository inside": lambda root: git(root / "untracked", "init", "--quiet"),
    "no repository any more": lambda root: (root / ".git").rename(root / "src" / "old_git"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_rules_needs_a_whole_scan(root: Path, change: str):
    before = Before(root)

    CHANGES[change](root)

    assert before.look("", "src", "untracked") is None


def test_a_changed_rule_is_noticed_wherever_it_is_written(root: Path):
    """None of the named directories has an ignore file."""
    before = Before(root)

    write(root, {".gitignore": "nothing\n"})

    assert before.look("src/deep") is None


def test_changed_settings_need_a_whole_scan(root: Path):
    assert Before(root).look("src", rules=ScanRules(extra_excludes=("deep",))) is None


def test_many_directories_need_a_whole_scan(root: Path):
    before = Before(root)

    assert before.look(*map(str, range(partial.MAX_DIRECTORIES))) is not None
    assert before.look(*map(str, range(partial.MAX_DIRECTORIES + 1))) is None


def test_a_stamp_of_an_ignore_file_written_just_now_is_not_trusted(root: Path):
    """It can be written again with the same stamp."""
    soon = time.time() + 3600  # a moment ago at any speed of this test
    os.utime(root / ".gitignore", (soon, soon))

    before = Before(root, is_settled=False)

    assert before.look("src") is None


def test_nothing_is_remembered_where_git_fails(root: Path):
    (root / ".git/index").write_bytes(b"no index")

    found, memory = scan_and_remember(str(root), RULES)

    assert memory is None
    assert "nothing counts as tracked" in found.warnings[0]


def test_a_memory_can_be_used_again(root: Path):
    before = Before(root)
    for number in range(3):
        write(root, {f"src/n{number}.py": ""})
        outcome = scan_directories(str(root), RULES, before.memory, ["src"], before)
        assert outcome is not None
        before.memory = outcome[1]

    check(before, "src")
    write(root, {".gitignore": "*.py\n"})
    assert before.look("src") is None


def test_warnings_of_the_whole_scan_are_repeated(root: Path):
    write(root, {"lib/.gitignore": b"x" * (1 << 19)})
    before = Before(root)

    seen = before.look("src")

    assert seen is not None
    assert seen.warnings == before.found.warnings != ()


def test_directories_of_any_depth_are_scanned(tmp_path):
    root = tmp_path / "deep"
    root.mkdir()
    try:
        with deep_trees.chain(root, 1900) as bottom:
            deep_trees.write_in(bottom, "a.py", "")
            _whole, memory = scan_and_remember(str(root), ScanRules())
            assert memory is not None
            deep_trees.write_in(bottom, "b.py", "")

            found = scan_directories(str(root), ScanRules(), memory, ["d/" * 1900], NothingNew())

            assert found is not None
            assert [file.path[-4:] for file in found[0].files] == ["a.py", "b.py"]
    finally:
        deep_trees.remove(root)


class NothingNew:
    def subdirectories(self, directory: str) -> set[str]:
        return {"d"}


def test_what_is_known_below_a_directory_that_was_never_scanned_is_found_like_something_new(tmp_path):
    """An index keeps the files of a directory that becomes unreadable; once readable, nothing in it has been scanned yet."""
    write(tmp_path, {"main.py": "", "lib/one.py": "", "lib/deep/part.py": ""})
    before = Before(tmp_path)

    outcome = scan_directories(str(tmp_path), RULES, before.memory, ["lib"], before, scanned={"", "lib"})
    usual = scan_directories(str(tmp_path), RULES, before.memory, ["lib"], before, scanned={"", "lib", "lib/deep"})

    assert outcome is not None
    assert outcome[0].listed == {"lib", "lib/deep"}
    assert [file.path for file in outcome[0].files] == ["lib/deep/part.py", "lib/one.py"]
    assert usual is not None
    assert usual[0].listed == {"lib"}
