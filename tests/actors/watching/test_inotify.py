"""After any changes to a tree, a drain reports every directory that differs, whatever their order and timing."""

import os
import random
import shutil
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio

from codecompass.actors.watching.changes import WatchedChanges
from codecompass.scan import builtin
from tests.support.watching import directories_below, exchange, watching

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

SEEDS = 25
NAMES = ["a", "b", "c", "d.py", "e.py", "node_modules", "é"]

Look = dict[str, dict[str, tuple[object, ...]]]


def look(root: Path) -> Look:
    """Returns for each directory that counts its names, and the mode, size, times and content of its files."""
    return {directory: look_at(root / directory) for directory in directories_below(root)}


def look_at(directory: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for entry in os.scandir(directory):
        status = entry.stat(follow_symlinks=False)
        if entry.is_file(follow_symlinks=False):
            content = Path(entry.path).read_bytes()
            found[entry.name] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino, content)
        else:
            found[entry.name] = (status.st_mode, status.st_ino)
    return found


def differing(before: Look, after: Look) -> set[str]:
    return {directory for directory in before.keys() | after.keys() if before.get(directory) != after.get(directory)}


class Vandal:
    """Makes random changes to a tree, and moves things to and from a directory beside it."""

    def __init__(self, root: Path, beside: Path, rng: random.Random) -> None:
        self.root = root
        self.beside = beside
        self.rng = rng
        self.actions: list[Callable[[], object]] = [
            *[self.write] * 4,
            *[self.make_directory] * 3,
            *[self.move] * 4,
            self.append,
            self.truncate,
            self.touch,
            self.change_mode,
            self.delete,
            self.replace,
            self.link,
            self.swap,
            self.copy_tree,
            self.leave_and_return,
            self.bring_in,
        ]

    def act(self) -> str:
        action = self.rng.choice(self.actions)
        action()
        return getattr(action, "__name__", "")

    def directory(self) -> Path:
        return self.root / self.rng.choice(directories_below(self.root))

    def new_path(self) -> Path:
        return self.directory() / self.rng.choice(NAMES)

    def some(self) -> Path | None:
        entries = sorted(self.directory().iterdir())
        return self.rng.choice(entries) if entries else None

    def file(self) -> Path | None:
        path = self.some()
        return path if path is not None and path.is_file() and not path.is_symlink() else None

    def content(self) -> str:
        return "x" * self.rng.randrange(20)

    def write(self) -> None:
        path = self.new_path()
        if not path.is_dir() and not path.is_symlink():
            path.write_text(self.content())

    def append(self) -> None:
        if path := self.file():
            with path.open("a") as file:
                file.write("more")

    def truncate(self) -> None:
        if path := self.file():
            os.truncate(path, self.rng.randrange(5))

    def touch(self) -> None:
        if path := self.file():
            os.utime(path, (self.rng.randrange(10**9), self.rng.randrange(10**9)))

    def change_mode(self) -> None:
        if path := self.file():
            path.chmod(self.rng.choice([0o600, 0o644, 0o700]))

    def make_directory(self) -> None:
        path = self.new_path() / self.rng.choice(["", *NAMES])
        if not any(parent.is_file() or parent.is_symlink() for parent in [path, path.parent]):
            path.mkdir(parents=True, exist_ok=True)

    def delete(self) -> None:
        if path := self.some():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def move(self) -> None:
        source, target = self.some(), self.new_path()
        if source is not None and not os.path.lexists(target) and not target.is_relative_to(source):
            source.rename(target)

    def replace(self) -> None:
        if path := self.file():
            new = self.beside / "new"
            new.write_text(self.content())
            new.replace(path)

    def link(self) -> None:
        target = self.new_path()
        if not os.path.lexists(target):
            target.symlink_to(self.rng.choice(["a", "..", "nowhere", str(self.beside)]))

    def swap(self) -> None:
        one, other = self.some(), self.some()
        if one is not None and other is not None and not one.is_relative_to(other) and not other.is_relative_to(one):
            exchange(one, other)

    def copy_tree(self) -> None:
        source, target = self.directory(), self.new_path()
        if source != self.root and not os.path.lexists(target) and not target.is_relative_to(source):
            shutil.copytree(source, target, symlinks=True)

    def leave_and_return(self) -> None:
        source, target = self.directory(), self.new_path()
        away = self.beside / "away"
        if source == self.root or away.exists() or target.is_relative_to(source) or os.path.lexists(target):
            return
        source.rename(away)
        if not (away / "meanwhile.py").is_dir():
            (away / "meanwhile.py").write_text(self.content())
        if self.rng.random() < 0.7:
            away.rename(target)
        else:
            shutil.rmtree(away)

    def bring_in(self) -> None:
        target = self.new_path()
        if not os.path.lexists(target):
            made = self.beside / "made"
            (made / "deep" / "er").mkdir(parents=True)
            (made / "deep" / "a.py").write_text(self.content())
            made.rename(target)


