"""The watcher for macOS, tested wherever watchfiles runs: it reports changes, and is never exact."""

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import trio
import trio.testing

from codecompass.actors.watching.changes import WatchedChanges
from codecompass.actors.watching.fsevents import HintWatcher, open_hint_watcher
from codecompass.actors.watching.watcher import open_tree_watcher

DEADLINE_SECONDS = 30


async def hear(watcher: HintWatcher, is_heard: Callable[[WatchedChanges], bool], act: Callable[[], object]) -> None:
    """Repeats an action until its change is reported, because the start of listening is not announced."""
    with trio.fail_after(DEADLINE_SECONDS):
        while True:
            act()
            with trio.move_on_after(1):
                await watcher.wait_change()
            if is_heard(watcher.drain()):
                return


async def test_it_begins_with_everything_and_is_never_exact(tmp_path):
    async with open_hint_watcher(str(tmp_path)) as watcher:
        assert watcher.drain().is_everything
        assert watcher.drain().is_empty
        assert not watcher.is_exact
        assert watcher.limitation
        await watcher.update(["", "src"])
        assert not watcher.is_exact


async def test_a_change_is_heard_with_its_directory(tmp_path):
    (tmp_path / "src").mkdir()
    async with open_hint_watcher(str(tmp_path)) as watcher:
        watcher.drain()

        await hear(watcher, lambda changes: "src" in changes.directories, lambda: (tmp_path / "src/a.py").write_text("x"))


async def test_rules_and_head_are_heard(tmp_path):
    (tmp_path / ".git").mkdir()
    (tmp_path / ".codecompass").mkdir()
    async with open_hint_watcher(str(tmp_path)) as watcher:
        watcher.drain()
        for name in [".gitignore", ".codecompass/config.toml", ".git/index"]:
            await hear(
                watcher,
                lambda changes: changes.affects_rules and not changes.is_everything,
                lambda name=name: (tmp_path / name).write_text("x"),
            )
        await hear(watcher, lambda changes: changes.affects_head, lambda: (tmp_path / ".git/HEAD").write_text("x"))


async def test_what_never_counts_is_passed_over(tmp_path):
    watcher = HintWatcher(str(tmp_path))
    watcher.drain()

    watcher.deliver([str(tmp_path / path) for path in [".git/objects/ab/cd", "node_modules/a/b.js", "sub/.git/index.lock"]])

    assert watcher.drain().is_empty


async def test_a_root_that_is_gone_is_everything(tmp_path):
    watcher = HintWatcher(str(tmp_path))
    watcher.drain()

    watcher.deliver([str(tmp_path)])

    assert watcher.drain().is_everything


async def test_a_root_that_cannot_be_watched_is_told(tmp_path):
    async with open_hint_watcher(str(tmp_path / "nowhere")) as watcher:
        with trio.fail_after(DEADLINE_SECONDS):
            while not watcher.limitation.startswith("watching has ended"):
                await trio.lowlevel.checkpoint()

        watcher.drain()
        assert watcher.drain().reason.startswith("watching has ended")


async def test_an_exception_inside_is_passed_on_and_the_thread_ends(tmp_path):
    n_descriptors = len(os.listdir("/dev/fd"))

    async def fail(path: Path) -> None:
        async with open_hint_watcher(str(path)):
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail(tmp_path)

    assert [thread.name for thread in threading.enumerate() if thread.name == "watch-hints"] == []
    with trio.fail_after(DEADLINE_SECONDS):
        # The library's thread closes its descriptors shortly after it is told to stop.
        while len(os.listdir("/dev/fd")) > n_descriptors:
            await trio.lowlevel.checkpoint()


async def test_where_there_is_no_inotify_hints_are_what_there_is(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")

    async with open_tree_watcher(tmp_path, [""]) as watcher:
        assert isinstance(watcher, HintWatcher)
        await hear(watcher, lambda changes: "" in changes.directories, lambda: (tmp_path / "a.py").write_text("x"))
        assert not watcher.is_exact
