"""Who may write, read and delete: the locks of a project, within one process and between several."""

import os
import subprocess
import sys
import threading

import pytest

from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout, ProjectLayout
from codecompass.store.lock import (
    LockHeld,
    ProcessMark,
    holds_reading,
    is_alive,
    is_locked,
    is_read,
    lock_for_reading,
    removal_lock,
    this_process,
    writer_lock,
)
from tests.support.processes import ROOT


@pytest.fixture
def layout(tmp_path) -> ProjectLayout:
    layout = HomeLayout(tmp_path).project("a")
    layout.root.mkdir(parents=True)
    return layout


def test_one_writes_at_a_time_and_says_who(layout):
    with writer_lock(layout, "job 7"):
        assert is_locked(layout)
        with pytest.raises(LockHeld, match="job 7"), writer_lock(layout, "job 8"):
            pass
    assert not is_locked(layout)


def test_a_writer_does_not_lock_what_was_removed_under_its_hands(layout, monkeypatch):
    """Locking a file that was opened before a removal would allow two writers at once."""
    flock = sys.modules["fcntl"].flock
    removed = []

    def slow_flock(descriptor, operation):
        if not removed:
            removed.append(layout.root.rename(layout.root.with_name("elsewhere")))
        flock(descriptor, operation)

    monkeypatch.setattr("fcntl.flock", slow_flock)
    with writer_lock(layout, "job 1"):
        assert layout.lock.read_text() == "job 1"
        with pytest.raises(LockHeld), writer_lock(layout, "job 2"):
            pass


@pytest.mark.invariant(of="test_an_eviction_spares_what_another_server_has_open")
def test_many_read_and_nobody_deletes_meanwhile(layout):
    first, second = lock_for_reading(layout), lock_for_reading(layout)

    for descriptor in (first, second):
        assert is_read(layout)
        with pytest.raises(LockHeld), removal_lock(layout):
            pass
        os.close(descriptor)

    assert not is_read(layout)
    with removal_lock(layout):
        pass


def test_whoever_reads_waits_for_a_removal_and_finds_nothing_then(layout):
    removal = removal_lock(layout)
    removal.__enter__()

    def remove():
        layout.root.rename(layout.root.with_name("removed"))
        removal.__exit__(None, None, None)

    timer = threading.Timer(0.05, remove)
    timer.start()
    assert lock_for_reading(layout) is None
    timer.join()


def test_a_lock_on_what_was_removed_counts_no_more(layout):
    descriptor = lock_for_reading(layout)
    layout.root.rename(layout.root.with_name("removed"))
    layout.root.mkdir()

    assert not holds_reading(layout, descriptor)

    os.close(descriptor)


def test_what_is_not_there_or_read_only_can_be_read_without_a_lock(layout):
    assert lock_for_reading(ProjectLayout(layout.root / "none")) is None


def test_the_lock_of_a_reader_goes_with_its_process(layout):
    code = (
        "import sys; from pathlib import Path\n"
        "from codecompass.store.layout import ProjectLayout\n"
        "from codecompass.store.lock import lock_for_reading\n"
        "held = lock_for_reading(ProjectLayout(Path(sys.argv[1])))\n"
        "print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(layout.root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    ) as process:
        assert process.stdout.readline() == b"held\n"
        assert is_read(layout)

        process.kill()
        process.wait()

    assert not is_read(layout)


async def test_an_index_holds_its_lock_from_the_first_snapshot_until_it_is_closed(workspace):
    workspace.write({"a.py": "def f(): pass\n"})
    await workspace.sync()
    index = WorkspaceIndex(workspace.layout, "p")
    assert not is_read(workspace.layout)

    with index.snapshot():
        pass
    assert is_read(workspace.layout)

    index.close()
    assert not is_read(workspace.layout)


async def test_an_index_that_was_removed_and_made_again_is_held_again(workspace):
    workspace.write({"a.py": "def f(): pass\n"})
    await workspace.sync()
    index = WorkspaceIndex(workspace.layout, "p")
    with index.snapshot():
        pass
    workspace.layout.root.rename(workspace.layout.root.with_name("removed"))
    await workspace.sync()

    with index.snapshot():
        pass

    assert is_read(workspace.layout)
    index.close()


def test_the_calling_process_is_alive():
    assert this_process().pid == os.getpid()
    assert this_process().started
    assert is_alive(this_process())


def test_a_process_that_ended_is_not():
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()

    assert not is_alive(ProcessMark(process.pid, ""))


def test_another_process_with_the_same_number_is_not_the_one():
    assert not is_alive(ProcessMark(os.getpid(), "another time"))


def test_a_number_that_no_process_can_have_is_not_alive():
    assert not is_alive(ProcessMark(10**18, ""))