@pytest.fixture
def places(tmp_path: Path) -> tuple[Path, Path]:
    return tmp_path / "root", tmp_path / "beside"


def start_over(root: Path, beside: Path) -> None:
    for place in [root, beside]:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
    for directory in ["a/b/c", "b", "c/a"]:
        (root / directory).mkdir(parents=True)


def entered(directories: set[str]) -> set[str]:
    return {directory for directory in directories if builtin.ALWAYS.isdisjoint(directory.split("/"))}


async def test_every_directory_that_changed_is_reported(places, soak_scale):
    root, beside = places
    for seed in range(SEEDS * soak_scale):
        rng = random.Random(seed)
        vandal = Vandal(root, beside, rng)
        start_over(root, beside)
        before = look(root)
        async with watching(root) as watcher:
            for _ in range(12):
                actions = [vandal.act() for _ in range(rng.randrange(1, 9))]

                changes = watcher.drain()

                after = look(root)
                missing = entered(differing(before, after)) - changes.directories
                assert not missing, f"seed {seed}: {actions} changed {missing} unseen"
                assert not changes.is_everything, f"seed {seed}: {changes.reason}"
                assert watcher.drain().is_empty, f"seed {seed}: looking is no change"
                if rng.random() < 0.2:
                    await watcher.update(after)
                    assert watcher.drain().is_empty, f"seed {seed}: what is new was watched already"
                before = after
        assert watcher.is_exact


@pytest.mark.slow
async def test_nothing_is_lost_while_somebody_else_goes_on(places, soak_scale):
    """Directories appear and vanish between events, watches and listings."""
    root, beside = places
    for seed in range(6 * soak_scale):
        vandal = Vandal(root, beside, random.Random(seed))
        failures: list[BaseException] = []

        def rage(vandal: Vandal = vandal, failures: list[BaseException] = failures) -> None:
            try:
                for _ in range(150):
                    vandal.act()
            except BaseException as error:  # noqa: BLE001  passed to the test's thread
                failures.append(error)

        start_over(root, beside)
        before = look(root)
        async with watching(root) as watcher:
            gathered: list[WatchedChanges] = []
            thread = threading.Thread(target=rage)
            thread.start()
            while thread.is_alive():
                gathered.append(watcher.drain())
                await trio.lowlevel.checkpoint()
            thread.join()
            gathered.append(watcher.drain())

            assert not failures, failures
            assert not any(changes.is_everything for changes in gathered)
            reported = set().union(*(changes.directories for changes in gathered))
            after = look(root)
            missing = entered(differing(before, after)) - reported
            assert not missing, f"seed {seed}: {missing} changed unseen"
            for directory in sorted(after):
                (root / directory / "last.py").write_text("x")
                assert directory in watcher.drain().directories, f"seed {seed}: {directory} is not watched"


async def test_a_directory_that_cannot_be_watched_is_not_reported_each_time(tmp_path):
    """Otherwise each report would start a job, and each job end in an update of the watches, endlessly."""
    async with watching(tmp_path) as watcher:
        await watcher.update(["", "missing"])
        watcher.drain()

        await watcher.update(["", "missing"])
        again = watcher.drain()

    assert "missing" not in again.directories
    assert not again.is_everything
