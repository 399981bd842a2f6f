"""The watcher reports every change, or that it cannot know. Real files, real inotify, no timed waits."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import structlog
import trio
import trio.testing
from msgspec.structs import replace

from codecompass.actors.watching.changes import WatchedChanges
from codecompass.actors.watching.watcher import open_tree_watcher
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from tests.support.processes import run_python
from tests.support.watching import directories_below, exchange, run_in_namespace, settle, watching

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")

DEADLINE_SECONDS = 20
QUEUE_LIMIT = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text()) if sys.platform == "linux" else 0


def is_reported(changes: WatchedChanges, *directories: str) -> bool:
    return not changes.is_everything and changes.directories >= set(directories)


def n_descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def append(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"more")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for directory in ["src/pkg", "docs", "empty"]:
        (root / directory).mkdir(parents=True)
    for file in ["a.py", "src/b.py", "src/pkg/c.py", "docs/d.md"]:
        (root / file).write_text(file)
    return root


async def test_it_begins_with_everything_and_is_exact_on_a_local_file_system(root):
    async with open_tree_watcher(root, directories_below(root)) as watcher:
        assert (watcher.is_exact, watcher.limitation) == (True, "")

        assert watcher.drain() == WatchedChanges(
            is_everything=True, affects_rules=True, affects_head=True, reason="watching has just begun"
        )
        assert watcher.drain().is_empty


async def test_without_directories_it_is_not_exact_before_the_first_update(root):
    async with open_tree_watcher(root) as watcher:
        assert watcher.drain().is_everything
        assert not watcher.is_exact

        await watcher.update(directories_below(root))

        assert watcher.drain().is_everything
        assert watcher.is_exact
        assert watcher.drain().is_empty


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda root: (root / "src/new.py").write_text("x"), {"src"}),
        (lambda root: (root / "src/b.py").write_text("other"), {"src"}),
        (lambda root: append(root / "a.py"), {""}),
        (lambda root: os.truncate(root / "src/pkg/c.py", 1), {"src/pkg"}),
        (lambda root: (root / "docs/d.md").unlink(), {"docs"}),
        (lambda root: (root / "a.py").rename(root / "docs/a.py"), {"", "docs"}),
        (lambda root: os.utime(root / "src/b.py", (1, 1)), {"src"}),
        (lambda root: (root / "src/b.py").chmod(0o600), {"src"}),
        (lambda root: (root / "docs/link").symlink_to("d.md"), {"docs"}),
        (lambda root: os.link(root / "a.py", root / "docs/second.py"), {"docs"}),
        (lambda root: (root / "empty").rmdir(), {"", "empty"}),
        (lambda root: (root / "empty").chmod(0o700), {"", "empty"}),
        (lambda root: (root / "docs/deeper/still").mkdir(parents=True), {"docs", "docs/deeper", "docs/deeper/still"}),
        (lambda root: (root / "src").rename(root / "docs/src"), {"", "docs", "src", "src/pkg", "docs/src", "docs/src/pkg"}),
    ],
)
async def test_each_kind_of_change_is_drained_at_once_and_only_once(root, change, expected):
    async with watching(root) as watcher:
        change(root)

        changes = watcher.drain()
        assert replace(changes, files=frozenset()) == WatchedChanges(directories=frozenset(expected))
        assert {path.rpartition("/")[0] for path in changes.files} <= expected
        assert watcher.drain().is_empty
        assert watcher.is_exact


async def test_files_are_named_whatever_happens_to_them(root):
    """Whoever reads the named files need not compare their times, which may be unchanged."""
    async with watching(root) as watcher:
        (root / "src/a.py").write_text("x")
        (root / "src/b.py").unlink()
        (root / "docs/new.md").write_text("x")
        (root / "docs/new.md").rename(root / "src/pkg/moved.md")

        assert watcher.drain().files == {"src/a.py", "src/b.py", "docs/new.md", "src/pkg/moved.md"}
        assert watcher.drain().files == frozenset()


WRITER = "import sys\nfor line in sys.stdin:\n    open(sys.argv[1], 'w').write(line)\n    print(flush=True)\n"


@pytest.mark.invariant("After `drain`, the exact watcher knows every change that was completed before")
async def test_an_edit_that_another_process_has_finished_is_always_seen(root):
    """The barrier: no pause between the other process's report and the drain."""
    command = [sys.executable, "-c", WRITER, str(root / "src/b.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as writer:  # noqa: ASYNC220
        assert writer.stdin is not None
        assert writer.stdout is not None
        async with watching(root) as watcher:
            for number in range(300):
                writer.stdin.write(b"%d\n" % number)
                assert writer.stdout.readline() == b"\n"

                assert watcher.drain().directories == {"src"}
        writer.stdin.close()


async def test_a_scan_and_reading_every_file_change_nothing(repository):
    repository.write({"src/a.py": "a", ".gitignore": "*.o\n", "b.py": "b"})
    repository.commit()
    result = scan(str(repository.root), ScanRules())
    async with open_tree_watcher(repository.root, result.directories, result.repositories) as watcher:
        watcher.drain()

        again = scan(str(repository.root), ScanRules())
        for file in again.files:
            (repository.root / file.path).read_bytes()

        assert watcher.drain().is_empty


async def test_wait_change_returns_when_something_happens_and_not_before(root):
    async with watching(root) as watcher:
        seen = []

        async def wait() -> None:
            await watcher.wait_change()
            seen.append(watcher.drain())

        with trio.fail_after(DEADLINE_SECONDS):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(wait)
                await trio.testing.wait_all_tasks_blocked()
                assert seen == []
                (root / "src/b.py").write_text("x")

        assert [changes.directories for changes in seen] == [{"src"}]


async def test_wait_change_returns_at_once_for_what_has_gathered(root):
    async with watching(root) as watcher:
        (root / "src/b.py").write_text("x")
        with trio.fail_after(DEADLINE_SECONDS):
            await watcher.wait_change()
            await watcher.wait_change()

        assert watcher.drain().directories == {"src"}


async def test_waiting_can_be_cancelled_and_begun_again(root):
    async with watching(root) as watcher:
        with trio.move_on_after(0):
            await watcher.wait_change()
        (root / "a.py").write_text("x")

        with trio.fail_after(DEADLINE_SECONDS):
            await watcher.wait_change()
        assert watcher.drain().directories == {""}


async def test_removing_watches_does_not_look_like_a_change(root):
    async with watching(root) as watcher:
        await watcher.update(["", "src"])

        assert watcher.drain().is_empty
        with trio.move_on_after(0.05) as scope:
            await watcher.wait_change()
        assert scope.cancelled_caught


async def test_only_the_directories_asked_for_are_watched(root):
    (root / "node_modules/left").mkdir(parents=True)
    (root / "build").mkdir()
    async with open_tree_watcher(root, ["", "src"]) as watcher:
        watcher.drain()

        for ignored in ["node_modules/left/index.js", "build/out.o", "src/pkg/c.py"]:
            (root / ignored).write_text("x")

        assert watcher.drain().is_empty


async def test_a_new_directory_of_installed_packages_is_not_entered(root):
    async with watching(root) as watcher:
        (root / "node_modules/left/lib").mkdir(parents=True)
        (root / "node_modules/left/lib/a.js").write_text("x")

        assert watcher.drain().directories == {""}


async def test_a_directory_of_packages_that_the_scan_enters_is_watched_when_it_is_made_again(root):
    """An ignore file can include what is excluded by default."""
    (root / "node_modules/ours").mkdir(parents=True)
    async with open_tree_watcher(root, ["", "node_modules", "node_modules/ours"]) as watcher:
        shutil.rmtree(root / "node_modules")
        (root / "node_modules/ours").mkdir(parents=True)
        watcher.drain()

        (root / "node_modules/ours/index.js").write_text("x")

        assert watcher.drain().directories == {"node_modules/ours"}


CLOSED = """
import sys, trio
from pathlib import Path
from tests.support.watching import watching
root = Path(sys.argv[1])
async def main():
    async with watching(root) as watcher:
        (root / "empty").rmdir()
        (root / "empty").mkdir(mode=0)
        assert watcher.drain().directories == {"", "empty"}
        (root / "empty").chmod(0o755)
        assert watcher.drain().directories == {"", "empty"}
        (root / "empty/a.py").write_text("x")
        assert watcher.drain().directories == {"empty"}
        assert watcher.is_exact
trio.run(main)
"""


def test_a_directory_that_is_opened_to_us_only_later_is_watched_then(root):
    done = run_python(CLOSED, str(root))

    assert done.returncode == 0, done.stderr


async def test_what_lies_in_a_new_directory_is_watched_however_it_came(root, tmp_path):
    (tmp_path / "outside/deep/er").mkdir(parents=True)
    async with watching(root) as watcher:
        shutil.copytree(root / "src", root / "copied")
        (tmp_path / "outside").rename(root / "moved")
        assert is_reported(watcher.drain(), "", "copied", "copied/pkg", "moved", "moved/deep", "moved/deep/er")

        (root / "copied/pkg/c.py").write_text("x")
        (root / "moved/deep/er/new.py").write_text("x")

        assert watcher.drain().directories == {"copied/pkg", "moved/deep/er"}


async def test_a_directory_moved_out_is_no_longer_watched(root, tmp_path):
    async with watching(root) as watcher:
        (root / "src").rename(tmp_path / "away")
        assert watcher.drain().directories == {"", "src", "src/pkg"}

        (tmp_path / "away/pkg/c.py").write_text("x")

        assert watcher.drain().is_empty


async def test_a_directory_that_is_replaced_between_two_drains_is_watched_anew(root):
    async with watching(root) as watcher:
        shutil.rmtree(root / "src")
        (root / "src/pkg").mkdir(parents=True)
        watcher.drain()

        (root / "src/pkg/c.py").write_text("x")

        assert watcher.drain().directories == {"src/pkg"}


async def test_directories_that_change_places_are_both_watched(root):
    """The last event of an exchange reports one of the names as moved away, although it exists."""
    async with watching(root) as watcher:
        exchange(root / "src", root / "docs")
        assert is_reported(watcher.drain(), "", "src", "docs", "docs/pkg")

        (root / "src/d.md").write_text("x")
        (root / "docs/pkg/c.py").write_text("x")

        assert watcher.drain().directories == {"src", "docs/pkg"}


async def test_a_directory_that_came_by_an_exchange_and_was_deleted_leaves_nothing_behind(root):
    """Found by test_every_directory_that_changed_is_reported: the former contents of the directory were not reported."""
    async with watching(root) as watcher:
        exchange(root / "docs", root / "src")
        shutil.rmtree(root / "src")

        assert is_reported(watcher.drain(), "", "src", "src/pkg", "docs", "docs/pkg")

        (root / "docs/pkg/c.py").write_text("x")
        assert watcher.drain().directories == {"docs/pkg"}


async def test_a_directory_deleted_while_it_is_open_is_reported_at_once(root):
    """The kernel ends the watch only when the directory's last descriptor is closed."""
    held = os.open(root / "empty", os.O_RDONLY)
    async with watching(root) as watcher:
        (root / "empty").rmdir()

        assert watcher.drain().directories == {"", "empty"}

        os.close(held)
        assert watcher.drain().is_empty


async def test_a_directory_left_while_it_is_open_and_made_again_is_watched(root):
    held = os.open(root / "empty", os.O_RDONLY)
    async with watching(root) as watcher:
        (root / "empty").rmdir()
        (root / "empty").mkdir()
        watcher.drain()
        os.close(held)  # the kernel ends the first one's watch only now
        watcher.drain()

        (root / "empty/a.py").write_text("x")

        assert watcher.drain().directories == {"empty"}


async def test_a_name_that_is_not_utf8_is_reported_by_its_directory(root):
    async with watching(root) as watcher:
        os.mkdir(os.fsencode(root) + b"/docs/\xff")

        assert watcher.drain().directories == {"docs"}


async def test_a_file_written_under_its_second_name_after_the_first_is_gone_is_seen(root):
    async with watching(root) as watcher:
        with (root / "a.py").open("r+b", buffering=0) as file:
            os.link(root / "a.py", root / "b.py")
            (root / "a.py").unlink()
            watcher.drain()

            file.write(b"through the open file")

            assert watcher.drain().directories == {""}


async def test_a_write_through_a_mapping_is_seen_when_the_mapping_ends(root):
    """Before that, inotify reports nothing: the limit described in docs/adr/0005."""
    import mmap

    async with watching(root) as watcher:
        with (root / "a.py").open("r+b") as file:
            mapping = mmap.mmap(file.fileno(), 4)
        mapping[:4] = b"XXXX"
        mapping.close()

        assert watcher.drain().directories == {""}


async def test_directories_that_update_adds_are_reported_because_they_were_not_watched_before(root):
    async with open_tree_watcher(root, [""]) as watcher:
        watcher.drain()

        await watcher.update(directories_below(root))

        assert watcher.drain() == WatchedChanges(directories=frozenset({"src", "src/pkg", "docs", "empty"}))
        (root / "src/pkg/c.py").write_text("x")
        assert watcher.drain().directories == {"src/pkg"}
        assert watcher.is_exact


async def test_update_keeps_what_was_not_drained_yet(root):
    async with watching(root) as watcher:
        (root / "src/new").mkdir()
        await watcher.update(["", "src", "docs"])

        assert is_reported(watcher.drain(), "src", "src/new")


async def test_a_directory_that_is_gone_before_it_is_watched_does_no_harm(root):
    async with open_tree_watcher(root, ["", "src", "was", "was/there"]) as watcher:
        watcher.drain()
        (root / "src/b.py").write_text("x")

        assert watcher.drain().directories == {"src"}
        assert watcher.is_exact


# The root.


@pytest.mark.parametrize("how", ["deleted", "moved", "replaced", "moved with what is above it", "hidden by a link"])
async def test_a_root_that_is_not_there_any_more_is_everything_until_update(tmp_path, how):
    root = tmp_path / "above" / "root"
    (root / "src").mkdir(parents=True)
    async with watching(root) as watcher:
        match how:
            case "deleted":
                shutil.rmtree(root)
            case "moved":
                root.rename(tmp_path / "elsewhere")
            case "replaced":
                root.rename(tmp_path / "elsewhere")
                (root / "src").mkdir(parents=True)
            case "moved with what is above it":
                root.parent.rename(tmp_path / "elsewhere")
            case _:
                root.rename(tmp_path / "elsewhere")
                root.symlink_to(tmp_path / "elsewhere")

        for _ in range(2):
            changes = watcher.drain()
            assert (changes.is_everything, changes.reason) == (True, "the root was moved, deleted or replaced")
            assert not watcher.is_exact

        if root.is_symlink():
            root.unlink()
        (root / "src").mkdir(parents=True, exist_ok=True)
        await settle(watcher, root)
        (root / "src/a.py").write_text("x")
        assert watcher.drain().directories == {"src"}
        assert watcher.is_exact


async def test_update_without_a_root_says_so_and_recovers_when_it_is_back(root, tmp_path):
    async with watching(root) as watcher:
        root.rename(tmp_path / "away")
        await watcher.update([""])
        assert watcher.drain().is_everything
        assert not watcher.is_exact

        (tmp_path / "away").rename(root)
        await settle(watcher, root)

        (root / "src/b.py").write_text("x")
        assert watcher.drain().directories == {"src"}


async def test_a_root_that_does_not_exist_can_be_opened(tmp_path):
    async with open_tree_watcher(tmp_path / "nowhere", [""]) as watcher:
        assert watcher.drain().is_everything
        assert not watcher.is_exact


async def test_a_root_behind_a_symbolic_link_is_watched(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    async with watching(tmp_path / "link") as watcher:
        (root / "src/b.py").write_text("x")

        assert watcher.drain().directories == {"src"}


# Limits.


async def test_lost_events_are_everything_and_update_makes_it_exact_again(root):
    if QUEUE_LIMIT > 70_000:
        pytest.skip("the queue is too long to be filled here")
    async with watching(root) as watcher:
        for number in range(QUEUE_LIMIT + 10):
            os.utime(root / ("a.py" if number % 2 else "src/b.py"))
        (root / "src").rename(root / "lost")

        changes = watcher.drain()
        assert changes.is_everything
        assert "events were lost" in changes.reason
        assert not watcher.is_exact
        assert watcher.drain().is_everything

        await settle(watcher, root)
        assert watcher.is_exact
        (root / "lost/pkg/c.py").write_text("x")
        assert watcher.drain().directories == {"lost/pkg"}


@pytest.mark.slow
async def test_setting_more_watches_anew_than_the_queue_holds_loses_nothing(tmp_path):
    """The end of each old watch is an event too."""
    if QUEUE_LIMIT > 17_000:
        pytest.skip("the queue is too long to be filled here")
    root = tmp_path / "root"
    for number in range(QUEUE_LIMIT + 100):
        (root / str(number % 200) / str(number)).mkdir(parents=True)
    async with watching(root) as watcher:
        root.rename(tmp_path / "away")
        (tmp_path / "away").rename(root)
        assert watcher.drain().is_everything

        await settle(watcher, root)

        assert watcher.is_exact


async def test_many_changed_directories_become_everything_but_stay_watched(tmp_path):
    for number in range(1100):
        (tmp_path / str(number)).mkdir()
    async with watching(tmp_path) as watcher:
        for number in range(1100):
            (tmp_path / str(number) / "a.py").touch()

        changes = watcher.drain()

        assert (changes.is_everything, changes.directories) == (True, frozenset())
        assert changes.reason == "more than 1024 directories have changed"
        assert watcher.is_exact
        (tmp_path / "7" / "a.py").write_text("x")
        assert watcher.drain().directories == {"7"}


async def test_a_flood_of_new_directories_is_left_to_the_scan(tmp_path):
    async with watching(tmp_path) as watcher:
        for number in range(600):
            (tmp_path / str(number)).mkdir()

        assert watcher.drain().reason == "many directories were created"

        assert not watcher.is_exact
        await settle(watcher, tmp_path)
        assert watcher.is_exact
        (tmp_path / "599" / "a.py").touch()
        assert watcher.drain().directories == {"599"}


async def test_many_moved_directories_are_left_to_the_scan(tmp_path):
    for number in range(100):
        (tmp_path / str(number)).mkdir()
    async with watching(tmp_path) as watcher:
        for number in range(100):
            (tmp_path / str(number)).rename(tmp_path / f"m{number}")

        assert watcher.drain().reason == "more than 64 directories were moved"

        await settle(watcher, tmp_path)
        (tmp_path / "m99" / "a.py").touch()
        assert watcher.drain().directories == {"m99"}


async def test_more_directories_than_are_allowed_make_it_inexact_and_the_log_says_so_once(root):
    with structlog.testing.capture_logs() as logs:
        async with watching(root, max_watches=3) as watcher:
            await watcher.update(directories_below(root))
            watcher.drain()

            assert not watcher.is_exact
            assert watcher.limitation.startswith("the workspace has more than 3 directories")
            (root / "a.py").write_text("x")
            assert watcher.drain().directories == {""}
            await watcher.update(["", "src"])
            assert watcher.is_exact

    assert [entry["event"] for entry in logs] == ["watching_limited"]
    assert "more than 3 directories" in logs[0]["reason"]


async def test_a_limitation_that_the_first_update_finds_is_logged_once(root):
    """A server opens its watchers before it knows the directories."""
    with structlog.testing.capture_logs() as logs:
        async with open_tree_watcher(root, max_watches=3) as watcher:
            assert logs == []
            await watcher.update(directories_below(root))
            await watcher.update(directories_below(root))

    assert [entry["event"] for entry in logs] == ["watching_limited"]


def test_when_the_system_has_no_more_watches_the_remedy_is_named_and_it_heals(root):
    run_in_namespace(
        """
limit = Path("/proc/sys/user/max_inotify_watches")
limit.write_text("3")
async with watching(root) as watcher:
    assert not watcher.is_exact
    assert "raise fs.inotify.max_user_watches" in watcher.limitation
    (root / "a.py").write_text("x")
    assert watcher.drain().directories == {""}
    limit.write_text("1000")
    await watcher.update(directories_below(root))
    assert watcher.is_exact and not watcher.limitation
    assert watcher.drain().directories
    (root / "src/pkg/c.py").write_text("x")
    assert watcher.drain().directories == {"src/pkg"}
""",
        root,
    )


def test_when_the_system_has_no_more_instances_everything_may_have_changed(root):
    run_in_namespace(
        """
Path("/proc/sys/user/max_inotify_instances").write_text("0")
async with open_tree_watcher(root, [""]) as watcher:
    assert not watcher.is_exact
    assert "fs.inotify.max_user_instances" in watcher.limitation
    assert watcher.drain().is_everything and watcher.drain().is_everything
    await watcher.update([""])
    with trio.move_on_after(0.01) as scope:
        await watcher.wait_change()
    assert scope.cancelled_caught
""",
        root,
    )


# Ends.


async def test_an_exception_inside_is_passed_on_and_nothing_stays_open(root):
    before = n_descriptors()

    async def fail() -> None:
        async with watching(root):
            assert n_descriptors() > before
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()

    assert n_descriptors() == before


async def test_cancelling_while_waiting_leaves_nothing_open(root):
    before = n_descriptors()
    with trio.CancelScope() as scope:
        async with watching(root) as watcher, trio.open_nursery() as nursery:
            nursery.start_soon(watcher.wait_change)
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()

    assert scope.cancelled_caught
    assert n_descriptors() == before


async def test_an_update_that_is_cancelled_is_everything_until_the_next(root):
    async with watching(root) as watcher:
        with trio.CancelScope() as scope:
            scope.cancel()
            await watcher.update(["", "src"])

        assert watcher.drain().is_everything
        assert not watcher.is_exact
        await settle(watcher, root)
        (root / "docs/d.md").write_text("x")
        assert watcher.drain().directories == {"docs"}


async def test_a_root_that_is_a_file_is_not_exact(root):
    async with open_tree_watcher(root / "a.py", [""]) as watcher:
        assert watcher.drain().is_everything
        assert not watcher.is_exact
